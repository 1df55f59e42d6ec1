PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: help demo test check bench bench-embedded test-embedded test-unitxt fuzz clean

help:
	@echo "make demo            judge a small example file with the embedded model, and show the result"
	@echo "make test            all tests"
	@echo "make check           ruff, strict types, import direction"
	@echo "make bench           CPU per judgment and import time, against a bare HTTP loop"
	@echo "make bench-embedded  how well the embedded model judges (needs the public records: DATA=FOLDER, LIMIT=60)"
	@echo "make test-embedded   a thousand judgments with the embedded model"
	@echo "make test-unitxt     the unitxt judges on the real unitxt package, in an environment of their own"
	@echo "make fuzz            the reply reader on a hundred thousand hostile texts"
	@echo "make clean           remove the virtual environment and everything made"

$(VENV)/ready: requirements/dev.txt requirements/local.txt requirements/core.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "adjudge needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/adjudge check --file examples/answers.csv --criterion "The response gives a date or a year." --output demo.jsonl
	@echo "The answers are in examples/answers.csv, every vote with its probabilities is in demo.jsonl."

test: $(VENV)/ready
	$(BIN)/python -m pytest -n auto

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

bench: $(VENV)/ready
	$(PIP) install -r requirements/bench.txt
	$(BIN)/python benchmarks/line.py
	$(BIN)/python benchmarks/start.py

DATA ?= ../shared/data
LIMIT ?= 60
MODELS ?= local/smollm2-135m-raw local/smollm2-135m
KINDS ?= 6

bench-embedded: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python benchmarks/prefix.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/embedded.py --data $(DATA) --limit $(LIMIT) --kinds $(KINDS) --models $(MODELS)

test-embedded: $(VENV)/ready
	ADJUDGE_LOCAL_JUDGMENTS=1000 $(BIN)/python -m pytest tests/embedded

.venv-unitxt/ready: requirements/unitxt.txt requirements/core.txt
	$(PYTHON) -m venv .venv-unitxt
	.venv-unitxt/bin/pip --disable-pip-version-check --quiet install -r requirements/unitxt.txt
	@touch $@

test-unitxt: .venv-unitxt/ready
	PYTHONPATH=$(CURDIR)/src HF_HUB_OFFLINE=1 .venv-unitxt/bin/python -m pytest tests/unitxt

fuzz: $(VENV)/ready
	ADJUDGE_FUZZ=100000 $(BIN)/python -m pytest tests/verdicts -k fuzz

clean:
	rm -rf $(VENV) .venv-unitxt .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build demo.jsonl
