"""
Distributions: uniform, marginal, joint
=======================================

A weight is a probability. Whose? By default values are uniform over their range and features independent. Frequencies
of single features are one step closer to the data, and a tree-shaped distribution of all of them is another. The CXps
stay the same, as they are logic; what they weigh does not.
"""

import axfi_kc as ax
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier

X, progression = load_diabetes(as_frame=True, return_X_y=True, scaled=False)
X = X[["age", "sex", "bmi", "bp", "s3", "s5"]].astype({"age": int, "sex": int})
y = ["fast" if p > 140 else "slow" for p in progression]
model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)

uniform = ax.Domain.from_data(X, categorical=["sex"])
marginal = ax.Domain.from_data(X, categorical=["sex"], measures="empirical")
tree = ax.ChowLiu.fit(X, uniform, bins={"age": [35, 50, 65]})
joint = uniform.with_distribution(tree)
print(tree)

# %%
# One patient under all three. Each weight is the probability that the output is another one, given that everything
# outside the CXp is as it is.

patient = X.iloc[5]
found = {
    name: ax.Explainer(model, space).explain(patient)
    for name, space in {
        "uniform": uniform,
        "marginals": marginal,
        "Chow-Liu tree": joint,
    }.items()
}
weights = {
    name: {", ".join(c.features): float(c.weight) for c in e.cxps}
    for name, e in found.items()
}
for cxp in weights["uniform"]:
    print(
        f"{cxp:22}", *(f"{name} {own[cxp]:.4f}" for name, own in weights.items()), sep="   "
    )

# %%
# Which features come first is then another question for each distribution:

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for shift, (name, e) in zip((-0.27, 0, 0.27), found.items(), strict=True):
    shares = e.shares("shapley")
    axes.barh(
        [k + shift for k in range(len(shares))],
        [float(s) for s in shares.values()],
        height=0.25,
        label=name,
    )
axes.set_yticks(range(len(X.columns)), X.columns)
axes.invert_yaxis()
axes.set_xlabel("share of the Shapley-like score")
axes.legend()

# %%
# Under the joint distribution other questions have exact answers as well. How likely is this output at all, and how
# sure is it once the blood pressure and ``s5`` are known?

e = found["Chow-Liu tree"]
print(
    {
        name: round(float(p), 3)
        for name, p in ax.Explainer(model, joint).output_probabilities().items()
    }
)
print(e.prediction, round(float(e.precision(["bp", "s5"])), 3))

# %%
# The nearest counterfactual, and the nearest one that is not too unusual for such a patient:

from fractions import Fraction

near = e.counterfactual()
print(near.words, "- plausibility", round(float(near.plausibility), 3))
likely = e.counterfactual(min_plausibility=Fraction(1, 20))
print(likely.words, "- plausibility", round(float(likely.plausibility), 3))
