"""
Bayesian networks: as the model, and as the distribution
========================================================

A network whose tables are counts of real wines, as exact fractions. It is a classifier that can be compiled and
explained, and it is a distribution under which other models are explained.
"""

from fractions import Fraction

import axfi_kc as ax
import pandas as pd
from sklearn.datasets import load_wine

data = load_wine(as_frame=True)
columns = ["alcohol", "flavanoids", "color_intensity", "proline"]
states = ["low", "middle", "high"]
X = data.data[columns].apply(lambda column: pd.qcut(column, 3, labels=states).astype(str))
X["cultivar"] = data.target_names[data.target]


def table(name, *parents):
    """The frequencies of a variable for each combination of its parents, with one made-up wine of each kind."""
    values = sorted(set(X["cultivar"])) if name == "cultivar" else states
    if not parents:
        counts = [(X[name] == v).sum() + 1 for v in values]
        return [Fraction(int(c), int(sum(counts))) for c in counts]
    first, *rest = parents
    own = sorted(set(X["cultivar"])) if first == "cultivar" else states
    rows = {p: X[X[first] == p] for p in own}
    return [_given(rows[p], name, values, rest) for p in own]


def _given(rows, name, values, parents):
    if parents:
        return [
            _given(rows[rows[parents[0]] == p], name, values, parents[1:]) for p in states
        ]
    counts = [(rows[name] == v).sum() + 1 for v in values]
    return [Fraction(int(c), int(sum(counts))) for c in counts]


network = ax.BayesianNetwork(
    {"cultivar": sorted(set(X["cultivar"])), **dict.fromkeys(columns, states)},
    {
        "cultivar": table("cultivar"),
        "alcohol": table("alcohol", "cultivar"),
        "flavanoids": table("flavanoids", "cultivar"),
        "color_intensity": table("color_intensity", "cultivar", "alcohol"),
        "proline": table("proline", "cultivar", "alcohol"),
    },
    parents={
        "alcohol": ["cultivar"],
        "flavanoids": ["cultivar"],
        "color_intensity": ["cultivar", "alcohol"],
        "proline": ["cultivar", "alcohol"],
    },
)
print(network)

# %%
# As the model: the most probable cultivar, given the four measurements. Classes are compared by products of integers,
# so no tie is rounded.

domain = ax.Domain([ax.Categorical(name, states) for name in columns])
classifier = network.with_output("cultivar")
right = sum(
    a == b
    for a, b in zip(
        classifier.predict(X[columns].to_dict("records")), X["cultivar"], strict=True
    )
)
print(f"{right} of {len(X)} wines are classified as they are")
e = ax.Explainer(classifier, domain).explain(X[columns].iloc[0])
e

# %%
# The CXps as an upset plot: two tests alone can turn this wine into another cultivar, and pairs of the others.

from axfi_kc.plots import plot_cxps

plot_cxps(e)

# %%
# As a circuit, it is counted over all 81 combinations, in four languages:

for target in ("mdd", "obdd", "sdd", "ddnnf"):
    compiled = ax.compile_model(classifier, domain, output="class_0", target=target)
    print(target, compiled.size, compiled.count(), "of", domain.size)

# %%
# As the distribution: the same classifier, where a change is weighed by how likely wines like that are. The cultivar
# is summed out.

joint = domain.with_distribution(network)
other = ax.Explainer(classifier, joint).explain(X[columns].iloc[0])
for a, b in zip(e.cxps, other.cxps, strict=True):
    print(
        f"{', '.join(a.features):30} uniform {float(a.weight):.3f}   network {float(b.weight):.3f}"
    )

# %%
# Networks in BIF and Hugin files, and those of pgmpy and pyAgrum, are read as well: :doc:`/tutorials/networks`.
