"""A raw table as people have it: missing ages, words, an id, free text; and five models that its users would train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.support.shared_data import SHARED

NUMBERS = ["Age", "SibSp", "Parch", "Fare"]
WORDS = ["Pclass", "Sex", "Embarked"]


def passengers() -> pd.DataFrame:
    """Return the Titanic's passengers or, where that table is absent, people made up in its shape."""
    path = SHARED / "data" / "titanic" / "titanic.csv"
    return pd.read_csv(path) if path.exists() else _made_up()


def _made_up(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1912)
    sex, ticket = rng.choice(["male", "female"], n), rng.integers(1, 4, n)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n).astype(float))
    alive = rng.random(n) < 0.15 + 0.5 * (sex == "female") + 0.1 * (3 - ticket)
    return pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Survived": alive.astype(int),
            "Pclass": ticket,
            "Name": [f"Doe, Mx. {k}" for k in range(n)],
            "Sex": sex,
            "Age": age,
            "SibSp": rng.integers(0, 4, n),
            "Parch": rng.integers(0, 3, n),
            "Ticket": [f"T {k // 2}" for k in range(n)],
            "Fare": rng.gamma(2, 15, n).round(4),
            "Cabin": np.where(rng.random(n) < 0.8, None, "C85"),
            "Embarked": np.where(rng.random(n) < 0.01, None, rng.choice(["S", "C", "Q"], n)),
        }
    )


def _columns() -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return ColumnTransformer([("numbers", numbers, NUMBERS), ("words", words, WORDS)])


def xgboost(X: pd.DataFrame, y: pd.Series) -> Any:
    from xgboost import XGBClassifier

    words = X[["Sex", "Embarked"]].astype("category")
    given = X[["Pclass", *NUMBERS]].assign(**words)
    return XGBClassifier(n_estimators=10, max_depth=3, enable_categorical=True, n_jobs=1).fit(given, y)


def logistic(X: pd.DataFrame, y: pd.Series) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_columns(), LogisticRegression()).fit(X, y)


def forest(X: pd.DataFrame, y: pd.Series) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_columns(), RandomForestClassifier(20, max_depth=4, random_state=0)).fit(X, y)


def histograms(X: pd.DataFrame, y: pd.Series) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    boosting = HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=8, random_state=0)
    return make_pipeline(_columns(), boosting).fit(X, y)


def search(X: pd.DataFrame, y: pd.Series) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline

    pipe = Pipeline([("columns", _columns()), ("model", LogisticRegression())])
    return GridSearchCV(pipe, {"model__C": [0.1, 1.0]}, cv=3).fit(X, y)


MODELS: dict[str, Callable[[pd.DataFrame, pd.Series], Any]] = {
    "xgboost": xgboost,
    "logistic": logistic,
    "forest": forest,
    "histograms": histograms,
    "search": search,
}


def saved(name: str, model: Any, folder: Path) -> Path:
    """Save a model as its users would: XGBoost's own JSON, or skops."""
    if name == "xgboost":
        model.save_model(folder / "model.json")
        return folder / "model.json"
    if name == "histograms":  # whose trees skops does not trust: compiled code walks them
        import joblib

        joblib.dump(model, folder / "model.joblib")
        return folder / "model.joblib"
    from skops.io import dump

    dump(model, folder / "model.skops")
    return folder / "model.skops"
