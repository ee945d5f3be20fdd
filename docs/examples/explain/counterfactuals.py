"""
Counterfactuals that hold
=========================

What is the least change that makes a difference? The nearest adversarial example of each CXp is found exactly,
written with as few digits as will do, and given to the model's own ``predict`` before it is shown: what is printed
can be typed in.
"""

import axfi_kc as ax
from sklearn.datasets import load_wine
from sklearn.ensemble import GradientBoostingClassifier

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0).fit(X, y)
explainer = ax.Explainer(model, X)
e = explainer.explain(X.iloc[60])
print(e.counterfactual())

# %%
# One for each of the CXps, whose weight says how much room there is:

for cxp in e.heaviest_cxps()[:6]:
    print(f"{float(cxp.weight):.3f}  {e.counterfactual(cxp)}")

# %%
# How far each of them is, and how much room there is behind it:

import matplotlib.pyplot as plt

cxps = e.heaviest_cxps()[:12]
ranges = X.max() - X.min()
steps = [
    sum(abs(b - a) / ranges[n] for n, (a, b) in e.counterfactual(c).changes.items())
    for c in cxps
]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.scatter(
    steps,
    [float(c.weight) for c in cxps],
    s=[40 * len(c.features) for c in cxps],
    alpha=0.7,
)
axes.set_yscale("log")
axes.set_xlabel(
    "distance of the nearest change, in ranges; dots grow with the number of features"
)
axes.set_ylabel("weight")

# %%
# Do they hold? The model itself says so:

changed = e.counterfactual().printed.point
print(
    model.predict(X.iloc[[60]])[0], "->", model.predict(X.iloc[[60]].assign(**changed))[0]
)

# %%
# Why not the other class? With ``toward`` only changes to *that* class count:

for cultivar in data.target_names:
    if cultivar != e.prediction:
        other = explainer.explain(X.iloc[60], toward=cultivar)
        print(
            f"{cultivar}: {other.cxp_count} CXps, nearest: {other.counterfactual().words}"
        )

# %%
# And how far may values move without any change? The box of largest measure that keeps the output, over all features:

box = e.inflated_axp()
print(box)
print(f"covers {float(box.coverage):.2%} of the space")
