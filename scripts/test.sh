#!/bin/sh
# All tests, or those that the arguments (of pytest) choose: `make test ARGS=...` and ./test ARGS.
set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
pytest() { .venv/bin/python -m pytest "$@"; }

if [ $# != 0 ]; then
    pytest "$@"
    exit
fi
# The pure rooms, with every line and branch of them visited.
rooms='src/framehub/mfp/*,src/framehub/hub/*,src/framehub/rpc/*'
pure="$rooms,src/framehub/ids.py,src/framehub/names.py,src/framehub/codes.py,src/framehub/errors.py"
data=$(mktemp)
trap 'rm -f "$data"' EXIT
.venv/bin/python -m coverage run --branch --data-file="$data" --source=framehub -m pytest -q \
    tests/unit/mfp tests/unit/hub tests/unit/rpc tests/unit/test_ids.py tests/unit/test_names.py \
    tests/unit/test_codes.py tests/unit/test_errors.py tests/conformance
.venv/bin/python -m coverage report --data-file="$data" --include="$pure" --show-missing --skip-covered --fail-under=100

# What does not need Spark fills the cores.
pytest tests -m "not spark" -n 2 -q --ignore=tests/unit/mfp --ignore=tests/unit/hub --ignore=tests/unit/rpc \
    --ignore=tests/conformance
# What does shares a session in each of two processes; the tests of a file stay together.
pytest tests -m spark -n 2 --dist loadfile -q

# What the figures in benchmarks/results are worth now; no failure, whatever it says.
echo
.venv/bin/python -m scripts.stale || true
