"""
A first explanation: one tumour
===============================

A decision tree calls a tumour malignant. Which measurements, if they were others, would change that, and how easily?
"""

import axfi_kc as ax
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)

explainer = ax.Explainer(model, X)
e = explainer.explain(X.iloc[78])
e

# %%
# In a notebook an explanation shows itself as above. Each *CXp* (contrastive explanation) is a minimal set of
# measurements whose change alone can change the output, and there are no others than these:

for cxp in e.cxps:
    print(f"{float(cxp.weight):.4f}  {', '.join(cxp.features)}")

# %%
# The weight of a CXp is the share of its surroundings in which the output *is* another one. It is counted, not
# sampled, so it is a fraction:

e.cxps[0].weight

# %%
# Read as a sum over its CXps, each measurement has a score: how much does fixing it help to exclude all these changes?

from axfi_kc.plots import plot_scores

plot_scores(e)

# %%
# The nearest change, in the units of the table. The tree's own ``predict`` has been asked about it.

print(e.counterfactual())
