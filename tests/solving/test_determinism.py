"""The same seed makes the same outputs, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "solving"

# Domains, equations, filters, lists, search, `or` and `exists`, cycles, counts, lengths of what is recursive.
FILES = [
    "03_age", "05_csv", "08_ipv4", "10_sorted", "11_unique", "13_date", "14_evenprime", "17_conj", "19_implies",
    "22_luhn", "23_sumord", "29_chain", "30_cycle", "31_jsonlen", "32_count",
]  # fmt: skip

TEXTS = {
    "soft goals": "<start> ::= <n> ',' <m>\n<n> ::= r'[0-9]{3}'\n<m> ::= r'[0-9]{3}'\nwhere int(<n>) > int(<m>)\n"
    "maximizing int(<m>)\nminimizing int(<n>)\n",
    "sets of words": "<start> ::= <a> <b>\n<a> ::= r'[a-z]{1,5}'\n<b> ::= r'[A-Z]{2}'\n"
    "where str(<a>) in {'one', 'two', 'three', 'four'}\nwhere str(<b>) not in {'AA', 'BB'}\n",
    "sets of numbers": "<start> ::= <a>\n<a> ::= r'[0-9a-fA-F]{1,5}'\nwhere int(str(<a>), 16) in {171, 205, 4011, 7}\n",
    "any and or": "<start> ::= <a>{2,5}\n<a> ::= <k> '=' <v> ';'\n<k> ::= r'[a-z]{2}'\n<v> ::= r'[0-9]{2}'\n"
    "where any(<x>.<k> == 'id' and int(<x>.<v>) > 50 for <x> in *<a>) or len(*<a>) == 3\n",
    "a generator and random": "import random\n<start> ::= <a> ':' <b>\n<a> ::= r'[0-9]+' := random.randint(0, 999)\n"
    "<b> ::= r'[0-9]+'\nwhere int(<b>) == int(<a>) + 1\n",
}

SCRIPT = """
import sys, palaver
for name in sys.argv[1:]:
    spec = palaver.load(name) if name.endswith(".fan") else palaver.loads(name)
    for tree in spec.fuzz(6, seed=7):
        print(ascii(tree.serialised()))
    try:
        list(spec.fuzz(1, seed=8, budget=3))
    except palaver.Unsolvable as unsolvable:
        print(ascii(str(unsolvable)))
"""


def outputs(hash_seed: str) -> list[str]:
    names = [str(BENCHMARKS / f"{name}.fan") for name in FILES]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names, *TEXTS.values()],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_outputs_do_not_depend_on_how_python_hashes() -> None:
    one, other = outputs("1"), outputs("4242")
    assert len(one) >= 6 * (len(FILES) + len(TEXTS))
    assert one == other
