"""The paper's models, trained again: a seeded split of four to one, 50 instances of the smaller part.

Trees come from Orange3 where it is installed, as in the paper, else from scikit-learn; the paper does
not say how deep its trees are, here they have depth 8 at most. Boosted trees come from XGBoost, 20 of
depth 3 per class, and logistic regressions from scikit-learn, on standardised columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers import read_model
from axfi_kc.domain.domain import Domain
from axfi_kc.explanations.explainer import Explainer
from axfi_kc.models import Argmax, Model, TreeSum, relabelled
from benchmarks.paper.data_sets import DataSet

__all__ = ["DEPTH", "Trained", "train"]


DEPTH = 8
_TREES, _BOOSTED_DEPTH = 20, 3
_BACKGROUND = 100


@dataclass(frozen=True, eq=False)
class Trained:
    """A model with all that the study asks of it.

    Attributes
    ----------
    data
        What it was trained on.
    model
        As its library has it.
    form
        Its neutral form.
    domain
        The bounded space, uniform.
    instances
        The test instances, a DataFrame that explainers take.
    codes
        The same as the numbers that `predict` takes.
    background
        Such numbers of training rows, for explainers that need some.
    predict
        From rows of numbers to numbers: classes by their position, or outputs of a regression.
    trainer
        The library, and its settings.
    quality
        Accuracy on the test part, or R squared of a regression.
    names_categories
        Whether the domain has categories as strings, as Orange does.
    """

    data: DataSet
    model: Any
    form: Model
    domain: Domain
    instances: Any
    codes: npt.NDArray[np.float64]
    background: npt.NDArray[np.float64]
    predict: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]] = field(repr=False)
    trainer: str
    quality: float
    names_categories: bool = False

    def row(self, values: Sequence[Any]) -> Any:
        """Return one instance, given by the numbers of the data set, as explainers take it."""
        row = self.data.X.iloc[:1].copy()
        row.iloc[0] = values
        return _named(row, self.data) if self.names_categories else row

    @property
    def function(self) -> Model:
        """The function whose mean SHAP scores share out: class numbers of a tree, else the model's own scores."""
        if self.data.family != "tree" or not isinstance(self.form, TreeSum) or not isinstance(self.form.rule, Argmax):
            return self.form
        return relabelled(self.form, {label: k for k, label in enumerate(self.form.rule.labels)})

    def explainer(self, **options: Any) -> Explainer:
        """Return an explainer of this model."""
        return Explainer(self.form, self.domain, delta=self.data.delta, **options)

    @property
    def description(self) -> dict[str, Any]:
        """What to say about the model in a table."""
        found: dict[str, Any] = {
            "data": self.data.name,
            "source": self.data.source,
            "rows": len(self.data.X),
            "features": len(self.domain),
            "trainer": self.trainer,
            "quality": self.quality,
            "instances": len(self.instances),
        }
        if isinstance(self.form, TreeSum):
            found["trees"] = self.form.n_trees
            found["leaves"] = int((self.form.feature < 0).sum())
        return found


def train(data: DataSet, *, seed: int, instances: int) -> Trained:
    """Train the paper's model of a data set.

    Parameters
    ----------
    data
        From :func:`benchmarks.paper.data_sets.load`.
    seed
        Of the split, the choice of instances and the training.
    instances
        How many test instances to keep.
    """
    from sklearn.model_selection import train_test_split

    rows, held_back, targets, held_back_targets = train_test_split(data.X, data.y, test_size=0.2, random_state=seed)
    parts = _Parts(rows, held_back, targets, held_back_targets, seed)
    chosen = parts.held_back.sample(min(instances, len(parts.held_back)), random_state=seed)
    if data.family == "boosted":
        return _boosted(data, parts, chosen)
    if data.family == "linear":
        return _linear(data, parts, chosen)
    return _orange_tree(data, parts, chosen) if find_spec("Orange") else _scikit_tree(data, parts, chosen)


@dataclass(frozen=True, eq=False)
class _Parts:
    rows: Any
    held_back: Any
    targets: Any
    held_back_targets: Any
    seed: int

    @property
    def background(self) -> Any:
        """Some training rows."""
        return self.rows.sample(min(_BACKGROUND, len(self.rows)), random_state=self.seed)


