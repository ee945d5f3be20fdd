"""The picture of the front page: its numbers are those that its script computes, and its claim holds."""

from __future__ import annotations

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def front():
    pytest.importorskip("shap")
    spec = importlib.util.spec_from_file_location("make_front", DOCS / "make_front.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_numbers_beside_the_picture_are_those_computed(front) -> None:
    found = front.numbers()
    written = json.loads((DOCS / "_static" / "front.json").read_text())
    assert {key: written[key] for key in found["said"]} == json.loads(json.dumps(found["said"]))
    assert found["shap"]["temperature"] == 0 != found["explanation"].scores("shapley")["temperature"]
    assert found["shap"]["oil"] != 0 == found["explanation"].scores("shapley")["oil"]


@pytest.mark.parametrize("tall", [False, True])
def test_the_picture_draws_them(front, tall: bool) -> None:
    found = front.numbers()
    figure = front.draw(found, tall=tall)
    _, middle, right = figure.axes
    assert [p.get_width() for p in middle.patches] == [float(s) for s in found["shap"].values()]
    assert [Fraction(p.get_width()) for p in right.patches] == list(found["explanation"].scores("shapley").values())
    plt.close(figure)
