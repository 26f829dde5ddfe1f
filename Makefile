# Everything a newcomer runs. Python 3.11 or newer and make are all that is needed.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(CURDIR)/$(VENV)/bin
PIP = PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PROFILE ?= auto
export PATH := $(BIN):$(PATH)
export DO_NOT_TRACK = 1
export DVC_NO_ANALYTICS = 1
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run up install develop check test test-fast repro deps format clean

run: $(VENV)/.installed          ## the main job: refine for rounds 0 and 1, then evaluate
	erreval run --profile $(PROFILE)

up: $(VENV)/.installed           ## Prefect server, served deployments and MLflow on loopback, until Ctrl-C
	erreval up

repro: $(VENV)/.installed        ## rebuild what has changed, without Prefect
	dvc repro

install: $(VENV)/.installed

develop: $(VENV)/.developed

test: $(VENV)/.developed         ## all tests
	pytest

test-fast: $(VENV)/.developed    ## without the tests that start servers or train
	pytest -m "not slow"

check: $(VENV)/.developed        ## style, types, import contracts, stage deps
	ruff format --check .
	ruff check .
	mypy
	lint-imports
	python tools/stage_deps.py

release-model: $(VENV)/.installed ## the profile's champion as an archive with a model card, into dist/
	erreval models release -o dist

deps: $(VENV)/.developed         ## write into dvc.yaml which modules each stage imports
	python tools/stage_deps.py --write

format: $(VENV)/.developed
	ruff format .
	ruff check --fix .

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "erreval needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25'  # the resolver of older ones takes minutes

# constraints.txt pins what was tested together. Modules are compiled when they are first imported, not all 60,000 now.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing erreval and what it needs into $(VENV) (about two minutes) …"
	$(PIP) -c constraints.txt -e .
	touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(PIP) -c constraints.txt -e '.[dev]'
	touch $@

clean:                           ## remove what runs have left, but no data, model or result
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist .erreval/tmp
