#!/usr/bin/env bash
# Set up .venv from the hash-locked pins: envs/install.sh PYTHON. Says what it installs, how much, and how far it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
log=.venv.log
[ ! -L .venv ] || { echo ".venv is a link: set it up where it lies" >&2; exit 1; }

quietly() {  # run a command; its output goes to the log, and every 30 s a line says what it is at
    "$@" >>"$log" 2>&1 &
    local job=$! seconds=0
    while kill -0 "$job" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
        [ $((seconds % 30)) = 0 ] && echo "  $((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))  $(at)"
    done
    wait "$job"
}

at() {  # the last line of the log that tells something
    grep -vE '^(WARNING|warning|[[:space:]]*$)' "$log" | tail -1 | tr -s ' ' | cut -c1-70
}

install() {  # a lock; uv where it is present: it is faster, but does not look where pip is told to find wheels
    local options=(--no-deps --require-hashes -r "envs/lock/$1")
    if command -v uv >/dev/null && [ "$1" = all.txt ]; then
        quietly uv pip install --python .venv/bin/python "${options[@]}"
    else
        quietly .venv/bin/pip install --disable-pip-version-check --progress-bar off --no-compile "${options[@]}"
    fi
}

failed() {
    echo "set-up failed; the end of $log:" >&2
    grep -v '^WARNING' "$log" | tail -20 >&2
    exit 1
}

"$python" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)) and "Python 3.11 or 3.12 is needed: make PYTHON=/path/to/python3.11")'
[ -e .venv/installed ] || rm -rf .venv  # what a set-up that was cut short left
rm -f .venv/installed
: >"$log"
"$python" -m venv .venv
echo "setting up .venv: $(grep -c '==' envs/lock/all.txt) pinned packages, 2.5 GB of disk without CUDA, some five minutes, once"
install all.txt || failed
# torch: the CPU wheel where the machine has no GPU and pip finds it, else PyPI's with the CUDA libraries
if command -v nvidia-smi >/dev/null || ! install cpu.txt; then
    echo "  torch with CUDA: 5 GB more"
    install cuda.txt || failed
fi
quietly .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --editable . || failed
quietly .venv/bin/python -m compileall -qq -j 0 .venv/lib || true  # else each job of a run would compile torch; some files are not for this Python
touch .venv/installed
echo "set up in $((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))"
