"""Models trained on data that come with scikit-learn."""

from __future__ import annotations

from typing import Any


def boosted(data: str, *, n_estimators: int = 20, max_depth: int = 3) -> tuple[Any, Any]:
    from sklearn import datasets, ensemble

    X, y = getattr(datasets, f"load_{data}")(as_frame=True, return_X_y=True)
    model = ensemble.GradientBoostingClassifier(n_estimators=n_estimators, max_depth=max_depth, random_state=0)
    return model.fit(X, y), X
