#!/usr/bin/env bash
# Test the light core and the worker part, installed from a wheel and with nothing else beside them,
# on each interpreter that this machine has.
#
#   scripts/test_parts.sh [VERSION...]
set -euo pipefail
cd "$(dirname "$0")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

# existing DIR...: those that exist
existing() { for folder in "$@"; do [ -d "$folder" ] && echo "$folder"; done; true; }

# test_parts DIR...: run them with $python
test_parts() { $python -m pytest -q -p no:cacheprovider -n 2 --dist worksteal "$@"; }

rm -rf .make/wheel
.venv/bin/python -m pip wheel -qq --no-deps -w .make/wheel .

tested=0
[ $# -gt 0 ] || set -- 3.10 3.11 3.12
for version in "$@"; do
  if ! base=$(PYTHON= scripts/find_python.sh $version); then
    echo "== Python $version: not on this machine"
    continue
  fi
  venv=.make/parts-$version
  python=$venv/bin/python
  "$base" -m venv --clear "$venv"

  $python -m pip install -qq --require-hashes -r requirements/core.txt -r requirements/test.txt
  $python -m pip install -qq --no-deps .make/wheel/*.whl
  echo "== Python $version, light core, numpy $($python -c 'import numpy; print(numpy.__version__)')"
  mapfile -t parts < <(existing tests/contract tests/scenes tests/records tests/evidence)
  test_parts "${parts[@]}"

  mapfile -t parts < <(existing tests/worker)
  if [ ${#parts[@]} -gt 0 ]; then
    $python -m pip install -qq --require-hashes -r requirements/worker.txt
    echo "== Python $version, worker part"
    test_parts "${parts[@]}"
  fi
  tested=$((tested + 1))
done
[ $tested -gt 0 ]
