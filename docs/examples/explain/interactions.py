"""
Interactions: features that stand in for each other
===================================================

Two features of one CXp have to change together, so fixing either of them excludes the same adversarial examples: they
stand in for each other. That is a number for each pair, and more for larger groups, in closed form.
"""

import axfi_kc as ax
from axfi_kc.plots import plot_cxps, plot_interactions
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0).fit(X, y)
e = ax.Explainer(model, X, max_size=3).explain(X.iloc[20])
print(e)

# %%
# The CXps as an upset plot: a column each, with a dot for each feature that has to change, and a bar for its weight.

plot_cxps(e)

# %%
# The Shapley interaction of two features. It is never above 0 for a pair: more of one is less need of the other.

pairs = e.interactions("shapley", order=2)
for names, value in sorted(pairs.items(), key=lambda item: item[1])[:5]:
    print(f"{float(value):.6f}  {' + '.join(names)}")

# %%

plot_interactions(e)

# %%
# k-Shapley values share the whole between features and pairs, so they add up to what fixing all features excludes:

alone = e.interactions("k_shapley", order=1, up_to=2)
shared = e.interactions("k_shapley", order=2)
print(sum(alone.values()) + sum(shared.values()) == e.forest.value(X.columns))
