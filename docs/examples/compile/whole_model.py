"""
A whole model as a circuit
==========================

"The output is *versicolor*" is a set of points. Compiled, it can be counted, conditioned, drawn, sampled and compared
with another model's, all of it exactly.
"""

import axfi_kc as ax
from axfi_kc.plots import plot_circuit
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

data = load_iris(as_frame=True)
X = (data.data * 10).round().astype(int)  # in millimetres, so that points can be counted
X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
y = data.target_names[data.target]
domain = ax.Domain.from_data(X)
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)

compiled = ax.compile_model(tree, domain, output="versicolor")
print(compiled.size)
plot_circuit(compiled)

# %%
# How many of all flowers, in millimetres, does the tree call *versicolor*? ``check=True`` counts a second time, by a
# route that shares no code with the first.

print(
    f"{compiled.count(check=True):,} of {domain.size:,}: {float(compiled.probability()):.2%}"
)

# %%
# And if the petals are 49 mm long?

print(float(compiled.condition({"petal length": 49}).probability()))

# %%
# A boosted ensemble of 60 trees is a circuit as well. Where do the two models disagree? The symmetric difference is
# one more circuit.

boosted = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
other = ax.compile_model(boosted, domain, output="versicolor")
one, two = compiled.target, other.target
count = (one ^ two).count()
print(
    f"the models disagree about versicolor at {count:,} of {domain.size:,} points: {count / domain.size:.2%}"
)

# %%
# Marginals of all features at once, given that the output is *versicolor*: the petal lengths the tree has in mind.

import matplotlib.pyplot as plt

lengths = range(X["petal length"].min(), X["petal length"].max() + 1)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, circuit in (("tree", compiled), ("boosted", other)):
    whole = circuit.probability()
    axes.step(
        lengths,
        [
            float(circuit.condition({"petal length": k}).probability() / whole)
            for k in lengths
        ],
        label=name,
    )
axes.set_xlabel("petal length in mm")
axes.set_ylabel("relative frequency")
axes.legend()
