"""
Missing values
==============

Real tables have holes. Most libraries of trees have an answer to them, learnt from data: each node sends a missing
value one way. So *missing* is one more value of a feature, with a probability of its own, and nothing has to be
filled in.
"""

import axfi_kc as ax
import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier

data = load_wine(as_frame=True)
X = data.data[["alcohol", "malic_acid", "flavanoids", "color_intensity", "proline"]]
X = X.mask(
    np.random.default_rng(0).random(X.shape) < 0.2
)  # a fifth of the readings got lost
y = data.target_names[data.target]
model = HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=8, random_state=0).fit(
    X, y
)

# %%
# The domain takes the share of missing values of each column from the table:

domain = ax.Domain.from_data(X)
for feature in domain.features:
    print(f"{feature.name:16} {feature.describe():45} {float(feature.missing):.1%} missing")

# %%
# A wine of which two readings are missing:

row = X[X.isna().sum(axis=1) == 2].iloc[0]
explainer = ax.Explainer(model, domain)
e = explainer.explain(row)
e

# %%
# The same as a picture. Missing values are said in words.

from axfi_kc.plots import plot_scores

plot_scores(e)

# %%
# Had it been measured, what could have changed the class? A CXp that contains a missing feature says so, and its
# nearest change puts a number where there was none.

for cxp in e.cxps:
    print(f"{float(cxp.weight):.3f}  {e.counterfactual(cxp)}")

# %%
# The other way round: what would have happened if a reading had been lost? A counterfactual may say to leave a value
# empty. Over all wines that are complete, how often is that enough?

complete = X.dropna().head(40)
lost = ax.Region(frozen=[name for name in X.columns if name != "proline"])
batch = ax.Explainer(model, domain, within=lost).explain_batch(complete)
changed = [b for b in batch if b.cxps]
print(
    f"{len(changed)} of {len(complete)} wines depend on proline alone, its absence included"
)

# %%
# The checker, which shares no code with the engines, agrees with the explanation above:

print(ax.verify(e, model))
