"""Exact formal explanations and AxFi feature scores for tractable models.

>>> import axfi_kc as ax
>>> domain = ax.Domain([ax.Integer("age", 18, 90), ax.Categorical("race", ["a", "b", "c"])])
>>> explainer = ax.Explainer(lambda p: p[0] > 60 and p[1] == "b", domain)
>>> explainer.explain({"age": 70, "race": "b"}).scores("shapley")
{'age': Fraction(43, 146), 'race': Fraction(1, 3)}
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import axfi_kc.starting as _starting  # noqa: F401  # the first of all: it looks after Ctrl-C while the rest is imported
from axfi_kc import errors
from axfi_kc._version import __version__
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.files import load_circuit, read_nnf, save_circuit, write_nnf
from axfi_kc.compilers import output_of, read_model, read_onnx, read_xgboost
from axfi_kc.compilers.compiled_model import CompiledModel, compile_model
from axfi_kc.compilers.sizes import compare_sizes
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.constraints import (
    Constraint,
    allowed,
    at_least_one,
    at_most_one,
    check,
    exactly_one,
    feature,
    observed,
)
from axfi_kc.domain.distribution import Distribution, Mixture, Product, States, read_distribution, states_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.domain.measures import Histogram, Uniform, Weights
from axfi_kc.domain.region import Region
from axfi_kc.domain.rules import Rule, load_rules, mine_rules, save_rules
from axfi_kc.errors import AxfiError, AxfiWarning
from axfi_kc.explanations import axioms
from axfi_kc.explanations.among import explain_among
from axfi_kc.explanations.batch import Batch, SavedBatch, read_results
from axfi_kc.explanations.comparison import Comparison, compare
from axfi_kc.explanations.counterfactuals import Counterfactual, find_counterfactual
from axfi_kc.explanations.cxps import (
    AXp,
    CXp,
    covered_points,
    find_axps,
    find_cxps,
    is_waxp,
    is_wcxp,
    relevant_features,
)
from axfi_kc.explanations.explainer import Explainer
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.inflated import Inflated, Values
from axfi_kc.explanations.inspection import Inspection
from axfi_kc.explanations.paxps import PAXp, PAXps
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.radius_path import RadiusPath, radius_path
from axfi_kc.explanations.tables import SavedExplanation
from axfi_kc.models import CircuitModel, TableModel
from axfi_kc.models.support import possible_points
from axfi_kc.scores.axfi import banzhaf_like, shapley_like
from axfi_kc.scores.forest import CXpForest
from axfi_kc.scores.shap.circuits import shap_scores
from axfi_kc.scores.shap.interactions import shap_interactions

if TYPE_CHECKING:
    from axfi_kc.circuits import operations
    from axfi_kc.circuits.exchange import (
        Cnf,
        from_cnf,
        from_dd,
        from_expression,
        from_networkx,
        from_pysdd,
        from_truth_table,
    )
    from axfi_kc.circuits.files.clause_compilers import CountAnswer, compile_cnf, count_models
    from axfi_kc.circuits.files.counting_problems import CountingProblem, read_counting_problem
    from axfi_kc.circuits.files.psdd import read_psdd
    from axfi_kc.circuits.implicants import Implicants, prime_implicants
    from axfi_kc.circuits.information import divergence, entropy, mutual_information
    from axfi_kc.circuits.psdd_pairs import psdd_given, psdd_product
    from axfi_kc.compilers.size_study import SizeStudy, size_study
    from axfi_kc.domain.network_files import read_network
    from axfi_kc.engines.circuit.relevance import Relevance, relevance
    from axfi_kc.explanations.example_circuits import ExampleCircuit
    from axfi_kc.explanations.page import explore_html, report_html, write_explore, write_report
    from axfi_kc.explanations.sensitivity import Fairness, Robustness, Sensitivity, fairness, robustness, sensitivity
    from axfi_kc.scores.expectation import expectation
    from axfi_kc.verification import Report, verify

# What few people need, and takes a while to import, is imported on sight.
_ON_SIGHT = {
    "Cnf": "axfi_kc.circuits.exchange",
    "from_cnf": "axfi_kc.circuits.exchange",
    "from_dd": "axfi_kc.circuits.exchange",
    "from_expression": "axfi_kc.circuits.exchange",
    "from_networkx": "axfi_kc.circuits.exchange",
    "from_pysdd": "axfi_kc.circuits.exchange",
    "from_truth_table": "axfi_kc.circuits.exchange",
    "Implicants": "axfi_kc.circuits.implicants",
    "prime_implicants": "axfi_kc.circuits.implicants",
    "operations": "axfi_kc.circuits",
    "compile_cnf": "axfi_kc.circuits.files.clause_compilers",
    "count_models": "axfi_kc.circuits.files.clause_compilers",
    "CountAnswer": "axfi_kc.circuits.files.clause_compilers",
    "CountingProblem": "axfi_kc.circuits.files.counting_problems",
    "read_counting_problem": "axfi_kc.circuits.files.counting_problems",
    "entropy": "axfi_kc.circuits.information",
    "divergence": "axfi_kc.circuits.information",
    "mutual_information": "axfi_kc.circuits.information",
    "psdd_product": "axfi_kc.circuits.psdd_pairs",
    "psdd_given": "axfi_kc.circuits.psdd_pairs",
    "expectation": "axfi_kc.scores.expectation",
    "relevance": "axfi_kc.engines.circuit.relevance",
    "Relevance": "axfi_kc.engines.circuit.relevance",
    "size_study": "axfi_kc.compilers.size_study",
    "SizeStudy": "axfi_kc.compilers.size_study",
    "ExampleCircuit": "axfi_kc.explanations.example_circuits",
    "explore_html": "axfi_kc.explanations.page",
    "report_html": "axfi_kc.explanations.page",
    "write_explore": "axfi_kc.explanations.page",
    "write_report": "axfi_kc.explanations.page",
    "read_psdd": "axfi_kc.circuits.files.psdd",
    "read_network": "axfi_kc.domain.network_files",
    "Fairness": "axfi_kc.explanations.sensitivity",
    "Robustness": "axfi_kc.explanations.sensitivity",
    "Sensitivity": "axfi_kc.explanations.sensitivity",
    "fairness": "axfi_kc.explanations.sensitivity",
    "robustness": "axfi_kc.explanations.sensitivity",
    "sensitivity": "axfi_kc.explanations.sensitivity",
    "Report": "axfi_kc.verification",
    "verify": "axfi_kc.verification",
}


def __getattr__(name: str) -> object:
    if name in _OLD_PATHS:
        return import_module(_OLD_PATHS[name])
    if name not in _ON_SIGHT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_ON_SIGHT[name])
    found: object = getattr(module, name, None) or import_module(f"{module.__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_SIGHT})


# Paths that the documentation named before the rooms were built: the same modules under their old names.
_OLD_PATHS = {
    "circuit": "axfi_kc.circuits.circuit",
    "family_scores": "axfi_kc.scores.family_indices",
    "formats": "axfi_kc.circuits.files",
    "grid": "axfi_kc.domain.grid",
    "queries": "axfi_kc.circuits.queries",
    "report": "axfi_kc.explanations.page",
    "shap_circuits": "axfi_kc.scores.shap.circuits",
    "targets": "axfi_kc.circuits.targets",
}


class _OldPath(ModuleType):
    """A module under its old name, which is no package: what is inside has one path only, the new one."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, f"The module {path} under an old name.")
        self._path = path

    def __getattr__(self, name: str) -> object:
        if name == "__path__":
            raise AttributeError(name)
        return getattr(import_module(self._path), name)


