# Every target sets up .venv by itself when it has to: Python 3.11 or newer, make and a compiler are enough.

# The system's Python if it is new enough, else the first on the path: distributions build theirs with the optimizations
# that version managers leave out, and tests that trace much take a tenth less time with it.
PYTHON ?= $(shell for python in /usr/bin/python3 python3; do \
	"$$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; done; echo "$$python")
WORKERS ?= auto

VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
REPORT := build/report
LOCK := requirements-dev.lock
SOURCES := $(wildcard src tests examples benchmarks docs)

export JAX_PLATFORMS ?= cpu
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The many processes of tests and demo read each other's bytecode, also where the environment asks for none.
export PYTHONDONTWRITEBYTECODE :=
# Silences MkDocs Material's notice about MkDocs 2, which our bounds exclude.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo tour record minima test lint format types layers docs gallery bench check lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Set up .venv (every other target does it when it has to)

demo: $(STAMP) ## Reproduce and audit the papers at quick scale, and write the report
	@$(VENV)/bin/tutelage demo --out $(REPORT)

tour: $(STAMP) ## A figure and a table for each family of problems
	@$(RUN) examples/tour.py

test: $(STAMP) ## Run all tests (WORKERS=1 for one process, ARGS="-k name" for some of them)
	@$(RUN) tests/passes.py $(WORKERS) $(ARGS)

lint: $(STAMP) ## Check style and formatting
	@$(RUN) -m ruff check $(SOURCES)
	@$(RUN) -m ruff format --check $(SOURCES)

format: $(STAMP) ## Repair what the linter can repair, and format
	@$(RUN) -m ruff check --fix --exit-zero --quiet $(SOURCES)
	@$(RUN) -m ruff format $(SOURCES)

types: $(STAMP) ## Check types
	@$(RUN) -m pyright

layers: $(STAMP) ## Check that imports point only backwards along the flow of data
	@$(VENV)/bin/lint-imports --no-cache --no-logo

docs: $(STAMP) ## Build the documentation into site/; a warning is an error
	@$(RUN) -m mkdocs build --strict
	@echo "The documentation is in site/index.html"

gallery: $(STAMP) ## Renew the pictures of the documentation from the report that make demo has written
	@$(RUN) docs/thumbnails.py $(REPORT)

bench: $(STAMP) ## Run the benchmarks: ratios measured in one run, accuracy beside speed
	@set -e; for file in benchmarks/*.py; do \
		[ -e "$$file" ] || { echo "There are no benchmarks yet."; break; }; \
		echo "== $$file"; $(RUN) "$$file"; done

record: $(STAMP) ## Judge all claims, and keep the verdicts that the report shows where no audit was run
	@mkdir -p build; set -e; for paper in $$($(VENV)/bin/tutelage papers --json | $(RUN) -c 'import json, sys; print(*(paper["key"] for paper in json.load(sys.stdin)["papers"] if paper["claims"]))'); do \
		{ $(VENV)/bin/tutelage audit $$paper --json > build/$$paper.json || [ $$? -eq 1 ]; } && mv build/$$paper.json src/tutelage/papers/$$paper.verdicts.json; done

EXPERIMENT := build/experiment
minima: $(STAMP) ## Renew the data set of known minima from the experiment at paper scale, as far as it has gone (EXPERIMENT=folder)
	@$(RUN) docs/known_minima.py $(EXPERIMENT)

check: lint types layers docs test ## All checks: lint, types, layers, docs, test

lock: ## Resolve the development environment anew, in a temporary place, and write the lock
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(PYTHON) -m venv "$$dir/venv" && \
	"$$dir/venv/bin/python" -m pip install --quiet --upgrade pip && \
	"$$dir/venv/bin/python" -m pip install --quiet ".[dev]" && \
	{ echo "# The development environment, all extras included. Written by make lock."; \
	  "$$dir/venv/bin/python" -m pip freeze --exclude tutelage; } > "$$dir/lock" && \
	cp "$$dir/lock" $(LOCK) && echo "Wrote $(LOCK): $$(grep -c == $(LOCK)) packages"

clean: ## Remove .venv and everything built
	rm -rf $(VENV) site build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamp is written last: an interrupted set-up starts over.
$(STAMP): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "tutelage needs Python 3.11 or newer, and '$(PYTHON)' is not: run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up .venv with $$($(PYTHON) --version) (a minute or two, once) …"
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing $$(grep -c == $(LOCK)) locked packages …"
	@$(RUN) -m pip install --quiet --requirement $(LOCK)
	@echo "Installing tutelage …"
	@$(RUN) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "Ready."
