"""Take the pictures of pages in the documentation, with the Chromium on this machine, into ``docs/images``.

Run ``python -m docs.make_screenshots`` at the top of the repository.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from tests.support.chromium import chromium

_OUT = Path(__file__).parent / "images"


def main() -> None:
    """Write the pages and take the pictures."""
    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target_names[data.target])
    batch = ax.Explainer(model, data.data).explain_batch(data.data.iloc[70:90])
    with tempfile.TemporaryDirectory() as folder, chromium() as tab:
        report, explore = Path(folder) / "report.html", Path(folder) / "explore.html"
        ax.write_report(batch[8], report)
        ax.write_explore(batch, explore)
        tab.open(report, width=1100, height=900)
        tab.screenshot(_OUT / "report.png", whole=False)
        tab.open(explore, width=1100, height=1000, dark=True)
        tab.click("#features input", 5)
        tab.run("scrollTo(0, 0)")
        tab.screenshot(_OUT / "explore.png", whole=False)
    for name in ("report", "explore"):
        print(_OUT / f"{name}.png")


if __name__ == "__main__":
    main()