sys.modules.update({(path := f"{__name__}.{old}"): _OldPath(path, module) for old, module in _OLD_PATHS.items()})

__all__ = [
    "AXp",
    "AxfiError",
    "AxfiWarning",
    "Batch",
    "BayesianNetwork",
    "Budget",
    "CXp",
    "CXpForest",
    "Categorical",
    "ChowLiu",
    "CircuitModel",
    "Cnf",
    "Comparison",
    "CompiledModel",
    "Constraint",
    "CountAnswer",
    "Counterfactual",
    "CountingProblem",
    "Distribution",
    "Domain",
    "ExampleCircuit",
    "Explainer",
    "Explanation",
    "Fairness",
    "Histogram",
    "Implicants",
    "Inflated",
    "Inspection",
    "Integer",
    "Mixture",
    "PAXp",
    "PAXps",
    "Problem",
    "Product",
    "RadiusPath",
    "Real",
    "Region",
    "Relevance",
    "Report",
    "Robustness",
    "Rule",
    "SavedBatch",
    "SavedExplanation",
    "Sensitivity",
    "SizeStudy",
    "States",
    "TableModel",
    "Uniform",
    "Values",
    "Weights",
    "__version__",
    "allowed",
    "at_least_one",
    "at_most_one",
    "axioms",
    "banzhaf_like",
    "check",
    "compare",
    "compare_sizes",
    "compile_cnf",
    "compile_model",
    "count_models",
    "covered_points",
    "divergence",
    "entropy",
    "errors",
    "exactly_one",
    "expectation",
    "explain_among",
    "explore_html",
    "fairness",
    "feature",
    "find_axps",
    "find_counterfactual",
    "find_cxps",
    "from_cnf",
    "from_dd",
    "from_expression",
    "from_networkx",
    "from_pysdd",
    "from_truth_table",
    "is_waxp",
    "is_wcxp",
    "load_circuit",
    "load_rules",
    "mine_rules",
    "mutual_information",
    "observed",
    "operations",
    "output_of",
    "possible_points",
    "prime_implicants",
    "psdd_given",
    "psdd_product",
    "queries",
    "radius_path",
    "read_counting_problem",
    "read_distribution",
    "read_model",
    "read_network",
    "read_nnf",
    "read_onnx",
    "read_psdd",
    "read_results",
    "read_xgboost",
    "relevance",
    "relevant_features",
    "report_html",
    "robustness",
    "save_circuit",
    "save_rules",
    "sensitivity",
    "shap_interactions",
    "shap_scores",
    "shapley_like",
    "size_study",
    "states_of",
    "verify",
    "write_explore",
    "write_nnf",
    "write_report",
]
