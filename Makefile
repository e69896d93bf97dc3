PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check oldest newest dist docs notebooks bench audit fuzz mutations reproduce peers engines clean

demo: .venv/.demo
	$(BIN)/python -m pandas_blowfish.demo

SUITE := $(BIN)/python -m pytest -n 2 --dist loadgroup

test: .venv/.test
	@$(BIN)/python .ci/timed.py "ruff check" $(BIN)/ruff check .
	@$(BIN)/python .ci/timed.py "ruff format" $(BIN)/ruff format --check .
	@$(BIN)/python .ci/timed.py "mypy" $(BIN)/mypy
	@$(BIN)/python .ci/timed.py "doctests and tests" $(SUITE) --doctest-modules pandas_blowfish tests

# the inner loop: linters, types and the tests of what most changes touch
check: .venv/.test
	@$(BIN)/python .ci/timed.py "ruff check" $(BIN)/ruff check .
	@$(BIN)/python .ci/timed.py "ruff format" $(BIN)/ruff format --check .
	@$(BIN)/python .ci/timed.py "mypy" $(BIN)/mypy
	@$(BIN)/python .ci/timed.py "fast tests" $(SUITE) -m fast tests

oldest newest:
	$(PYTHON) .ci/environments.py $@ $(ARGS)

dist: .venv/.dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

docs: .venv/.test
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html
	@echo "open docs/_build/html/index.html"

notebooks: .venv/.test
	PYTHONWARNINGS=ignore::FutureWarning $(BIN)/python notebooks/execute.py

bench: .venv/.bench
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/hist.py
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/ranges.py
	$(BIN)/python benchmarks/ranges.py --data --speed
	$(BIN)/python benchmarks/best_known.py
	$(BIN)/python benchmarks/shape_bias.py
	$(BIN)/python benchmarks/marginals.py
	$(BIN)/python benchmarks/boxes.py
	$(BIN)/python benchmarks/workload.py
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/summaries.py
	$(BIN)/python benchmarks/attack.py
	$(BIN)/python benchmarks/pufferfish.py
	$(BIN)/python benchmarks/kmeans.py
	$(BIN)/python benchmarks/kmeans.py --speed --columns --calibrate

audit: .venv/.test
	$(BIN)/python benchmarks/audit.py $(ARGS)

reproduce: .venv/.bench
	$(BIN)/python benchmarks/reproduce.py $(ARGS)

engines: .venv/.bench
	$(BIN)/python benchmarks/engines.py $(ARGS)

fuzz: .venv/.bench
	$(BIN)/python benchmarks/fuzz.py $(ARGS)

mutations: .venv/.test
	$(BIN)/python benchmarks/mutations.py $(ARGS)

peers: .venv/.bench
	$(BIN)/python benchmarks/peers.py $(ARGS)

clean:
	rm -rf .venv .venv-peers .venv-oldest-* .venv-newest-* dist

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@ .venv/.demo

.venv/.dist: .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	touch $@

.venv/.bench: .venv/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,bench]"
	touch $@
