# What people type here. Every target sets itself up: a .venv with the pinned dependencies of pyproject.toml.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-quick tables format clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

help: ## Show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Quillo needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY) ## Serve the notes app, its page and its tools, to a real MCP client and watch
	@$(BIN)/python -m tools.demo

test: $(READY) ## Run every test
	@$(BIN)/python -m pytest -n 2

check: $(READY) ## Format, lint, types, layers, generated files, examples
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tools.layers
	$(BIN)/python -m tools.make_tables --check
	$(BIN)/python -m tools.make_prelude --check
	$(BIN)/python -m tools.make_reference --check
	$(BIN)/python -m tools.make_diagnostics --check
	$(BIN)/quillo fmt --check examples

tables: $(READY) ## Make the generated files anew: the parser's tables, the builtins' table, the lists in docs
	$(BIN)/python -m tools.make_tables
	$(BIN)/python -m tools.make_prelude
	$(BIN)/python -m tools.make_reference
	$(BIN)/python -m tools.make_diagnostics

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Measure against the official SDK, CPython and pydantic-monty, side by side
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	$(BIN)/python -m pytest bench --benchmark-only -p no:xdist
	$(BIN)/python bench/results_page.py

bench-quick: $(READY) ## The interpreter, the start and the calls, in a minute
	$(BIN)/python -m pytest bench --benchmark-only -p no:xdist -k "start or add_rate or cpython"

clean: ## Remove what the targets above made
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
