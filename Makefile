# Two commands do everything: `make demo` and `make test`. Both need Python, git and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What a user needs, and what a developer needs besides.
USABLE := $(VENV)/.usable
INSTALLED := $(VENV)/.installed

# Tests start Python hundreds of times, and whoever may not keep bytecode compiles palaver each time.
unexport PYTHONDONTWRITEBYTECODE

# How many tests run at a time, and what else pytest is told.
JOBS ?= auto
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal

.PHONY: demo test test-all lint types tests server-tests test-again servers protocols nightly nightly-solving nightly-lengths nightly-verdicts nightly-proofs catalogue comparisons bench bench-matching bench-solving bench-talking bench-guiding bench-coverage bench-stateful bench-scale bench-lanes clean

demo: $(USABLE)
	@BIN=$(BIN) sh examples/demo.sh

# Everything that needs no installed server, in a few minutes. Types are checked while tests wait for their peers.
test: lint
	+$(MAKE) --no-print-directory --jobs=2 types tests

# Everything, and of what is random as much as is worth the time. Tests of servers that are not installed are skipped;
# `make servers` installs them.
test-all: lint types
	PALAVER_AT_LENGTH=1 $(PYTEST)

lint: $(INSTALLED)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(INSTALLED)
	$(BIN)/python -m mypy

tests: $(INSTALLED)
	$(PYTEST) -m 'not servers and not slow'

# The tests of servers alone; where one is missing, its tests are skipped.
server-tests: $(INSTALLED)
	$(PYTEST) --quiet -m servers

# What failed in the last run of tests, alone and one after the other: whether that was the machine or the product. More
# than a few are no accident.
MOST_AGAIN := 5
test-again: lint types
	$(BIN)/python -c 'import json; failed = json.load(open(".pytest_cache/v/cache/lastfailed")); \
	    print("failed at first:", *failed, sep="\n    "); assert 0 < len(failed) <= $(MOST_AGAIN)'
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

# Installs the real servers and clients that some tests talk to (Debian, as root).
servers:
	tools/servers.sh

# Every bundled spec with real servers and clients, 200 sessions each; some hours.
protocols: $(INSTALLED)
	$(BIN)/python benchmarks/protocols.py

# Whether all parsers agree, at length; a few minutes. `make nightly SEED=2` tries other cases.
SEED ?= 1
nightly: $(INSTALLED)
	$(BIN)/python tests/matching/differential.py --checks 100000 --seed $(SEED)

# The same for solving, against brute force: whether what is proved is so, and what there is is found.
nightly-solving: $(INSTALLED)
	$(BIN)/python tests/solving/proofs.py --cases 2500 --seed $(SEED)

# The same for lengths that constraints decide: verdicts and trees of `parse`, against brute force.
nightly-lengths: $(INSTALLED)
	$(BIN)/python tests/compiled/length_specs.py $(SEED) 20000

# The same for verdicts: palaver talks to palaver, and one message of one side is changed; half an hour or more.
nightly-verdicts: $(INSTALLED)
	$(BIN)/python tests/session/dialogue_worlds.py --specs 500 --sessions 20000 --seed $(SEED)

# The same for wrong messages: none that the grammar accepts may be called so.
nightly-proofs: $(INSTALLED)
	$(BIN)/python tests/tools/wrong_message_proofs.py --seed $(SEED)

# What real servers of one protocol do differently; the tables of docs/comparisons.md.
comparisons: $(INSTALLED)
	$(BIN)/python benchmarks/comparing.py

# Every planted bug of the catalogue: found, replayed offline and live, and made small; half an hour.
catalogue: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python tests/quality/catalogue_survey.py

# Measures palaver against the reference implementation, which goes into a venv of its own.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/run.py

# The same for reading messages, also against dnspython and against code by hand.
bench-matching: $(INSTALLED)
	$(BIN)/python benchmarks/matching.py

# The same for solving constraints; most of an hour.
bench-solving: $(INSTALLED)
	$(BIN)/python benchmarks/solving.py

# The same for sessions with real servers, also against plain sockets; three minutes.
bench-talking: $(INSTALLED)
	$(BIN)/python benchmarks/talking.py

# The same for guided sessions, also against random walks; the reference takes most of the twenty-five minutes.
bench-guiding: $(INSTALLED)
	$(BIN)/python benchmarks/guiding.py

# How much of a server's code guided and unguided sessions run, and the reference; a quarter of an hour.
bench-coverage: $(INSTALLED)
	$(BIN)/python benchmarks/code_coverage.py

# Guided sessions with peers that remember, in memory and with real servers, against random walks; a few minutes.
bench-stateful: $(INSTALLED)
	$(BIN)/python benchmarks/stateful.py
	$(BIN)/python benchmarks/stateful_servers.py

# How much work a message is, against plain sockets, and how it grows; some minutes.
bench-scale: $(INSTALLED)
	$(BIN)/python benchmarks/scale.py

bench-lanes: $(INSTALLED)
	$(BIN)/python benchmarks/lanes.py

$(USABLE): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(INSTALLED): $(USABLE)
	$(PIP) --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
