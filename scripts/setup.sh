#!/bin/sh
# Make .venv ready, doing only what is missing. Everything said goes to stderr.
#
#   scripts/setup.sh run          what ./run and ./framehub need: system packages, then `make setup`
#   scripts/setup.sh dev          what ./test needs: system packages, then `make setup-dev`
#   scripts/setup.sh --venv run   what `make setup` does (--venv dev: `make setup-dev`)
#
# Files of ours in .venv: .stamp-run and .stamp-dev say what is installed (a hash of the requirements, the
# Python and the place, then the Java); .incomplete exists while that is not true; .lock and setup.log.
# PYTHON names another interpreter than python3; PIP_* settings are pip's own business and are kept.
set -eu

[ -n "${HOME-}" ] || unset HOME # an empty HOME would put pip's cache in /
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
venv=$root/.venv
log=$venv/setup.log
ticker=

say() { printf '%s\n' "$*" >&2; }
die() { say "framehub: $*"; exit 1; }

version_of() { "$1" -ISc 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }

# ---------------------------------------------------------------- is it ready?

hash_of_stdin() { if command -v sha256sum >/dev/null; then sha256sum; else cksum; fi | cut -c1-64; }

key() { # key run|dev: everything that, when changed, needs an installation
    {
        echo "$1 $root $(version_of "$venv/bin/python")"
        cat "$root/pyproject.toml" "$root/requirements/run.txt" "$root/requirements/java.txt"
        cat "$root/setup.py" "$root"/src/framehub/*/*.pyx
        command -v cc || :
        [ "$1" = run ] || cat "$root/requirements/dev.txt"
    } | hash_of_stdin
}

javas_here() { # every java that framehub would try, one a line
    [ -z "${JAVA_HOME-}" ] || [ ! -x "$JAVA_HOME/bin/java" ] || echo "$JAVA_HOME/bin/java"
    command -v java || :
}

ready() { # ready run|dev
    [ -e "$venv/.stamp-$1" ] && [ ! -e "$venv/.incomplete" ] && [ -x "$venv/bin/framehub" ] || return 1
    { read -r had_key && read -r had_java; } <"$venv/.stamp-$1" || return 1
    [ "$had_java" = wheel ] || javas_here | grep -qxF -e "$had_java" || return 1
    [ -z "${PYTHON-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of "$venv/bin/python")" ] || return 1
    [ "$had_key" = "$(key "$1")" ]
}

# ---------------------------------------------------------------- Python and system packages

find_python() { # sets $python to a real interpreter (no shim, no virtual environment), 3.11 or newer
    wanted="import sys; print(getattr(sys, '_base_executable', sys.executable)) if sys.version_info >= (3, 11) else sys.exit(1)"
    python=
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if command -v "$name" >/dev/null && python=$("$name" -Ic "$wanted" 2>/dev/null); then return; fi
    done
    found=${PYTHON:-python3}
    if command -v "$found" >/dev/null; then
        found="$found is $(version_of "$found" || echo 'not a Python 3')"
    else
        found="there is no $found here"
    fi
    die "Python 3.11 or newer is needed, but $found.
  Debian 12 or newer, Ubuntu 24.04 or newer: sudo apt-get install -y python3 python3-venv make
  A Python elsewhere: PYTHON=/path/to/python3.11 $0"
}

can_make_venvs() { "$python" -Ic 'import ensurepip, venv' 2>/dev/null; }

missing_packages() { # missing_packages run|dev: Debian's names of what is not here
    command -v make >/dev/null || echo make
    [ "$1" = run ] || command -v chromium >/dev/null || echo chromium # tests look at pages in a real browser
    [ "$1" = run ] || missing_compiler
    can_make_venvs && return
    debian_python venv || die "$python has no 'ensurepip' or 'venv' module: install them, or set PYTHON to another interpreter"
}

debian_python() { # debian_python venv|dev: Debian's name of that part of $python; fails if it is none of Debian's
    real=$(readlink -f -- "$python")
    case $real in
        "$(readlink -f /usr/bin/python3)") echo "python3-$1" ;;
        /usr/bin/python3.*) echo "${real#/usr/bin/}-$1" ;;
        *) return 1 ;;
    esac
}

missing_compiler() { # what is not here of what compiles two modules of ours; ./run can do without
    command -v cc >/dev/null || echo gcc libc6-dev
    headers='import pathlib, sysconfig; raise SystemExit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())'
    "$python" -Ic "$headers" || debian_python dev || :
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    set -- apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
    "$@" && return
    echo "--- perhaps the package lists are missing or old"
    apt-get -q update && "$@"
}

system_packages() { # system_packages run|dev
    missing=$(missing_packages "$1") || exit 1
    [ -n "$missing" ] || return 0
    missing=$(echo $missing) # on one line
    if ! command -v apt-get >/dev/null; then
        die "these are missing here (by their Debian names): $missing. Install them and try again."
    elif [ "$(id -u)" != 0 ]; then
        die "these are missing here: $missing. Run this, then try again:
  sudo apt-get install -y $missing"
    fi
    prepare
    # shellcheck disable=SC2086  # a list of words
    step "system packages: $missing" apt_install $missing
}

compiler() { # for ./run: had where that is easy, done without where it is not
    lacking=$(echo $(missing_compiler))
    if [ -n "$lacking" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        prepare
        # shellcheck disable=SC2086  # a list of words
        (step "a C compiler: $lacking" apt_install $lacking) || say "  going on without"
    fi
}

# ---------------------------------------------------------------- one step, one line

tick() { # tick WHAT BEGAN: keep the seconds moving on a terminal
    while sleep 1 && kill -0 "$$" 2>/dev/null; do
        printf '\r  %s ... %d s' "$1" "$(($(date +%s) - $2))" >&2
    done
}

stop_ticker() {
    [ -z "$ticker" ] || { kill "$ticker" && wait "$ticker"; } 2>/dev/null || :
    ticker=
}

step() { # step WHAT COMMAND...: quietly; how long it took, or the end of the log
    what=$1
    shift
    began=$(date +%s)
    printf '  %s ... ' "$what" >&2
    if [ -t 2 ]; then
        tick "$what" "$began" 9>&- &
        ticker=$!
    fi
    echo "=== $what" >>"$log"
    status=0
    ("$@") >>"$log" 2>&1 || status=$? # a subshell: `interrupted` must speak to stderr, not to the log
    stop_ticker
    [ ! -t 2 ] || printf '\r  %s ... ' "$what" >&2
    if [ "$status" = 0 ]; then
        say "$(($(date +%s) - began)) s"
        return
    fi
    say "failed after $(($(date +%s) - began)) s. The end of $log:"
    grep -v 'already satisfied' "$log" | tail -n 25 | sed 's/^/    /' >&2
    exit 1
}

interrupted() {
    stop_ticker
    unlock
    say ""
    say "framehub: interrupted; the next run sets up afresh"
    exit 130
}

# ---------------------------------------------------------------- the virtual environment

prepare() { # a directory that no later run takes for complete
    mkdir -p "$venv" 2>/dev/null && [ -w "$venv" ] || die "cannot write in $root"
}

lock() { # one set-up at a time; with flock even a killed set-up's pip keeps its turn until it ends
    prepare
    if command -v flock >/dev/null; then
        exec 9>>"$venv/.lock"
        flock -n 9 || { say "  another set-up is under way; waiting for it"; flock 9; }
        return
    fi
    waiting=
    until mkdir "$venv/.lock.d" 2>/dev/null; do
        owner=$(cat "$venv/.lock.d/pid" 2>/dev/null) || owner=
        if [ -n "$owner" ] && ! ps -p "$owner" >/dev/null 2>&1 && [ ! -d "/proc/$owner" ]; then
            mv "$venv/.lock.d" "$venv/.lock.old.$$" 2>/dev/null && rm -rf "$venv/.lock.old.$$"
            continue
        fi
        [ -n "$waiting" ] || say "  another set-up is under way; waiting for it (if it is not: rm -r $venv/.lock.d)"
        waiting=yes
        sleep 1
    done
    echo "$$" >"$venv/.lock.d/pid"
    locked=yes
}

unlock() { [ -z "${locked-}" ] || rm -rf "$venv/.lock.d"; }

usable_venv() { # what is there can be added to: complete, made here, and of the Python asked for
    [ ! -e "$venv/.incomplete" ] &&
        grep -qF "$venv/bin/python" "$venv/bin/pip" 2>/dev/null &&
        "$venv/bin/python" -Ic 'import pip' 2>/dev/null &&
        { [ -z "${PYTHON-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of "$venv/bin/python")" ]; }
}

make_venv() {
    find "$venv" -mindepth 1 -maxdepth 1 ! -name '.lock*' ! -name .incomplete ! -name setup.log \
        -exec rm -rf {} + && "$python" -m venv "$venv"
}

pip_install() {
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        --root-user-action ignore "$@"
}

usable_java() { # the first java of 17 or newer, which is what Spark needs
    javas_here | while IFS= read -r name; do
        major=$("$name" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
        if [ "${major:-0}" -ge 17 ]; then echo "$name" && break; fi
    done
}

stamp() { # stamp run|dev
    { key "$1" && echo "$java"; } >"$venv/.stamp-$1.new" && mv "$venv/.stamp-$1.new" "$venv/.stamp-$1"
}

install_venv() { # install_venv run|dev
    lock
    if ready "$1"; then return; fi
    : >"$log"
    fresh=yes
    if usable_venv; then fresh=; fi
    : >"$venv/.incomplete"
    rm -f "$venv/.stamp-run" "$venv/.stamp-dev"
    if [ -n "$fresh" ]; then
        step "virtual environment: .venv, Python $(version_of "$python")" make_venv
    fi
    step "packages: requirements/run.txt" pip_install -r "$root/requirements/run.txt"
    java=$(usable_java)
    if [ -z "$java" ]; then
        step "Java: none of 17 or newer here, so from a wheel" pip_install -r "$root/requirements/java.txt"
        java=wheel
    fi
    if [ "$1" = dev ]; then
        step "test tools: requirements/dev.txt" pip_install -r "$root/requirements/dev.txt"
    fi
    [ "$1" = dev ] || compiler
    rm -f "$root"/src/framehub/*/_*.so # made of what these were before, perhaps
    step "framehub itself" pip_install --no-deps -e "$root"
    if ! "$venv/bin/python" -Ic 'import framehub.journal._fold, framehub.journal._notes, framehub.runtime._dropping' 2>/dev/null; then
        lacking=$(echo $(missing_compiler))
        say "  nothing was compiled, so a journal costs more and floods are slower to drop (${lacking:+without $lacking; }$log)"
    fi
    [ "$1" = run ] || stamp dev
    stamp run
    rm -f "$venv/.incomplete"
}

# ---------------------------------------------------------------- what was asked

case "$*" in
    run | dev)
        if ready "$1"; then exit 0; fi
        say "framehub: setting up (once; .venv in $root)"
        trap interrupted INT TERM HUP
        find_python
        system_packages "$1"
        target=setup
        [ "$1" = run ] || target=setup-dev
        trap - INT TERM HUP # the one below speaks for both
        make -s --no-print-directory -C "$root" "$target" >&2 || exit 1
        ;;
    "--venv run" | "--venv dev")
        if ready "$2"; then exit 0; fi
        trap interrupted INT TERM HUP
        find_python
        system_packages "$2"
        install_venv "$2"
        unlock
        ;;
    *)
        say "usage: scripts/setup.sh [--venv] run|dev"
        exit 2
        ;;
esac
