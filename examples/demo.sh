#!/bin/sh
# What palaver can do: each command is shown, then run, and must end as expected. The last one is the real thing.
# BIN is the folder with the `palaver` to use; without it, the one on the PATH.
set -eu

PATH="$(cd "${BIN:-.}" && pwd):$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
# The report that the last command makes stays.
PALAVER_RUNS="${PALAVER_RUNS:-$(cd "$(dirname "$0")/.." && pwd)/.palaver/runs}"
export PALAVER_RUNS
cp "$(dirname "$0")"/*.fan "$scratch"
cd "$scratch"

say() {
    printf '\n# %s\n' "$1"
}

# expect CODE COMMAND: show the command, run it, and stop the demo unless it exits with CODE.
expect() {
    printf '$ %s\n' "$2"
    code=0
    eval "$2" 2>&1 || code=$?
    if [ "$code" -ne "$1" ]; then
        echo "demo: this should have exited with $1, but exited with $code" >&2
        exit 1
    fi
}

say "A text format as a spec. Inputs from it: the last line always tells the right count and sum."
expect 0 "palaver fuzz -f ledger.fan -n 2 --seed 1"

say "An input with a wrong sum is rejected, and the reason given."
expect 0 "printf 'BOOK cash 10\nBOOK bank 20\nCLOSE 2 31\n' > wrong_sum.txt"
expect 1 "palaver parse -f ledger.fan wrong_sum.txt"

say "A whole protocol: a mail server with planted defects, and all of them found."
expect 0 "palaver demo"
