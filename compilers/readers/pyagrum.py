"""pyAgrum's networks as classifiers: ``BNClassifier``, and any ``BayesNet`` whose one other variable is the class.

A classifier of two classes takes one of them, its label, where its probability, rounded to so many digits, is not below
a threshold. Of several, or without a label, it takes the most probable one, and of equally probable ones the first.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from pyagrum import BayesNet, LazyPropagation
from pyagrum.skbn import BNClassifier

from axfi_kc.compilers.readers import plain_labels, reads
from axfi_kc.compilers.readers.sklearn_trees import check_fitted
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.network_objects import network_of
from axfi_kc.models.bayes_classifier import BayesClassifier
from axfi_kc.models.own_predict import Codes, Predict, column_names, compares, predicts

__all__: list[str] = []


@reads(BayesNet)
def _network(model: Any, domain: Domain) -> BayesClassifier:
    return BayesClassifier.of_network(network_of(model), domain)


@reads(BNClassifier)
def _classifier(model: Any, domain: Domain) -> BayesClassifier:
    check_fitted(model, "MarkovBlanket_")
    # Only what surrounds the class in the network takes part; other features multiply all classes alike.
    network = network_of(model.bn_).with_output(model.target_)
    labels, texts = _labels(model), list(network.variables[network.index(model.target_)].states)
    if len(labels) != 2 or not model.label_:
        return BayesClassifier.of_network(network, domain, labels=labels)
    favoured = texts.index(str(model.label_))
    return BayesClassifier.of_network(network, domain, labels=labels, threshold=(favoured, _threshold(model)))


def _labels(model: Any) -> tuple[Any, ...]:
    """Return what its ``predict`` says for each state of the class."""
    states = [model.bn_.variable(model.target_).label(k) for k in range(len(model.classes_))]
    kind = model.targetType_
    if not model.fromModel_ and kind == "bool":
        return tuple(state == "True" for state in states)
    if np.issubdtype(kind, np.number):
        numbers = np.array(states).astype(kind if model.fromModel_ else float)
        return plain_labels(numbers)
    if model.fromModel_ and model.label_ != "":
        return tuple(state == model.label_ for state in states)
    return tuple(states)


def _threshold(model: Any) -> Fraction:
    """Return the least probability that, rounded, is not below the classifier's threshold."""
    scale = 10**model.significant_digit
    least = math.ceil(Fraction(model.threshold_) * scale)  # what it must round to, in units of the last digit
    # What is rounded is a float again, which may reach a threshold that lies above the decimal itself.
    least -= float(Fraction(least - 1, scale)) >= model.threshold_
    # Halves round to even; as a float no probability lies exactly on one but by chance.
    return min(max(Fraction(2 * least - 1, 2 * scale), Fraction(0)), Fraction(1))


@compares(BNClassifier)
@predicts(BNClassifier)
def _classifier_predictor(model: Any, domain: Domain) -> Predict:
    def predict(codes: Codes) -> list[Any]:
        return np.asarray(model.predict(_frame(domain, codes))).tolist()

    return predict


@compares(BayesNet)
@predicts(BayesNet)
def _network_predictor(model: Any, domain: Domain) -> Predict:
    goal = next(name for name in model.names() if name not in domain.names)
    labels = model.variable(goal).labels()

    def predict(codes: Codes) -> list[Any]:
        asked, found = LazyPropagation(model), []
        asked.addTarget(goal)
        for row in _frame(domain, codes).to_dict("records"):
            asked.setEvidence({name: str(value) for name, value in row.items()})
            asked.makeInference()
            found.append(labels[int(np.argmax(asked.posterior(goal).toarray()))])
        return found

    return predict


def _frame(domain: Domain, codes: Codes) -> Any:
    """Return points by their features' own values: pyAgrum knows states by their texts, and bins by numbers."""
    rows = [domain.decode(row) for row in codes]
    return pd.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(domain.names)})


@column_names.register
def _columns(model: BNClassifier) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))
