"""
To dd, and back
===============

A trained tree goes to a manager of `dd <https://github.com/tulip-control/dd>`_ as a binary decision diagram, is
worked on there, and comes back as the circuit it is, with names and with exact counts.
"""

import axfi_kc as ax
from dd.autoref import BDD
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

data = load_breast_cancer(as_frame=True)
columns = [
    "worst radius",
    "worst texture",
    "worst concave points",
    "mean texture",
    "worst smoothness",
    "area error",
]
large = data.data[columns] > data.data[columns].median()  # six flags: above the median
X = large.astype(int).rename(columns=lambda c: "large_" + c.replace(" ", "_"))
y = data.target_names[data.target]
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
domain = ax.Domain.from_data(X)

malignant = ax.compile_model(model, domain, output="malignant")
manager = BDD()
node = malignant.circuit.to_dd(manager)
print(sorted(manager.vars), len(node), "nodes of dd")

# %%
# The diagram, as it stands in dd: solid lines are followed where a flag is set.

from axfi_kc.plots import plot_circuit

plot_circuit(ax.compile_model(model, domain, output="malignant", target="obdd"))

# %%
# What dd does best is Boolean algebra. Which tumours are malignant whatever the texture is?

sure = manager.forall(["large_worst_texture"], node)
print(sure.to_expr())

# %%
# Back again: the same points, in a language that counts with whole numbers and has probabilities.

circuit = ax.from_dd(sure, domain)
print(ax.queries.count(circuit), "of", ax.queries.count(malignant.circuit), "points")
print(next(iter(ax.prime_implicants(circuit))), "is enough")

# %%
# Here the same is an operation on circuits, which needs no manager:

same = ax.operations.forall(malignant.circuit.compile("obdd"), ["large_worst_texture"])
print(same == circuit)

# %%
# Files go both ways: dd reads what is saved here.

import tempfile
from pathlib import Path

path = str(Path(tempfile.mkdtemp()) / "malignant.json")
ax.save_circuit(malignant.circuit.compile("obdd"), path)
(read,) = manager.load(path)
print(read == node)
