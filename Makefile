PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RUN := runs/demo
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

.PHONY: help install demo dist test lint browser docs results bench faults fuzz coverage audit clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[dev]'
	@# pip would compile one file after the other, tests of the dependencies too
	$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true
	touch $@

install: $(INSTALLED)  ## the environment, with pacbound and the tools of development

demo: $(INSTALLED)  ## a first certificate on MNIST, from nothing, in a few minutes
	$(BIN)/pacbound data get mnist
	$(BIN)/pacbound train mlp-30 --epochs 20 -o $(RUN).pt --force
	$(BIN)/pacbound certify $(RUN).pt --delta 0.035 --max-risk 0.14 -o $(RUN).json
	$(BIN)/pacbound verify $(RUN).json --max-risk 0.14 --checkpoint $(RUN).pt
	@echo "checkpoint, log and certificate: $(RUN).pt $(RUN).log.jsonl $(RUN).json"
	@echo "the command itself: source $(BIN)/activate, or $(CURDIR)/$(BIN)/pacbound"

dist: $(INSTALLED)  ## the wheel, in dist/
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

browser:  ## Chromium, which tests look at the report's page with
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "installing chromium"; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
	fi || true; \
	command -v chromium >/dev/null || echo "install chromium to test the report's page too"

test: $(INSTALLED) lint browser  ## lint, types, tests, and a check of every published certificate
	@# with bytecode: a process that a test starts need not compile pacbound again
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal
	$(PYTHON) -I -S pacbound/certificate/checker.py certificates/*.json results/examples/*.json

docs: $(INSTALLED)  ## the documentation, as pages in build/docs
	$(BIN)/python -m sphinx -b html -n -W --keep-going -d build/doctrees docs build/docs

results: $(INSTALLED)  ## the tables in the documentation, from certificates and results
	$(BIN)/python -m pacbound.experiments.pages

bench: $(INSTALLED)  ## speed, as ratios measured in one run
	for file in $$(grep -l "^def main(" benchmarks/*.py); do $(BIN)/python $$file || exit 1; done

faults: $(INSTALLED)  ## kill commands at random moments, thirty times each, and compare
	$(BIN)/python tests/faults/killing.py 30

fuzz: $(INSTALLED)  ## 100 000 mutated certificates and 20 000 checkpoints: none may get in
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/run.py 100000 20000 --kept build/fuzz.jsonl

coverage: $(INSTALLED)  ## 1000 certificates of every predictor and prior, 20 000 draws: how many hold
	OMP_NUM_THREADS=1 PACBOUND_COVERAGE=1000 PACBOUND_COVERAGE_DRAWS=20000 \
		$(BIN)/python -m pytest -q tests/predictors/test_coverage.py tests/predictors/test_binomial_draw.py \
		tests/fixed/test_fixed_coverage.py

audit: $(INSTALLED)  ## known holes in the pinned dependencies; needs a network
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit -r constraints.txt --no-deps --disable-pip --strict

clean:  ## remove the environment and the demo's files
	rm -rf $(VENV) runs build dist *.egg-info
