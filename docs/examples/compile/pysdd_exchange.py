"""
To PySDD, and back
==================

A sentential decision diagram of a trained model, in a manager of `PySDD <https://github.com/wannesm/PySDD>`_, along a
vtree that was searched for; and exact counts where PySDD's own are floats, or wrap around.
"""

import axfi_kc as ax
from pysdd.sdd import SddManager, Vtree
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

data = load_breast_cancer(as_frame=True)
columns = data.data.columns[20:30]  # the ten "worst" measurements
large = data.data[columns] > data.data[columns].median()
X = large.astype(int).rename(columns=lambda c: c.removeprefix("worst "))
y = data.target_names[data.target]
model = LogisticRegression().fit(X, y)
domain = ax.Domain.from_data(X)

# %%
# The model is a linear threshold function of ten flags. As an SDD, along three vtrees:

for name, options in {
    "balanced": {"vtree": "balanced"},
    "right": {"vtree": "right"},
    "searched": {"vtree": "balanced", "minimise": True},
}.items():
    compiled = ax.compile_model(model, domain, output="malignant", target="sdd", **options)
    print(
        f"{name:9} {compiled.size.nodes:4} nodes {compiled.size.edges:4} edges, {compiled.count()} of {2**10} points"
    )

# %%
# Into a manager of PySDD's own, where it is conjoined with something, and back:

manager = SddManager.from_vtree(Vtree(var_count=10, vtree_type="balanced"))
node = compiled.circuit.to_pysdd(manager)
radius, texture = manager.literal(1), manager.literal(2)
both = node & -radius & -texture
circuit = ax.from_pysdd(both, domain)
print(
    f"malignant with a small radius and a fine texture: {ax.queries.count(circuit)} points"
)

# %%
# What do these have in common? A prime implicant is a smallest reason:

for term in list(ax.prime_implicants(circuit))[:3]:
    print({name: value for name, value in term.items() if value})

# %%
# An SDD with its elements. The whole one is too wide for a page, so all but four flags are forgotten: which of their
# values do such tumours have at all?

from axfi_kc.plots import plot_circuit

few = ["perimeter", "area", "symmetry", "fractal dimension"]
others = [name for name in domain.names if name not in few]
seen = ax.operations.exists(circuit.compile("sdd", vtree="balanced"), others)
print(seen.size)
plot_circuit(seen)

# %%
# Under the frequencies of the data instead of uniform flags, the same node weighs:

measured = ax.Domain.from_data(X, measures="empirical")
print(float(ax.queries.probability(ax.from_pysdd(both, measured))))
