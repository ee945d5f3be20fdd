"""
Constraints: only flowers that can exist
========================================

A space of independent features has points that no flower is like: petals longer than the sepals around them.
Adversarial examples among them are no reason to mistrust a classifier. Constraints leave them out, exactly.
"""

import axfi_kc as ax
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

data = load_iris(as_frame=True)
X = (data.data * 10).round().astype(int)  # in millimetres
X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
y = data.target_names[data.target]
model = DecisionTreeClassifier(max_depth=5, random_state=1).fit(X, y)

domain = ax.Domain.from_data(X)
length, width = ax.feature("petal length"), ax.feature("petal width")
possible = domain.where(
    length <= ax.feature("sepal length"),
    width <= ax.feature("sepal width"),
    width <= length,
)

# %%
# No flower of the data violates one of them, and yet they leave a part of the space only. The points that can exist
# are a circuit, which is counted:

every = domain.size
left = ax.queries.count(ax.possible_points(possible))
print(f"{left:,} of {every:,} points can exist: {left / every:.1%}")

# %%
# The same flower, in both spaces. "Not similar" now means "not similar, and possible"; everything else carries over.

row = X.iloc[77]
free, bound = (ax.Explainer(model, space).explain(row) for space in (domain, possible))
for name, e in {"any point": free, "possible points": bound}.items():
    print(f"{name} ({e.prediction}):")
    for cxp in e.cxps:
        print(f"    {float(cxp.weight):.4f}  {', '.join(cxp.features)}")

# %%
# Over all 150 flowers: how many explanations are others once impossible flowers are left out?

batches = [ax.Explainer(model, space).explain_batch(X) for space in (domain, possible)]
sets = [[{c.features for c in e.cxps} for e in batch] for batch in batches]
different = sum(a != b for a, b in zip(*sets, strict=True))
gone = sum(len(a - b) for a, b in zip(*sets, strict=True))
print(
    f"{different} of {len(X)} flowers have other CXps; {gone} CXps had impossible flowers only"
)

# %%
# Which features count, before and after:

import matplotlib.pyplot as plt

shares = [batch.importance("shapley")["mean"] for batch in batches]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
places = range(len(X.columns))
for shift, name, share in zip(
    (-0.2, 0.2), ("any point", "possible points"), shares, strict=True
):
    axes.barh(
        [p + shift for p in places], [share[c] for c in X.columns], height=0.38, label=name
    )
axes.set_yticks(places, X.columns)
axes.set_xlabel("mean share of the Shapley-like score")
axes.legend()

# %%
# Where rules are not known, ``ax.mine_rules`` proposes what no row violates, for you to read and accept or not:

binned = (X // 10).rename(columns=lambda c: c + " (whole cm)")
for rule in ax.mine_rules(binned, min_support=20)[:5]:
    print(rule)
