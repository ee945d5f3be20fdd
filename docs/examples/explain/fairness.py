"""
Fairness counts: if only the sex changed
========================================

How many people would get another answer if only one protected feature were another? That is asked of the *model*,
over its whole space, and the answer is a count, with the region itself as a circuit.
"""

import axfi_kc as ax
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier

X, progression = load_diabetes(as_frame=True, return_X_y=True, scaled=False)
X = X[["age", "sex", "bmi", "bp", "s3", "s6"]].astype({"age": int, "sex": int})
y = ["fast" if p > 140 else "slow" for p in progression]
model = DecisionTreeClassifier(max_depth=8, min_samples_leaf=5, random_state=0).fit(X, y)
domain = ax.Domain.from_data(X, categorical=["sex"])

found = ax.sensitivity(model, domain, ["sex"], by="sex")
print(found)
found.to_frame()[["of", "name", "probability"]].astype({"probability": float})

# %%
# The share of the *space* need not be the share of *people*. Under a distribution learnt from the data, side by side:

joint = domain.with_distribution(ax.ChowLiu.fit(X, domain, bins={"age": [35, 50, 65]}))
answer = ax.fairness(model, joint, ["sex", "age"])
answer.to_frame()[["question", "of", "name", "probability"]].astype({"probability": float})

# %%
# Where is it? The sensitive points are a circuit, so they can be asked about: for which age is the sex most likely to
# decide?

import matplotlib.pyplot as plt

region = found.region
print(region.size)
ages = range(X["age"].min(), X["age"].max() + 1)
chances = [float(region.condition({"age": age}).probability()) for age in ages]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.step(ages, chances, where="mid")
axes.set_ylim(bottom=0)
axes.set_xlabel("age")
axes.set_ylabel("sex alone decides")

# %%
# How robust is the model, whoever is asked: the share of points that have an adversarial example which changes one
# feature, or two.

for k in (1, 2, 3):
    print(k, f"{float(ax.robustness(model, domain, radius=k).probability):.2%}")
