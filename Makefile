# Every target builds .venv from requirements.lock by itself, and again only when the lock changed.
# Override with: make test PYTHON=python3.12 PYTEST_ARGS="-k eta"

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready-$(shell cksum < requirements.lock | cut -d' ' -f1)
PYTEST_ARGS ?=
INPUTS ?= 1000
READERS ?=
KILLS ?= 0
SEED ?= 0
APT_INSTALL := DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install --yes --no-install-recommends

.DEFAULT_GOAL := help
.PHONY: help demo test check fix types docs bench slow torture sbom wheel lock clean screenless browser

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY)  ## the main job on bundled demonstrations
	@$(BIN)/etairl demo

test: $(READY) screenless browser  ## all tests but the slow ones
	@$(BIN)/pytest -m "not slow" -n auto --dist worksteal $(PYTEST_ARGS)

slow: $(READY)  ## the slow tests
	@$(BIN)/pytest -m slow $(PYTEST_ARGS)

check: $(READY)  ## format, lint, types, import direction, docs
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(MAKE) --no-print-directory -j2 types docs
	@$(BIN)/lint-imports --no-logo

fix: $(READY)  ## let ruff mend what it can
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

types: $(READY)  ## the types
	@$(BIN)/basedpyright --level error

docs: $(READY)  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(READY)  ## the speed tables
	@$(BIN)/etairl bench

torture: $(READY)  ## damaged files for every reader; INPUTS=100000 for longer, READERS="npz,csv", SEED=1, KILLS=100
	@PYTHONPATH=tools:tests $(BIN)/python -m torture --inputs $(INPUTS) --readers "$(READERS)" --seed $(SEED) --kills $(KILLS)

sbom: $(READY)  ## a software bill of materials: sbom.json
	@$(BIN)/python tools/sbom.py sbom.json

wheel: $(READY)  ## build dist/ and try it in clean environments
	@rm -rf dist
	@$(BIN)/python -m hatchling build
	@$(BIN)/pytest -n 0 -m slow tests/test_wheel.py $(PYTEST_ARGS)

lock: $(READY)  ## resolve the dependencies anew (needs uv)
	@uv pip compile pyproject.toml --extra dev --extra docs --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet --upgrade -o requirements.lock

clean:  ## remove .venv and everything generated
	@rm -rf $(VENV) site dist sbom.json torture-failures .pytest_cache .ruff_cache .hypothesis etairl-demo

# Tests that draw need EGL or OSMesa. Root gets the latter from Debian; for others they are skipped.
screenless: $(READY)
	@! $(BIN)/python -m etairl.tasks.offscreen >/dev/null 2>&1 || exit 0; \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0; \
	  echo "installing libosmesa6, which draws without a screen"; \
	  { $(APT_INSTALL) libosmesa6 || { timeout 300 apt-get update && $(APT_INSTALL) libosmesa6; }; } >/dev/null 2>&1 || \
	  echo "libosmesa6 could not be installed; the tests that draw with MuJoCo are skipped"

# The page of a report is looked at in Chromium. Root gets it from Debian; for others those tests are skipped.
browser:
	@for name in chromium chromium-browser google-chrome; do ! command -v $$name >/dev/null || exit 0; done; \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0; \
	  echo "installing chromium, which looks at reports"; \
	  { $(APT_INSTALL) chromium || { timeout 300 apt-get update && $(APT_INSTALL) chromium; }; } >/dev/null 2>&1 || \
	  echo "chromium could not be installed; the tests of reports in a browser are skipped"

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "etairl needs Python 3.11 or newer as '$(PYTHON)'; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "'$(PYTHON)' cannot create virtual environments; install its venv package (Debian: apt-get install python3-venv)"; exit 2; }
	@echo "creating $(VENV) from requirements.lock (once, a minute or two)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
