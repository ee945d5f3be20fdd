"""
Next to SHAP
============

A SHAP value says how the expected output moves when a feature becomes known; an AxFi score how much fixing the
feature excludes changes of the decision. They answer different questions, and on one row they may even disagree about
what matters at all.
"""

import axfi_kc as ax
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target
model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
domain = ax.Domain.from_data(X)
explainer = ax.Explainer(model, domain)

# %%
# SHAP values of the decision, exactly, under the same uniform measure: the model is compiled into a circuit, on which
# they are counted.

compiled = ax.compile_model(model, domain, output=1)
row = X.iloc[38]
e = explainer.explain(row)
shap = ax.shap_scores(compiled, row)
axfi = e.scores("shapley")

# %%
# Features that some minimal change of the decision needs are *relevant*. Side by side, each as a share of the whole:

names = sorted(
    {*e.relevant, *sorted(shap, key=lambda n: -abs(shap[n]))[:6]}, key=lambda n: -axfi[n]
)
whole = sum(abs(v) for v in shap.values())
figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
places = range(len(names))
axes.barh(
    [p - 0.2 for p in places],
    [float(e.shares()[n]) for n in names],
    height=0.38,
    label="AxFi",
)
axes.barh(
    [p + 0.2 for p in places],
    [float(abs(shap[n]) / whole) for n in names],
    height=0.38,
    label="SHAP, absolute",
)
axes.set_yticks(places, [f"{n} (relevant)" if n in e.relevant else n for n in names])
axes.invert_yaxis()
axes.set_xlabel("share")
axes.legend()

# %%
# The same row as two strips. AxFi scores start at 0 and end at what fixing all features excludes; SHAP values push the
# output up from the left and down from the right.

from axfi_kc.plots import plot_force

plot_force(e, shap=shap)

# %%
# Over the first 100 tumours: how often does SHAP rank an irrelevant feature above a relevant one?

worse = 0
for k, found in enumerate(explainer.explain_batch(X.head(100))):
    values = ax.shap_scores(compiled, X.iloc[k])
    least = min((abs(values[n]) for n in found.relevant), default=0)
    worse += any(abs(v) > least for n, v in values.items() if n not in found.relevant)
print(f"{worse} of 100")

# %%
# Which of the two to take depends on the question: see :doc:`/which`. shap's own plots draw AxFi scores too
# (``shap.plots.waterfall(e.to_shap())``).
