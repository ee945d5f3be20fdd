"""
A random forest, as far as a budget goes
========================================

A forest of a hundred deep trees may have more CXps than anybody can list. "All CXps of at most k features" is a
complete question all the same, the paper's own radius, and it has an exact answer.
"""

import warnings

import axfi_kc as ax
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = RandomForestClassifier(random_state=0).fit(X, y)  # 100 trees, as deep as they get
tumour = X.iloc[81]
print(model.predict_proba(X.iloc[[81]]))

# %%
# Up to two features, then up to three. Each answer is complete for its radius: no other set of that size changes the
# output.

for k in (1, 2, 3):
    e = ax.Explainer(model, X, max_size=k).explain(tumour)
    print(f"radius {k}: {e.cxp_count} CXps")

# %%
# Whoever does not know k gives a budget. When it is spent, the largest radius that was finished is the answer, and it
# says so:

with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", ax.errors.AxfiWarning
    )  # which says that the budget was spent
    e = ax.Explainer(model, X, budget=ax.Budget(nodes=50_000)).explain(tumour)
e

# %%
# Scores of two radii cannot be compared as they are, because the number of CXps is in the denominator of each. Shares
# can:

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
top = sorted(e.relevant, key=lambda name: -e.shares()[name])[:8]
for k, shift in ((2, -0.2), (3, 0.2)):
    shares = ax.Explainer(model, X, max_size=k).explain(tumour).shares()
    axes.barh(
        [p + shift for p in range(len(top))],
        [float(shares[n]) for n in top],
        height=0.38,
        label=f"radius {k}",
    )
axes.set_yticks(range(len(top)), top)
axes.invert_yaxis()
axes.set_xlabel("share of the Shapley-like score")
axes.legend()
