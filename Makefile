# Everything a fresh machine needs: Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo

.PHONY: demo test quick lint types layers unit dist docs paper same test-slow test-orange versions benchmarks clean

# What the demo imports; where everything is installed, that will do.
demo: $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO))
	$(BIN)/axfi-kc demo

test: lint types layers docs unit

# A verdict within a minute: all checks, and of every room the tests that take the least.
QUICK := circuits domain models \
  families/test_masks.py families/test_weighted_dag.py \
  compilers/test_checks.py compilers/test_compiled_model.py compilers/test_ubjson.py \
  engines/test_boxes.py engines/test_circuit_search.py engines/test_engines.py engines/test_ensemble_layout.py \
  engines/test_ensemble_search.py engines/test_found.py engines/test_per_output.py \
  scores/test_axfi.py scores/test_forest.py scores/test_power_indices.py scores/test_shap_margins.py \
  explanations/test_comparison.py explanations/test_domain_document.py explanations/test_explainer.py \
  explanations/test_notebook_html.py explanations/test_page.py \
  verification/test_columns.py verification/test_definitions.py verification/test_linear_proofs.py \
  verification/test_spaces.py cli/test_explain.py cli/test_text.py paper/test_paper.py test_errors.py test_json_text.py
quick: lint layers types
	$(BIN)/python -m pytest -q -n 2 --maxfail 5 -m "not slow and not orange" $(addprefix tests/,$(QUICK))

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow and not orange"

# A source archive and, from it, a wheel.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build

# Warnings are errors.
docs: $(STAMP)
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "slow"

# Orange3 brings Qt and over a gigabyte, so it has an environment of its own.
test-orange: .venv-orange/.installed
	QT_QPA_PLATFORM=offscreen .venv-orange/bin/python -m pytest -m orange tests

# The lowest and the newest dependencies, on this Python: make versions VERSIONS="3.11 3.12 3.13"
VERSIONS ?= $(PYTHON)
versions:
	$(PYTHON) .ci/versions --python $(VERSIONS)

# The same answers as an older commit, value by value: make same AGAINST=COMMIT PROBLEMS=10000
AGAINST ?= cbf8746
PROBLEMS ?= 300
same: $(STAMP)
	$(BIN)/python benchmarks/same_answers.py --against $(AGAINST) --problems $(PROBLEMS)

benchmarks: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable ".[benchmarks]"
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/boosted.py
	$(BIN)/python benchmarks/references.py
	$(BIN)/python benchmarks/linear.py
	$(BIN)/python benchmarks/circuits.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/possible.py
	$(BIN)/python benchmarks/distributions.py
	$(BIN)/python benchmarks/among.py
	$(BIN)/python benchmarks/counterfactuals.py
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/own_predict.py
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/sensitivity.py
	$(BIN)/python benchmarks/workbench.py
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/interactions.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/exchange.py
	$(BIN)/python benchmarks/radii.py
	$(BIN)/python benchmarks/building.py
	$(BIN)/python benchmarks/linear_covers.py

# The paper's tables and figures, with the trees of Orange3 as in the paper: an environment of its own.
paper: .venv-paper/.installed
	QT_QPA_PLATFORM=offscreen .venv-paper/bin/python -m benchmarks.paper

.venv-paper/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-paper
	.venv-paper/bin/python -m pip install --quiet --upgrade pip
	.venv-paper/bin/python -m pip install --quiet --editable ".[benchmarks,orange]"
	touch $@

$(DEMO): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	touch $@

# With LOCKED=1, as in CI, the very files of .ci/lock.txt, by their hashes; `.ci/lock` writes it anew.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
ifdef LOCKED
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .ci/lock.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
else
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
endif
	touch $@

.venv-orange/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-orange
	.venv-orange/bin/python -m pip install --quiet --upgrade pip
	.venv-orange/bin/python -m pip install --quiet --editable ".[dev,orange]"
	touch $@

clean:
	rm -rf $(VENV) .venv-orange .venv-paper docs/_build docs/gallery build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
