# Every target sets itself up in .venv, from a fresh clone with only Python and pip on the machine.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint bench clean

demo: .venv/.installed
	$(BIN)/kernode fit cora

test: .venv/.tested lint
	$(BIN)/python -m pytest -n 2

test-slow: .venv/.tested
	$(BIN)/python -m pytest -m slow

lint: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.benched
	$(BIN)/python benchmarks/epoch.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/.tested: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

.venv/.benched: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
