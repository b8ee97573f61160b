# Two commands do everything: `make demo` and `make test`. Both need Python, git and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types tests servers protocols nightly nightly-solving bench bench-matching bench-solving bench-talking bench-guiding clean

demo: $(INSTALLED)
	@BIN=$(BIN) sh examples/demo.sh

test: lint types tests

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

tests: $(INSTALLED)
	$(BIN)/pytest

# Installs the real servers and clients that some tests talk to (Debian, as root); without them these are skipped.
servers:
	tools/servers.sh

# Every bundled spec with real servers and clients, 50 conversations each; some minutes.
protocols: $(INSTALLED)
	$(BIN)/python benchmarks/protocols.py

# Whether all roads of the matcher say the same, at length; a few minutes. `make nightly SEED=2` tries other cases.
SEED ?= 1
nightly: $(INSTALLED)
	$(BIN)/python tests/matching/differential.py --checks 100000 --seed $(SEED)

# The same for solving, against brute force: whether what is proved is so, and what there is is found.
nightly-solving: $(INSTALLED)
	$(BIN)/python tests/solving/proofs.py --cases 2500 --seed $(SEED)

# Measures palaver against the reference implementation, which goes into a venv of its own.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/run.py

# The same for reading messages, also against dnspython and against code by hand.
bench-matching: $(INSTALLED)
	$(BIN)/python benchmarks/matching.py

# The same for solving constraints; most of an hour.
bench-solving: $(INSTALLED)
	$(BIN)/python benchmarks/solving.py

# The same for conversations with real servers, also against plain sockets; three minutes.
bench-talking: $(INSTALLED)
	$(BIN)/python benchmarks/talking.py

# The same for guided conversations, also against random walks; the reference takes most of the twenty-five minutes.
bench-guiding: $(INSTALLED)
	$(BIN)/python benchmarks/guiding.py

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
