#!/bin/sh
# Fuzz a target (arguments of `python -m fuzz`). atheris comes into a folder of its own, .venv/fuzz, the first
# time; where there is no wheel of it, the inputs are seeded mutations instead.
set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
tools=.venv/fuzz

if ! cmp -s requirements/fuzz.txt "$tools/requirements.txt"; then
    rm -rf "$tools"
    mkdir -p "$tools"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --root-user-action ignore \
        --only-binary :all: --target "$tools" -r requirements/fuzz.txt ||
        echo "fuzz: there is no wheel of atheris for this Python and machine" >&2
    cp requirements/fuzz.txt "$tools/requirements.txt"
fi
PYTHONPATH="$tools${PYTHONPATH:+:$PYTHONPATH}" exec .venv/bin/python -m fuzz "$@"
