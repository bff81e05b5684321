#!/bin/sh
# All tests, or those that the arguments (of pytest) choose: `make test ARGS=...` and ./test ARGS.
set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
pytest() { .venv/bin/python -m pytest "$@"; }

if [ $# != 0 ]; then
    pytest "$@"
    exit
fi
# Spark tests share one session in one process; the others fill the cores.
pytest tests -m "not spark" -n 2 -q
pytest tests -m spark -q
