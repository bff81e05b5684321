#!/bin/sh
# All tests, or those that the arguments (of pytest) choose: `make test ARGS=...` and ./test ARGS.
set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
export PYTHONUNBUFFERED=1
pytest=.venv/bin/pytest
[ $# = 0 ] || exec "$pytest" "$@"
# Spark tests share one session in one process; the others fill the cores.
"$pytest" tests -m "not spark" -n 2 -q
exec "$pytest" tests -m spark -q
