#!/usr/bin/env bash
# Make .venv with the locked requirements, this package in place, and a way to render.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
good='import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))'
if ! $python -c "$good" >/dev/null 2>&1; then
  if ! base=$(scripts/find_python.sh 3.11 3.12); then
    echo "robogate needs Python 3.11 or 3.12 with its venv module, and none was found." >&2
    echo "Install one (Debian, Ubuntu: apt-get install python3.11-venv), or say where it is:" >&2
    echo "  make setup PYTHON=/path/to/python3.11" >&2
    exit 2
  fi
  echo "making .venv with $base"
  "$base" -m venv --clear .venv
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1
echo "installing the locked requirements (a few minutes the first time)"
$python -m pip install -qq --require-hashes -r requirements/full.txt
$python -m pip install -qq --require-hashes --no-deps -r requirements/peers.txt
$python -m pip install -qq --no-deps -e .

scripts/setup_gl.sh
