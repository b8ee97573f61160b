#!/bin/sh
# What palaver can do, on the specs beside this script: each command is shown, then run, and must end as expected.
# BIN is the folder with the `palaver` to use; without it, the one on the PATH.
set -eu

PATH="$(cd "${BIN:-.}" && pwd):$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
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

say "A text format, a binary one, and two conversations. Is anything wrong with them?"
expect 0 "palaver check ledger.fan frames.fan mail.fan echo.fan"

say "Inputs from the first: the last line always tells the right count and sum."
expect 0 "palaver fuzz -f ledger.fan -n 2 --seed 1"

say "A frame of bits and bytes, with its length and its checksum."
expect 0 "palaver fuzz -f frames.fan -n 1 --seed 1 -c 'len(*<frame>) == 1' -c 'len(bytes(<load>)) < 3' --format grammar"

say "Twenty such inputs into files; all of them are read back."
expect 0 "palaver fuzz -f frames.fan -n 20 --seed 1 -d frames -x .bin"
expect 0 "palaver parse -f frames.fan frames/*.bin"

say "A whole conversation, and then only what the client says in one."
expect 0 "palaver fuzz -f mail.fan -n 1 --seed 1"
expect 0 "palaver fuzz -f mail.fan -n 1 --seed 1 --party Client"

say "A real conversation, with a program that says everything back; and with one that gets a letter wrong."
expect 0 "palaver talk -f echo.fan --seed 1 -v cat"
expect 1 "palaver talk -f echo.fan --seed 1 sed -u 's/[a-m]/z/'"

say "An input with a wrong sum is rejected, and the reason given."
expect 0 "printf 'BOOK cash 10\nBOOK bank 20\nCLOSE 2 31\n' > wrong_sum.txt"
expect 1 "palaver parse -f ledger.fan wrong_sum.txt"

say "So is one that does not follow the grammar."
expect 0 "printf 'BOOK cash 10\nBOOK bonk 20\n' > wrong_word.txt"
expect 1 "palaver parse -f ledger.fan wrong_word.txt"

say "Mistakes in a spec are all told at once, each with its place and a hint."
cat >mistakes.fan <<'SPEC'
<start>   ::= <booking>{1,5} <closnig>
<booking> ::= "BOOK " <amount> "\n"
<amount>  ::= r"[0-9+"
<closing> ::= "CLOSE\n"
where <amount> == "1" or <amount> == "2"
SPEC
expect 2 "palaver check mistakes.fan"

printf '\nAll of this ended as expected.\n'
