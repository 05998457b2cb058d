# Two commands do all: `make demo` and `make test`. Everything lives in .venv and .corpus.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORPUS_HOME ?= .corpus
# Modules are compiled when they are first imported: most never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
WORKERS ?= 2
# Packages that are distributions of their own, and the product, which needs them.
PACKAGES := $(patsubst %/pyproject.toml,%,$(wildcard packages/*/pyproject.toml))
# A test module stays in one process, so that what it builds once is built once.
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --durations 20
export CORPUS_HOME
# Where it is set, every process that a test starts would compile four hundred modules anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-all check ui docs format lock clean distclean

demo: $(VENV)/.core
	@$(BIN)/corpus build demo --version demo-1 --workers $(WORKERS)

ui: $(VENV)/.core
	@$(BIN)/corpus ui

test: $(VENV)/.dev
	$(PYTEST) -m "not slow" corpus_assets_tests

test-all: $(VENV)/.dev
	$(PYTEST) corpus_assets_tests

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The locks list every package with its hashes, so pip resolves nothing.
$(VENV)/.core: requirements.lock pyproject.toml $(PACKAGES:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("corpus-assets needs Python 3.11 to 3.13, this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2]) if not (3, 11) <= sys.version_info[:2] <= (3, 13) else None'
	@test -x $(BIN)/python || { echo "making a Python environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing $$(grep -c == requirements.lock) packages in $(VENV), once: this takes some minutes"
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation $(PACKAGES:%=--editable %) --editable .
	@CORPUS_MODELS=$(VENV)/share/corpus-assets $(BIN)/corpus models fetch
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements-dev.lock
	@echo "installing $$(grep -c == requirements-dev.lock) packages for tests in $(VENV), once"
	@$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	@touch $@

# The pages of docs/ as a site, in an environment of its own.
docs: .venv-docs/.done
	.venv-docs/bin/python -m sphinx -q -W -b html docs docs/_site
	@echo docs/_site/index.html

.venv-docs/.done: docs/requirements.lock
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r docs/requirements.lock
	touch $@

# Compile the locks anew from pyproject.toml; needs uv.
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header --quiet \
	$(foreach package,$(PACKAGES),--no-emit-package $(subst _,-,$(notdir $(package))))
lock:
	$(COMPILE) pyproject.toml --extra build -o requirements.lock
	$(COMPILE) pyproject.toml --extra build --extra dev --extra postgres --extra ray -o requirements-dev.lock
	$(COMPILE) pyproject.toml --extra build --extra postgres --extra s3 --extra ray --extra k8s -o deploy/requirements.lock
	$(COMPILE) docs/requirements.txt -o docs/requirements.lock

clean:
	rm -rf $(CORPUS_HOME)

distclean: clean
	rm -rf $(VENV) .venv-docs docs/_site
