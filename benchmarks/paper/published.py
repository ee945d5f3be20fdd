"""What the paper reports, to be put next to what is measured here.

"Rigorous Feature Importance Scores based on Shapley Value and Banzhaf Index" (Huang, Letoffe,
Marques-Silva): the table of run times and the three tables of rank-biased overlaps.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OVERLAPS", "PAIRS", "SECONDS", "Seconds"]


class Seconds(NamedTuple):
    """Mean seconds per instance, on the authors' machine."""

    wffa: float
    axfi: float
    shap: float


SECONDS = {
    "adult": Seconds(0.020, 0.006, 26.251),
    "compas": Seconds(0.013, 0.004, 4.875),
    "recidivism": Seconds(0.039, 0.009, 25.979),
    "auto-mpg": Seconds(0.003, 0.002, 1.506),
    "boston": Seconds(0.004, 0.002, 17.383),
    "diabetes": Seconds(0.846, 0.969, 0.001),
    "vehicle": Seconds(432.669, 492.592, 0.001),
    "wine": Seconds(0.457, 0.473, 0.001),
    "openstack": Seconds(0.049, 0.262, 0.017),
    "qt": Seconds(0.053, 0.324, 0.022),
}

PAIRS = (
    ("shapley", "banzhaf"),
    ("shapley", "wffa"),
    ("shapley", "shap"),
    ("shapley", "abs(shap)"),
    ("banzhaf", "wffa"),
    ("banzhaf", "shap"),
    ("banzhaf", "abs(shap)"),
    ("wffa", "shap"),
    ("wffa", "abs(shap)"),
)

