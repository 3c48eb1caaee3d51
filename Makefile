# `make demo` runs the main job on the embedded world; `make test` passes everything that guards main.
# Both create the environment they need in $(VENV).
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
export OMP_WAIT_POLICY ?= passive

.PHONY: help demo test fuzz check web viewer coverage docs site notebooks bench load kill-test serve-kill-test lock audit audit-check sbom wheel gpu-test clean
help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

PIP := $(BIN)/python -m pip --disable-pip-version-check

$(VENV)/runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing xerte into $(VENV): a few minutes, most of it PyTorch."
	$(PIP) install -c constraints.txt -e '.[serve]'
	@touch $@

$(VENV)/ready: $(VENV)/runtime
	@echo "Adding the development tools."
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/kernels: $(VENV)/ready
	$(PIP) install --quiet -c constraints.txt -e '.[dev,kernels]'
	@touch $@

demo: $(VENV)/runtime ## the main job on the embedded world; installs the runtime only
	$(BIN)/xerte demo
	@echo
	@echo "The command is in $(BIN): source $(BIN)/activate"

check: $(VENV)/ready ## formatting, lint, types, who imports whom, generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m reports docs --check

NPM := PATH="$(abspath $(BIN)):$$PATH" npm --prefix web
web/node_modules/ready: web/package.json | $(VENV)/ready
	$(NPM) install
	@touch $@

web: web/node_modules/ready ## the viewer's own formatting, lint, types and tests
	$(NPM) run --silent check

VIEWER := src/xerte/explanation/viewer/sources.sha256
viewer: $(VIEWER) ## build the viewer anew where its sources have changed
$(VIEWER): $(wildcard web/src/* web/app/*) web/package.json web/vite.config.js | $(VENV)/ready
	$(PIP) install --quiet --no-deps -e .
	@touch $@

test: check web viewer $(VENV)/kernels ## everything that guards main
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

FUZZ_SECONDS ?= 120
FUZZ_SEED ?= 0
fuzz: $(VENV)/ready ## hostile inputs for minutes; fails where one makes more than a sentence
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

coverage: $(VENV)/ready ## line coverage; fails when data, graph or evaluation fall below 95 %
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal --cov --cov-report=term:skip-covered
	$(BIN)/coverage report --fail-under=95 --include='src/xerte/data/*,src/xerte/graph/*,src/xerte/evaluation/*'

docs: $(VENV)/ready ## rewrite the generated parts of the docs
	$(BIN)/python -m reports docs

site: $(VENV)/ready ## build the documentation site into build/site, offline
	$(BIN)/python -m reports site

notebooks: $(VENV)/ready ## run the notebooks and keep what they print
	$(BIN)/python -m reports notebooks

FAITHFUL ?= icews14-best icews14-paper yago-best yago-paper world-best world-paper
FAITHFUL_QUESTIONS ?= 300
faithfulness: $(VENV)/ready ## are explanations true? an hour on two quiet cores; writes results/faithfulness; FAITHFUL names some
	for one in $(FAITHFUL); do data=$${one%-*}; model=$$one; \
	  if [ $$data = world ]; then \
	    preset=$$([ $$one = world-paper ] && echo world || echo best); model=runs/$$one; \
	    [ -e $$model/state.json ] || $(BIN)/xerte train world --preset $$preset --out $$model || exit 1; \
	  fi; \
	  $(BIN)/xerte faithfulness $$data --model $$model --questions $(FAITHFUL_QUESTIONS) --force --trace results/faithfulness/$$one.json || exit 1; \
	done

load: $(VENV)/ready ## a server under load beside the evaluation, half an hour; needs wrk and the dataset icews14
	for one in icews14-paper icews14-best; do \
	  $(BIN)/python -m benchmarks.serving icews14 --model $$one --save results/serving/$$one.json || exit 1; \
	done

bench: $(VENV)/ready ## how fast, beside slow twins; fails where a ratio is below half the best on record
	$(BIN)/python -m benchmarks run --device cpu --against results/bench --save results/bench

KILLS ?= 500
SEED ?= 0
kill-test: $(VENV)/ready ## random and aimed kills while appending, compacting and following; KILLS and SEED choose
	$(BIN)/python -m fuzz.kills --kills $(KILLS) --seed $(SEED) --save results/live/kills.json

serve-kill-test: $(VENV)/ready ## 200 random kills of a server that takes events and answers; about a quarter of an hour
	$(BIN)/python -m benchmarks.serve_kills --kills 200 --seed 0 --save results/serving/kills.json

lock: $(VENV)/ready ## write lock.txt and docs/licences.md from what is installed
	$(PIP) install --quiet -c constraints.txt -e '.[bench,cluster,excel,explain,postgres,serve,sign,tensorboard]'
	$(BIN)/python -m reports lock
	$(NPM) install --package-lock-only --omit-lockfile-registry-resolved

audit: $(VENV)/ready ## ask for known vulnerabilities of what is locked (needs the network) and record the answers
	$(PIP) install --quiet pip-audit
	mkdir -p build/audit
	-$(BIN)/pip-audit -r lock.txt --no-deps --disable-pip --progress-spinner off -f json -o build/audit/pip.json
	-$(NPM) audit --json > build/audit/npm.json
	$(BIN)/python -m reports audit --reports build/audit

audit-check: $(VENV)/ready ## read the record of the last audit, offline; fails where it finds anything
	$(BIN)/python -m reports audit

sbom: $(VENV)/ready ## list every part of the environment in build/sbom.json (CycloneDX)
	$(PIP) install --quiet cyclonedx-bom
	mkdir -p build
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o build/sbom.json $(BIN)/python

wheel: $(VENV)/ready ## make the wheel twice and compare the bytes
	$(BIN)/python -m reports wheel

gpu-test: ## the tests that need a CUDA device, with the python at hand
	PYTHONPATH=src $(PYTHON) -m pytest -m gpu -p no:cacheprovider

clean: ## remove the environment and every cache
	rm -rf $(VENV) build web/node_modules src/xerte/explanation/viewer src/xerte/app/page .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
