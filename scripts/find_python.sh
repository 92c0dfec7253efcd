#!/usr/bin/env bash
# Print the path of a usable Python of one of the given minor versions, the first wanted first.
#
#   scripts/find_python.sh 3.11 3.12
#
# With PYTHON=/path/to/python, that one or none. Exit 1, silently, when there is none.
set -euo pipefail

# Whether $1 starts, is version $2, and can make a virtual environment. A pyenv shim of a version
# that is not selected fails here, as does a Debian Python without its venv package.
usable() {
  "$1" -c "import sys, venv, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" \
    >/dev/null 2>&1
}

for version in "$@"; do
  candidates=("python$version" python3 python
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python)
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if usable "$candidate" "$version"; then
      "$candidate" -c 'import sys; print(sys.executable)'
      exit 0
    fi
  done
done
exit 1
