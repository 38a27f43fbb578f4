# Two commands do everything on a fresh machine with Python 3.11 or later:
#   make run     set up what is missing and start a broker on localhost:9092
#   make test    set up what is missing and run every test
# make help lists the others.

VENV := .venv
BIN := $(VENV)/bin
# -P: tests import what is meant, never what happens to lie in the current folder. What pytest makes
# of their assertions is kept, also where the environment says PYTHONDONTWRITEBYTECODE: a run of the
# unit tests spends 12 s on it otherwise, in each of its processes.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -P -m pytest
# Two processes more than a small machine has processors: tests wait for brokers half of their time.
JOBS ?= 4
SEEDS ?= 50
SEQUENCES ?= 200
# Of each test, make check runs so many cases, others each time; make test runs all.
CASES ?= 1
# What each test of make test took; python -m tests.tools.cost_table makes tables of it.
COSTS := .cache/costs.json
ARGS ?=
# JavaScript; .oxfmtrc.json and .oxlintrc.json leave out what was vendored.
SCRIPTS := console/static tests/unit/console/static
# As pip does with what it installs: a start then compiles nothing, also where the environment says
# PYTHONDONTWRITEBYTECODE, which costs it half a second.
COMPILE = $(BIN)/python -m compileall -q broker client command console controller ground log_format ottla protocol simulation storage testbed

# pip's own words for it, "No module named pip", do not say what to do.
CHECK_PIP = @$(BIN)/python -c 'import pip' 2>/dev/null || { \
	  echo "$(VENV) has no pip; remove it (rm -rf $(VENV)), and run make again" >&2; exit 1; }
WITH_COMMAND = @echo "installed; in another terminal, this line gives you the command ottla: . $(BIN)/activate"

.DEFAULT_GOAL := help
.PHONY: help setup run demo test test-budget test-long check check-types check-style check-structure check-tests test-portable sim compat differential chaos bench docs release format clean

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

run: $(VENV)/.broker-installed ## start a broker on localhost:9092, data in ./data; ARGS="--override key=value"
	@exec $(BIN)/ottla serve $(ARGS)

demo: $(VENV)/.pipeline-installed ## three brokers and the Spark pipeline, with deaths in the middle; needs Java 17
	@exec $(BIN)/python -m pipeline.demo $(ARGS)

setup: $(VENV)/.tests-installed ## the virtual environment with all that the tests need

test: $(VENV)/.tests-installed ## what a change must pass; tests that need Java, Go or Chromium are skipped where it is missing
	$(PYTEST) -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --costs=$(COSTS) $(ARGS)

test-budget: test ## make test, and that no folder and no test takes more processor time than tests/budget.toml gives it
	@$(BIN)/python -m tests.tools.cost_table $(COSTS) --check

test-long: $(VENV)/.tests-installed ## the suites that take too long for make test: hours; ARGS="--list", "--within 60", "--suites a,b"
	@exec $(BIN)/python -m tests.long $(ARGS)

check: $(VENV)/.tests-installed ## style, types, contracts, generated code, unit tests: about a minute
	@$(MAKE) --no-print-directory -j $(JOBS) check-types check-style check-structure check-tests
	@$(BIN)/python -m tests.long --warn 200

# One thread of mypy beside the others: it takes as long as they do together.
check-types: $(VENV)/.tests-installed
	$(BIN)/deno check --quiet console/static/app.js
	$(BIN)/mypy

check-style: $(VENV)/.tests-installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/oxfmt --check $(SCRIPTS) console/types
	$(BIN)/oxlint --deny-warnings $(SCRIPTS)
	$(BIN)/python -m protocol.generate --check
	$(BIN)/python -m tests.tools.answer_types --check

# Without what needs Java, Spark or Go, and what is slow.
QUICK := --cases $(CASES) -m "not java and not spark and not go and not slow"

# The contracts of imports are among the tests of the architecture. In one process each source is
# parsed once.
check-structure:
	$(PYTEST) -q -p no:xdist $(QUICK) tests/architecture --deselect tests/architecture/test_tools.py

