# %% [markdown]
# # The space you really have
#
# An explanation is about *all* points of a space. This notebook changes the space around one and the same patient:
# which points can exist, how likely they are, and how far one may go.

# %%
import axfi_kc as ax
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier

X, progression = load_diabetes(as_frame=True, return_X_y=True, scaled=False)
X = X[["age", "sex", "bmi", "bp", "s3", "s5"]].astype({"age": int, "sex": int})
y = ["fast" if p > 140 else "slow" for p in progression]
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
domain = ax.Domain.from_data(X, categorical=["sex"])
patient = X.iloc[9]
e = ax.Explainer(model, domain).explain(patient)
e

# %% [markdown]
# ## What can exist
#
# Say that nobody over 60 has a body-mass index above 38. Points that violate it are no adversarial examples any more.

# %%
possible = domain.where((ax.feature("age") <= 60) | (ax.feature("bmi") <= 38))
constrained = ax.Explainer(model, possible).explain(patient)
ax.compare(e, constrained)

# %% [markdown]
# ## How likely
#
# A tree-shaped distribution, learnt from the table, instead of uniform values:

# %%
tree = ax.ChowLiu.fit(X, domain, bins={"age": [35, 50, 65]})
learnt = ax.Explainer(model, domain.with_distribution(tree)).explain(patient)
learnt

# %% [markdown]
# The three side by side, as shares of the Shapley-like score:

# %%
import pandas as pd

shares = pd.DataFrame(
    {name: {k: float(v) for k, v in found.shares().items()} for name, found in {
        "uniform": e, "possible": constrained, "learnt": learnt}.items()}
)  # fmt: skip
_ = shares.plot.barh(figsize=(7, 3.5), xlabel="share")
# %% [markdown]
# ## How far
#
# Age and sex stay as they are, and no value moves by more than a fifth of its range:

# %%
region = ax.Region(frozen=["age", "sex"], radius=0.2, unit="range")
near = ax.Explainer(model, domain).explain(patient, within=region)
[(c.features, round(float(c.weight), 3)) for c in near.cxps]

# %%
from axfi_kc.plots import plot_radius_path

_ = plot_radius_path(ax.radius_path(ax.Explainer(model, domain), patient, unit="range"))
