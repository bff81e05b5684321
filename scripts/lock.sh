#!/bin/sh
# Pin the newest versions that fit: pyproject.toml, requirements/*.in -> requirements/*.txt.
# pip-tools comes into a throwaway environment. Where packages come from is pip's setting and is never written.
set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
echo "lock: fetching pip-tools" >&2
"$tools/bin/pip" install --quiet --disable-pip-version-check pip-tools

compile() { # compile OUTPUT SOURCE [OPTIONS]
    echo "lock: $1" >&2
    output=$1
    shift
    "$tools/bin/pip-compile" --quiet --upgrade --strip-extras --no-header --no-config \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
        --output-file "$output" "$@"
}

compile requirements/run.txt pyproject.toml --extra spark
compile requirements/java.txt requirements/java.in
compile requirements/fuzz.txt requirements/fuzz.in
compile requirements/dev.txt requirements/dev.in --constraint requirements/run.txt