check-tests: check-style
	$(BIN)/deno test --no-check --no-config tests/unit/console/static
	$(PYTEST) -q -n $(JOBS) $(QUICK) tests/unit $(ARGS)

test-portable: $(VENV)/.tests-installed ## the unit tests, and types, without what only Linux has, as on macOS
	$(BIN)/mypy --platform darwin --no-warn-unreachable -p broker -p client -p command -p console -p controller -p ground -p log_format -p ottla -p pipeline -p protocol -p simulation -p storage -p testbed
	PYTHONPATH=tests/portable $(PYTEST) -q -n $(JOBS) tests/unit tests/compat/test_portable.py --ignore tests/unit/bench $(ARGS)

sim: $(VENV)/.tests-installed ## a whole cluster, and one broker, in virtual time; SEEDS=1000 for more
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --jobs $(JOBS) $(ARGS)

compat: $(VENV)/.tests-installed ## stock clients, Kafka's tools and Spark against a real broker process
	$(PYTEST) -q -n $(JOBS) --dist loadfile tests/compat tests/golden $(ARGS)

differential: $(VENV)/.tests-installed ## the same requests to Ottla and to an Apache Kafka, answers compared; SEQUENCES=1000
	$(BIN)/python -m tests.differential --jobs 3 --sequences $(SEQUENCES) $(ARGS)

chaos: $(VENV)/.tests-installed ## ten minutes of faults upon three nodes under load; ARGS="--seed N --peer kafka"
	$(BIN)/python -m tests.chaos --seconds 600 $(ARGS)

bench: $(VENV)/.tests-installed ## the same load on Ottla and on Apache Kafka: some 16 minutes; ARGS="--list", ARGS="--scenarios a,b"
	$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.docs-installed ## the pages of docs/ as a site in build/docs, every link checked
	rm -rf build/docs
	$(BIN)/sphinx-build -q -E -W --keep-going -c docs/site -d build/.doctrees . build/docs
	$(BIN)/python docs/site/check.py build/docs
	@echo "open build/docs/index.html"

release: $(VENV)/.release-installed ## build, try on each Python and tag a release, upload nothing; ARGS=--trial without the tag
	@exec $(BIN)/python -m tests.release $(ARGS)

format: $(VENV)/.tests-installed ## rewrite the sources in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/oxfmt $(SCRIPTS) console/types

clean: ## remove what was built; the data folder stays
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +

# A failed venv (Debian without python3-venv) leaves a folder without pip, so the rule removes it.
$(BIN)/python:
	@for candidate in "$(PYTHON)" python3.13 python3.12 python3.11 python3 python; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making $(VENV) with $$("$$candidate" --version)"; \
	    "$$candidate" -m venv $(VENV) && exit; \
	    rm -rf $(VENV); \
	    echo "$$candidate cannot make $(VENV); install what it lacks (on Debian and Ubuntu:" \
	      "apt install python3-venv), and run make again" >&2; exit 1; \
	  fi; \
	done; \
	echo "Python 3.11 or later is needed; name it with PYTHON=/path/to/python3" >&2; exit 1

$(VENV)/.broker-installed: pyproject.toml setup.py | $(BIN)/python
	@echo "installing Ottla into $(VENV): once, some 50 MB, about 15 s"
	$(CHECK_PIP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	$(COMPILE)
	@touch $@
	$(WITH_COMMAND)

$(VENV)/.pipeline-installed: pyproject.toml setup.py | $(BIN)/python
	@echo "installing PySpark and what else the pipeline needs: once, some 450 MB, a minute or two"
	$(CHECK_PIP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[pipeline]'
	$(COMPILE)
	@touch $@ $(VENV)/.broker-installed
	$(WITH_COMMAND)

$(VENV)/.docs-installed: pyproject.toml setup.py | $(BIN)/python
	$(CHECK_PIP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.release-installed: pyproject.toml setup.py | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[release]'
	@touch $@

$(VENV)/.tests-installed: pyproject.toml setup.py | $(BIN)/python
	$(CHECK_PIP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,connect]'
	$(COMPILE)
	@touch $@ $(VENV)/.broker-installed $(VENV)/.pipeline-installed
	$(WITH_COMMAND)
