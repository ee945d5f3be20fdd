"""pgmpy's networks as classifiers: naive Bayes, and any discrete network whose one other variable is the class.

pgmpy predicts what a table leaves out, the most probable state of it, and of equally probable ones the first. It
multiplies and adds floats; the classes are compared exactly here.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
from pgmpy import config
from pgmpy.models import DiscreteBayesianNetwork

from axfi_kc.compilers.readers import reads
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.network_objects import network_of
from axfi_kc.domain.network_variables import states_for
from axfi_kc.models.bayes_classifier import BayesClassifier
from axfi_kc.models.own_predict import Codes, Predict, column_names, compares, predicts

__all__: list[str] = []


@reads(DiscreteBayesianNetwork)
def _network(model: Any, domain: Domain) -> BayesClassifier:
    return BayesClassifier.of_network(network_of(model), domain)


@compares(DiscreteBayesianNetwork)
@predicts(DiscreteBayesianNetwork)
def _predictor(model: Any, domain: Domain) -> Predict:
    network = network_of(model)
    goal = next(name for name in ([network.output] if network.output else network.names) if name not in domain.names)
    variables = [network.variables[network.index(f.name)] for f in domain.features]
    pairs = [states_for(v, f, partly=True) for v, f in zip(variables, domain.features, strict=True)]
    node = next(n for n in model.nodes() if str(n) == goal)

    with warnings.catch_warnings():
        # What its inference imports warns of its own future, which is no matter of ours.
        warnings.simplefilter("ignore", FutureWarning)
        importlib.import_module("pgmpy.inference")

    # The predict of its NaiveBayes fails on a name of its own; the same tables in a plain network predict.
    plain = DiscreteBayesianNetwork(list(model.edges()))
    plain.add_nodes_from(model.nodes())
    plain.add_cpds(*model.get_cpds())

    def predict(codes: Codes) -> list[Any]:
        columns = {}
        for i, (variable, (states, turned)) in enumerate(zip(variables, pairs, strict=True)):
            located = states.locate(codes[:, i], domain.features[i]).tolist()
            columns[variable.name] = [variable.states[turned[k]] for k in located]
        with _quiet():
            return plain.predict(pd.DataFrame(columns), n_jobs=1)[node].tolist()

    return predict


@contextmanager
def _quiet() -> Iterator[None]:
    """Let pgmpy draw no bar of its progress meanwhile."""
    shown = config.get_show_progress()
    config.set_show_progress(False)
    try:
        yield
    finally:
        config.set_show_progress(shown)


@column_names.register
def _columns(model: DiscreteBayesianNetwork) -> tuple[str, ...] | None:
    return None  # any variable may be a feature, or left out
