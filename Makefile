# Everything here needs only Python 3.11 or newer and make. `make demo` and `make test` install what they need.

PYTHON ?= python3
BIN := .venv/bin
# What the programs need, and what the tests need.
RUNTIME := .venv/.runtime
STAMP := .venv/.ready

# Compiled once and not at every start of every process, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test long check bench axelrod fuzz soak games games-short swap honest stress docs clean

# As `python -m venv`, which would answer Ctrl-C with a traceback.
MAKE_VENV := import signal as s, venv; s.signal(s.SIGINT, s.SIG_DFL); venv.create(".venv", symlinks=True, with_pip=True)

setup: $(STAMP)

$(RUNTIME): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "leaguekit needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "This Python cannot make virtual environments: the package python3-venv is missing (apt-get install python3-venv)."; exit 1; }
	@echo "Setting up .venv (once) …"
	@$(PYTHON) -c '$(MAKE_VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(STAMP): $(RUNTIME)
	@echo "Installing what the tests need (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Two leagues: the specification's own game, and a game of skill. In a terminal they are played slowly enough to watch,
# and the page of the second one stays until Ctrl-C.
LEAGUE := $(BIN)/league run --port 0 --data-dir SHARED
demo: $(RUNTIME)
	@if test -t 1; then slow="--announce-lead 4 --move-delay 0.7" stay=--stay; fi; \
	echo "First of two leagues: even/odd, the game of the specification. It is pure luck."; \
	$(LEAGUE) $$slow || exit; \
	printf '\nSecond league: connect four, a game of skill. One of the players looks ahead.\n'; \
	if test -t 1; then sleep 7; fi; \
	$(LEAGUE) --game connect_four --strategies random,history_based,alternating,search $$slow $$stay

# CI adds what measures the coverage. Some tests wait for real processes, so a third one has room beside two.
TEST_OPTIONS ?=
test: setup
	@$(BIN)/python -m pytest -n 3 --dist worksteal $(TEST_OPTIONS)

# What takes too long for `make test`: killed processes, stress. CI leaves the longest out. Then five times as many
# examples of the property tests.
LONG ?= long or longest
long: setup
	@$(BIN)/python -m pytest -n 2 -m "$(LONG)"
	@LEAGUEKIT_HYPOTHESIS=long $(BIN)/python -m pytest -q -n 2 -m hypothesis

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Under ten minutes, QUICK=1 under one; PARTS="league query" measures only those (see benchmarks/__main__.py).
PARTS ?=
bench: setup
	@$(BIN)/python benchmarks $(PARTS)

# A rival for `make bench`, in a place of its own: it needs 600 MB. Newer ones need 6 GB.
axelrod: build/axelrod/bin/python

build/axelrod/bin/python:
	@echo "Installing Axelrod (once, some minutes) …"
	@$(PYTHON) -m venv build/axelrod
	@build/axelrod/bin/python -m pip install --quiet --disable-pip-version-check axelrod==4.13.1 || \
		{ rm -rf build/axelrod; exit 1; }

# OpenSpiel's games, in a place of their own: it needs 280 MB. All figures take some minutes, PLAYTHROUGHS=20 under two.
PLAYTHROUGHS ?= 500
PLUGIN := plugins/openspiel
games: build/openspiel/.ready
	@build/openspiel/bin/python $(PLUGIN)/tests/figures.py $(PLAYTHROUGHS)
	@build/openspiel/bin/python -m pytest -q -n 2 -m "long or not long" $(PLUGIN)/tests/test_hidden.py \
		$(PLUGIN)/tests/test_parameters.py $(PLUGIN)/tests/test_leagues.py
	@$(BIN)/python -m tests.player.llm.answer_figures

# The same in a short form: without long games, and with fewer playthroughs.
games-short: build/openspiel/.ready
	@build/openspiel/bin/python -m pytest -q -n 2 $(PLUGIN)/tests
	@$(BIN)/python -m tests.player.llm.answer_figures

# Beside what is in .venv.
build/openspiel/.ready: $(STAMP) $(PLUGIN)/constraints.txt $(PLUGIN)/pyproject.toml
	@echo "Installing OpenSpiel (once) …"
	@$(BIN)/python -m venv build/openspiel
	@$(BIN)/python -c 'import site; print("import site; site.addsitedir(%r)" % site.getsitepackages()[0])' \
		>"$$(build/openspiel/bin/python -c 'import site; print(site.getsitepackages()[0])')/beside.pth"
	@build/openspiel/bin/python -m pip install --quiet --disable-pip-version-check -c $(PLUGIN)/constraints.txt open_spiel
	@build/openspiel/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e $(PLUGIN)
	@touch $@

fuzz: setup
	@LEAGUEKIT_HYPOTHESIS=fuzz $(BIN)/python -m pytest -q tests/protocol/test_fuzz.py

# Ten thousand sequences of requests to a manager (some ten minutes), then simulated leagues: make soak MINUTES=60
MINUTES ?= 10
soak: setup
	@LEAGUEKIT_HYPOTHESIS=soak $(BIN)/python -m pytest -q tests/manager/test_manager_interface.py
	@$(BIN)/python -m leaguekit.sim --minutes $(MINUTES)

# Every mixture of ours and of agents that were written from the documents alone: some four minutes.
swap: setup
	@$(BIN)/python -m tests.standins.swap

# Real processes, some twenty minutes: a besieged manager, ten thousand registrations, twenty thousand matches, and 30,000
# bodies that are to hold up a program.
stress: setup
	@$(BIN)/python -m tests.stress

# Whether `league simulate` claims what is true: thousands of comparisons, some fifteen minutes. The short form is a test.
honest: setup
	@$(BIN)/python -m tests.sim.comparison.honest

docs: setup
	@$(BIN)/python docs/tables.py

clean:
	rm -rf .venv build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
