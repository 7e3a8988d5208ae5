# `make` sets up, builds every spec and shows each op at work; `make test` runs the tests.
# Both need Python 3.11 or later and nothing else: PYTHON=python3.13 picks one.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: all build tour test check format clean

all: build tour

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'tilegen needs Python 3.11 or later: make PYTHON=python3.11'; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,integrations]'
	touch $@

build: $(READY)
	$(BIN)/tilegen build specs

tour: $(READY)
	$(BIN)/tilegen tour

test: $(READY)
	$(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/tilegen build specs --check

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
