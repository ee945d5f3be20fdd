"""
Exact SHAP values on a circuit
==============================

SHAP values under a product measure are counts, too: of a compiled model they come out as fractions, in time
polynomial in the circuit, with interactions, and under any weights of the features' values.
"""

import axfi_kc as ax
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

data = load_iris(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
domain = ax.Domain.from_data(X)
compiled = ax.compile_model(model, domain, output="virginica")
row = X.iloc[133]
values = ax.shap_scores(compiled, row)
for name, value in values.items():
    print(f"{name:18} {float(value):+.6f}")

# %%
# They add up to the output minus its mean, to the last digit:

print(
    sum(values.values())
    == int(model.predict(X.iloc[[133]])[0] == "virginica") - compiled.probability()
)

# %%
# Interactions of pairs, exactly:

for names, value in ax.shap_interactions(compiled, row).items():
    if len(set(names)) == 2 and value:
        print(f"{' + '.join(names):38} {float(value):+.6f}")

# %%
# Another measure is another question: frequencies of the data instead of uniform ranges.

measured = ax.Domain.from_data(X, measures="empirical")
again = ax.shap_scores(ax.compile_model(model, measured, output="virginica"), row)

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for shift, name, own in (
    (-0.2, "uniform", values),
    (0.2, "frequencies of the data", again),
):
    axes.barh(
        [k + shift for k in range(4)],
        [float(v) for v in own.values()],
        height=0.38,
        label=name,
    )
axes.set_yticks(range(4), X.columns)
axes.axvline(0, linewidth=0.8, color="gray")
axes.set_xlabel("SHAP value of 'is virginica'")
axes.legend()
