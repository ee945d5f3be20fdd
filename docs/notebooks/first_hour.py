# %% [markdown]
# # A first hour with your own model
#
# A trained model, a table, one row, then all of them. Nothing here is sampled. An explanation shows itself as floats;
# the exact numbers are folded below the tables.

# %%
import axfi_kc as ax
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=0).fit(X, y)
explainer = ax.Explainer(model, X)
e = explainer.explain(X.iloc[13])
e

# %% [markdown]
# ## What to do with it
#
# Pictures are matplotlib's axes, drawn into the notebook:

# %%
from axfi_kc.plots import plot_scores

_ = plot_scores(e)
# %% [markdown]
# The nearest change, in words, and the exact numbers on request:

# %%
print(e.counterfactual())
e.cxps[0].weight

# %%
e.to_frame(exact=False).sort_values("shapley", ascending=False).head(6)

# %% [markdown]
# ## Many rows
#
# A search or a batch that takes longer than a second shows how far it is; `progress=True` shows it at once.

# %%
batch = ax.Explainer(model, X, max_size=3).explain_batch(X.head(60), progress=True)
batch

# %%
from axfi_kc.plots import plot_batch

_ = plot_batch(batch)
# %% [markdown]
# ## Keep it, and check it
#
# A document holds everything exactly, and the checker asks the model itself.

# %%
again = ax.Explanation.from_json(e.to_json())
again.cxps == e.cxps

# %%
ax.verify(e, model)
