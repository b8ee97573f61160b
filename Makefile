# Two commands do everything: `make demo` and `make test`. Both need Python, git and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint types tests bench clean

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

# Measures palaver against the reference implementation, which goes into a venv of its own.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/run.py

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