# For each data set a row per pair, in the order above: least, largest and mean overlap of 50 instances.
OVERLAPS = {
    "adult": (
        (0.79, 0.97, 0.96),  # shapley-banzhaf
        (0.1, 0.97, 0.57),  # shapley-wffa
        (0.0, 0.32, 0.17),  # shapley-shap
        (0.03, 0.96, 0.3),  # shapley-abs(shap)
        (0.1, 0.97, 0.58),  # banzhaf-wffa
        (0.0, 0.32, 0.16),  # banzhaf-shap
        (0.03, 0.96, 0.3),  # banzhaf-abs(shap)
        (0.0, 0.82, 0.25),  # wffa-shap
        (0.05, 0.88, 0.3),  # wffa-abs(shap)
    ),
    "compas": (
        (0.93, 0.97, 0.97),  # shapley-banzhaf
        (0.22, 0.97, 0.72),  # shapley-wffa
        (0.0, 0.95, 0.26),  # shapley-shap
        (0.22, 0.97, 0.59),  # shapley-abs(shap)
        (0.22, 0.97, 0.72),  # banzhaf-wffa
        (0.0, 0.95, 0.26),  # banzhaf-shap
        (0.22, 0.97, 0.59),  # banzhaf-abs(shap)
        (0.0, 0.91, 0.4),  # wffa-shap
        (0.18, 0.95, 0.7),  # wffa-abs(shap)
    ),
    "recidivism": (
        (0.92, 0.97, 0.97),  # shapley-banzhaf
        (0.26, 0.97, 0.75),  # shapley-wffa
        (0.0, 0.96, 0.31),  # shapley-shap
        (0.1, 0.95, 0.56),  # shapley-abs(shap)
        (0.26, 0.97, 0.75),  # banzhaf-wffa
        (0.0, 0.96, 0.31),  # banzhaf-shap
        (0.1, 0.95, 0.56),  # banzhaf-abs(shap)
        (0.0, 0.96, 0.31),  # wffa-shap
        (0.1, 0.95, 0.48),  # wffa-abs(shap)
    ),
    "auto-mpg": (
        (0.97, 0.97, 0.97),  # shapley-banzhaf
        (0.12, 0.8, 0.33),  # shapley-wffa
        (0.03, 0.95, 0.29),  # shapley-shap
        (0.12, 0.95, 0.33),  # shapley-abs(shap)
        (0.12, 0.8, 0.33),  # banzhaf-wffa
        (0.03, 0.95, 0.29),  # banzhaf-shap
        (0.12, 0.95, 0.33),  # banzhaf-abs(shap)
        (0.03, 0.95, 0.33),  # wffa-shap
        (0.06, 0.97, 0.52),  # wffa-abs(shap)
    ),
    "boston": (
        (0.97, 0.97, 0.97),  # shapley-banzhaf
        (0.1, 0.97, 0.57),  # shapley-wffa
        (0.0, 0.9, 0.49),  # shapley-shap
        (0.11, 0.96, 0.38),  # shapley-abs(shap)
        (0.1, 0.97, 0.57),  # banzhaf-wffa
        (0.0, 0.9, 0.49),  # banzhaf-shap
        (0.11, 0.96, 0.38),  # banzhaf-abs(shap)
        (0.0, 0.78, 0.27),  # wffa-shap
        (0.09, 0.91, 0.38),  # wffa-abs(shap)
    ),
    "diabetes": (
        (0.47, 0.97, 0.95),  # shapley-banzhaf
        (0.1, 0.97, 0.7),  # shapley-wffa
        (0.01, 0.95, 0.31),  # shapley-shap
        (0.1, 0.96, 0.64),  # shapley-abs(shap)
        (0.1, 0.97, 0.71),  # banzhaf-wffa
        (0.01, 0.95, 0.31),  # banzhaf-shap
        (0.1, 0.96, 0.65),  # banzhaf-abs(shap)
        (0.01, 0.95, 0.37),  # wffa-shap
        (0.09, 0.96, 0.62),  # wffa-abs(shap)
    ),
    "vehicle": (
        (0.09, 0.97, 0.83),  # shapley-banzhaf
        (0.01, 0.9, 0.18),  # shapley-wffa
        (0.01, 0.95, 0.37),  # shapley-shap
        (0.0, 0.95, 0.36),  # shapley-abs(shap)
        (0.01, 0.76, 0.21),  # banzhaf-wffa
        (0.01, 0.95, 0.41),  # banzhaf-shap
        (0.0, 0.95, 0.4),  # banzhaf-abs(shap)
        (0.0, 0.91, 0.3),  # wffa-shap
        (0.0, 0.91, 0.3),  # wffa-abs(shap)
    ),
    "wine": (
        (0.79, 0.97, 0.97),  # shapley-banzhaf
        (0.0, 0.28, 0.08),  # shapley-wffa
        (0.01, 0.69, 0.11),  # shapley-shap
        (0.02, 0.69, 0.11),  # shapley-abs(shap)
        (0.0, 0.28, 0.08),  # banzhaf-wffa
        (0.01, 0.69, 0.11),  # banzhaf-shap
        (0.02, 0.69, 0.11),  # banzhaf-abs(shap)
        (0.01, 0.22, 0.07),  # wffa-shap
        (0.01, 0.22, 0.06),  # wffa-abs(shap)
    ),
    "openstack": (
        (0.97, 0.97, 0.97),  # shapley-banzhaf
        (0.08, 0.96, 0.6),  # shapley-wffa
        (0.0, 0.69, 0.1),  # shapley-shap
        (0.01, 0.32, 0.13),  # shapley-abs(shap)
        (0.08, 0.96, 0.6),  # banzhaf-wffa
        (0.0, 0.69, 0.1),  # banzhaf-shap
        (0.01, 0.32, 0.13),  # banzhaf-abs(shap)
        (0.0, 0.88, 0.17),  # wffa-shap
        (0.01, 0.82, 0.17),  # wffa-abs(shap)
    ),
    "qt": (
        (0.97, 0.97, 0.97),  # shapley-banzhaf
        (0.28, 0.97, 0.79),  # shapley-wffa
        (0.0, 0.71, 0.13),  # shapley-shap
        (0.01, 0.72, 0.15),  # shapley-abs(shap)
        (0.28, 0.97, 0.79),  # banzhaf-wffa
        (0.0, 0.71, 0.13),  # banzhaf-shap
        (0.01, 0.72, 0.15),  # banzhaf-abs(shap)
        (0.0, 0.25, 0.04),  # wffa-shap
        (0.01, 0.22, 0.06),  # wffa-abs(shap)
    ),
}
