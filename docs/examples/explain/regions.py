"""
Regions: only as far as one may go
==================================

A patient cannot become younger, and should not be told to gain weight. A *region* says where one may go from an
instance: what is frozen, which way values may move, and how far. Nothing outside it is looked at.
"""

import axfi_kc as ax
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier

X, progression = load_diabetes(as_frame=True, return_X_y=True, scaled=False)
X = X.astype({"age": int, "sex": int})
y = ["fast" if p > 140 else "slow" for p in progression]
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
explainer = ax.Explainer(model, ax.Domain.from_data(X, categorical=["sex"]))

patient = X.iloc[2]
anywhere = explainer.explain(patient)
print(anywhere.prediction, [c.features for c in anywhere.cxps])

# %%
# What is left if age and sex stay as they are, and the body-mass index and the blood pressure may only go down?

advice = ax.Region(frozen=["age", "sex"], only_down=["bmi", "bp"])
advised = explainer.explain(patient, within=advice)
for cxp in advised.cxps:
    print(
        f"{float(cxp.weight):.4f}  {', '.join(cxp.features)}: {advised.counterfactual(cxp).words}"
    )

# %%
# And if, besides, no value moves by more than a tenth of its range?

near = ax.Region(frozen=["age", "sex"], only_down=["bmi", "bp"], radius=0.1, unit="range")
print(
    [c.features for c in explainer.explain(patient, within=near).cxps]
    or "nothing within reach changes the output"
)

# %%
# As the radius grows, CXps appear, and are replaced by parts of them. All radii at which that happens, exactly:

path = ax.radius_path(explainer, patient, unit="range")
for step in path.steps:
    print(
        f"from {float(step.start):.4f} of the ranges:",
        *(", ".join(c) for c in step.appeared),
        sep="  ",
    )

# %%
# The same as a picture: how the shares of the features change with the radius.

from axfi_kc.plots import plot_radius_path

plot_radius_path(path)
