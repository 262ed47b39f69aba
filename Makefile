# Everything sets itself up: `make demo` and `make test` need Python 3.11 or newer and nothing else.

PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)
VENV := .venv
BIN := $(VENV)/bin
# What is passed on: make test ARGS="tests/cli -k port"
ARGS ?=
# How many tests run at the same time
JOBS ?= auto

.PHONY: help demo test lint format types tables deploy-files reference docs package coverage bench bench-queueing bench-real kube-assets clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo     a fleet at work: Jobs on three workers, one of which is killed; about 20 seconds'
	@echo 'make test     the tests that need nothing but this clone'
	@echo 'make lint     ruff, mypy, import-linter and a search for what is used nowhere'
	@echo 'make types    mypy alone'
	@echo 'make tables   generate the tables of Kubernetes facts; needs Go'
	@echo 'make deploy-files  generate deploy/'
	@echo 'make reference     generate docs/reference/python.md from docstrings, the rules for statuses, and what answers differ in'
	@echo 'make docs     build the site of docs/ into site/'
	@echo 'make package  build the wheel and the source distribution into dist/, and check them'
	@echo 'make coverage      the tests, with the lines and branches of src that they do not reach'
	@echo 'make format   ruff format'
	@echo 'make bench    speed and memory'
	@echo 'make bench-queueing    admission alone: how fast it decides, and Kueue'"'"'s own loads on virtual time'
	@echo 'make bench-real    the relay on real clusters, and embedded clusters beside real ones; needs kube-assets'
	@echo 'make kube-assets   build a real etcd, kube-apiserver, kube-controller-manager and kubectl, once; needs Go'
	@echo 'make clean    remove what the others have made'

$(VENV)/bin/python:
	@test -n '$(PYTHON)' || { echo 'error: Python 3.11 or newer is needed' >&2; \
		echo 'hint: install one, or name it: make PYTHON=/path/to/python3' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'

# Stamps: installing again only when what is needed has changed.
$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

$(VENV)/.package: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group package
	@touch $@

demo: $(VENV)/.runtime
	@$(BIN)/jobrelay demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(JOBS) $(ARGS)

lint: $(VENV)/.dev
	@failed=; for each in 'ruff check' 'ruff format --check' 'mypy' 'lint-imports' 'python tools/deadcode.py' 'python tools/names.py'; do \
		echo "== $$each"; $(BIN)/$$each || failed="$$failed '$$each'"; done; \
		test -z "$$failed" || { echo "error: failed:$$failed" >&2; exit 1; }

types: $(VENV)/.dev
	$(BIN)/mypy

tables: $(VENV)/.dev
	$(BIN)/python tools/typetable/build.py
	$(BIN)/python tools/enumtable.py

deploy-files: $(VENV)/.runtime
	$(BIN)/python tools/deployfiles.py

reference: $(VENV)/.dev
	$(BIN)/python tools/reference.py
	$(BIN)/python -m tools.statusrules
	$(BIN)/python -m tools.kinddescriptions
	$(BIN)/python -m tools.conformancerules
	$(BIN)/python -m tools.differences

# NO_MKDOCS_2_WARNING: the theme's advertisement for another program.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict $(ARGS)
	@echo 'the site is in site; to read it: python3 -m http.server --directory site'

package: $(VENV)/.package
	rm -rf dist
	$(BIN)/python -m build --outdir dist $(ARGS) .
	$(BIN)/python -m twine check --strict dist/*

# Processes that tests start are not measured: what runs only there counts as not reached.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(JOBS) --cov=jobrelay --cov-branch --cov-report=term:skip-covered $(ARGS)

format: $(VENV)/.dev
	$(BIN)/ruff format

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(ARGS)

bench-queueing: $(VENV)/.dev
	$(BIN)/python -m bench --only queueing-loads --only queueing $(ARGS)

bench-real: $(VENV)/.dev
	$(BIN)/python -m bench.real $(ARGS)

kube-assets:
	@test -n '$(PYTHON)' || { echo 'error: Python 3.11 or newer is needed' >&2; exit 2; }
	@$(PYTHON) tools/kube/assets.py $(ARGS)

clean:
	rm -rf $(VENV) .venv-3.* build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