def _scikit(data: DataSet, parts: _Parts, chosen: Any, model: Any, domain: Domain, trainer: str) -> Trained:
    fitted = model.fit(parts.rows.to_numpy(), parts.targets.to_numpy())
    return Trained(
        data=data,
        model=fitted,
        form=read_model(fitted, domain),
        domain=domain,
        instances=chosen,
        codes=chosen.to_numpy(dtype=np.float64),
        background=parts.background.to_numpy(dtype=np.float64),
        predict=lambda rows: np.asarray(fitted.predict(rows), dtype=np.float64),
        trainer=trainer,
        quality=float(fitted.score(parts.held_back.to_numpy(), parts.held_back_targets.to_numpy())),
    )


def _scikit_tree(data: DataSet, parts: _Parts, chosen: Any) -> Trained:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
    domain = Domain.from_data(data.X, categorical=data.categorical)
    trainer = f"scikit-learn, one tree, depth at most {DEPTH}"
    return _scikit(data, parts, chosen, kind(max_depth=DEPTH, random_state=parts.seed), domain, trainer)


def _boosted(data: DataSet, parts: _Parts, chosen: Any) -> Trained:
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=_TREES, max_depth=_BOOSTED_DEPTH, n_jobs=1, random_state=parts.seed)
    domain = Domain.from_data(data.X, real=list(data.X.columns))
    trainer = f"XGBoost, {_TREES} trees of depth {_BOOSTED_DEPTH} per class"
    return _scikit(data, parts, chosen, model, domain, trainer)


def _linear(data: DataSet, parts: _Parts, chosen: Any) -> Trained:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    domain = Domain.from_data(data.X, real=list(data.X.columns))
    return _scikit(data, parts, chosen, model, domain, "scikit-learn, logistic regression on standardised columns")


def _orange_tree(data: DataSet, parts: _Parts, chosen: Any) -> Trained:
    import Orange.classification
    import Orange.regression

    from axfi_kc.compilers.readers.orange import domain_of

    kind = Orange.classification if data.delta is None else Orange.regression
    space = _orange_space(data)
    whole, train_part, test_part = (
        _orange_table(space, X, y)
        for X, y in ((data.X, data.y), (parts.rows, parts.targets), (parts.held_back, parts.held_back_targets))
    )
    model = kind.TreeLearner(max_depth=DEPTH)(train_part)
    domain = domain_of(whole)
    found = np.asarray(model(test_part.X), dtype=np.float64)
    if data.delta is None:
        quality = float((found == test_part.Y).mean())
    else:
        quality = 1 - float(((found - test_part.Y) ** 2).sum() / ((test_part.Y - test_part.Y.mean()) ** 2).sum())
    codes = _orange_codes(space, chosen)
    return Trained(
        data=data,
        model=model,
        form=read_model(model, domain),
        domain=domain,
        instances=_named(chosen, data),
        codes=codes,
        background=_orange_codes(space, parts.background),
        predict=lambda rows: np.asarray(model(rows), dtype=np.float64),
        trainer=f"Orange3, one tree, depth at most {DEPTH}",
        quality=quality,
        names_categories=True,
    )


def _named(X: Any, data: DataSet) -> Any:
    """Return rows with categories by name, as Orange's attributes have them."""
    return X.astype(dict.fromkeys(data.categorical, str))


def _orange_space(data: DataSet) -> Any:
    from Orange.data import ContinuousVariable, DiscreteVariable
    from Orange.data import Domain as Space

    def variable(name: str, column: Any, *, discrete: bool) -> Any:
        if not discrete:
            return ContinuousVariable(name)
        return DiscreteVariable(name, values=tuple(str(v) for v in sorted(column.unique())))

    attributes = [variable(str(c), data.X[c], discrete=c in data.categorical) for c in data.X.columns]
    return Space(attributes, variable("target", data.y, discrete=data.delta is None))


def _orange_codes(space: Any, X: Any) -> npt.NDArray[np.float64]:
    columns = [
        [a.values.index(str(v)) for v in X[a.name]] if a.is_discrete else X[a.name].to_numpy(dtype=np.float64)
        for a in space.attributes
    ]
    return np.column_stack(columns).astype(np.float64)


def _orange_table(space: Any, X: Any, y: Any) -> Any:
    from Orange.data import Table

    target = space.class_var
    numbers = [target.values.index(str(v)) for v in y] if target.is_discrete else y.to_numpy(dtype=np.float64)
    return Table.from_numpy(space, _orange_codes(space, X), np.array(numbers, dtype=np.float64))
