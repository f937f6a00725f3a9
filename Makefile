# Every target sets itself up in .venv, from a fresh clone with only Python and pip on the machine.
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of processes: what these import is compiled once, whatever the shell has set.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test run-tests test-slow test-wheel coverage mutants fuzz lint docs dist reproduce bench bench-check bench-results clean

demo: .venv/.installed
	$(BIN)/kernode fit cora

# What is looked at and what is run, at the same time.
test: .venv/.tested
	$(MAKE) --no-print-directory -j 2 lint run-tests

run-tests: .venv/.tested
	$(BIN)/python -m pytest -n 2

test-slow: .venv/.tested
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile --no-loadscope-reorder

# The wheel in an empty environment, and the tests outside the checkout.
test-wheel: dist
	$(BIN)/python scripts/try_wheel.py dist/*.whl

# The sdist and the wheel, their contents checked.
dist: .venv/.tested
	$(BIN)/python scripts/build_release.py dist

# Coverage-guided, a minute for each reader; finds are left in fuzz-finds/. Not part of the tests.
fuzz: .venv/.fuzzed
	$(BIN)/python scripts/fuzz_readers.py

# Which lines of src/kernode the tests run, in every process that they start; fails below 95 %. Lines that need a GPU do
# not count. The slow tests take part that run what the others leave out.
coverage: .venv/.tested
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2
	$(BIN)/coverage run -m pytest -m slow -n 2 --dist loadfile --no-loadscope-reorder tests/ranks tests/search tests/viz tests/cli
	$(BIN)/coverage combine
	$(BIN)/coverage report

# How many of 200 small faults the tests see.
mutants: .venv/.tested
	$(BIN)/python scripts/mutants.py
	$(BIN)/python scripts/write_tables.py

lint: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tables and the picture of the rooms from what they are about, then the site, to be read from site/index.html.
# A broken link or anchor fails.
docs: .venv/.tested
	$(BIN)/python scripts/write_tables.py
	$(BIN)/python scripts/draw_rooms.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	$(BIN)/python -m pytest tests/docs

# Runs what is not stored yet, draws the figures, and writes the tables of the documents.
reproduce: .venv/.benched
	$(BIN)/python -m experiments reproduce --results results --pictures docs/images
	$(BIN)/python scripts/write_tables.py

bench: .venv/.benched
	$(BIN)/python -m experiments bench step replicas memory

bench-check: .venv/.benched
	$(BIN)/python -m experiments bench step replicas --check results

bench-results: .venv/.benched
	$(BIN)/python -m experiments bench step scale replicas memory complexity --results results
	$(BIN)/python scripts/plot_scaling.py
	$(BIN)/python scripts/write_tables.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/.tested: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

.venv/.fuzzed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	touch $@

.venv/.benched: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
