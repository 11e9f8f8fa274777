# make quickstart and make test set up everything they need; see README.md.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# A file's tests run in one process: they share what is made once, and compile it once. In the order
# that tests/conftest.py gives them, long files do not come last.
TEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help install quickstart reproduce-all check-reference test test-fast test-oldest lint docs docs-check format bench clean

help:
	@echo "make quickstart       set up, compare four methods in a minute, say what was found"
	@echo "make reproduce-all    run every config whose data are here, or go on with it;"
	@echo "                      with PROFILE=quick in minutes each"
	@echo "make check-reference  compute some cells of results/reference again, and compare"
	@echo "make test             set up, check format, lint and types, run all tests"
	@echo "make test-fast        the same without the tests that take seconds each"
	@echo "make test-oldest      run these with the oldest versions allowed (PYTHON=python3.11)"
	@echo "make docs             build the site, run its examples: build/site/index.html"
	@echo "make docs-check       the same without running the examples, in half a minute"
	@echo "make format           format the code"
	@echo "make bench            measure the engine against the author-style loop and the hardware"

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dsgkit needs Python 3.11 or newer; use make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

install: $(VENV)/.installed

quickstart: install
	$(BIN)/dsg run configs/quickstart.yaml

reproduce-all: install
	$(BIN)/python scripts/reproduce.py $(PROFILE:%=--profile %)

check-reference: install
	$(BIN)/python scripts/check_reference.py

# Tests start hundreds of processes: none is to compile the sources again.
test test-fast: export PYTHONDONTWRITEBYTECODE =

test: lint
	$(TEST)

test-fast: lint
	$(TEST) -m "not slow"

# By Python 3.11, the oldest: newer ones have no wheels of these versions. The golden keys of cells
# have the versions of scikit-learn's classes.
OLDEST := $(VENV)-oldest
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	grep -oE '[A-Za-z][A-Za-z0-9-]*>=[0-9.]+' pyproject.toml | sed 's/>=/==/' > $(OLDEST)/versions.txt
	$(OLDEST)/bin/python -m pip install --quiet --editable '.[dev]' --constraint $(OLDEST)/versions.txt
	$(OLDEST)/bin/python -m pytest -m "not slow" --ignore tests/test_golden.py

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# From the start: Sphinx does not see when a text that a page shows has changed.
# The tests run the examples, too, so that docs-check need not.
docs docs-check: install
	rm -rf build/site scripts/site/reference/api
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going $(SITE_TAGS) scripts/site build/site
docs: SITE_TAGS := --tag examples

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python scripts/bench_engine.py

clean:
	rm -rf $(VENV) $(VENV)-oldest build dist scripts/site/reference/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
