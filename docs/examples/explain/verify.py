"""
Verify: do not take our word for it
===================================

``ax.verify`` checks an explanation against the model's own ``predict`` with none of the code that made it: it shares
no engine, no circuit and no score with the rest of the library. It says what was proved and what was only tried.
"""

import axfi_kc as ax
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

data = load_iris(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
e = ax.Explainer(model, X).explain(X.iloc[70])
print(ax.verify(e, model))

# %%
# What it looked at, and how often:

from collections import Counter

import matplotlib.pyplot as plt

checks = Counter(check.kind for check in ax.verify(e, model).proved)
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.barh(list(checks), list(checks.values()))
axes.invert_yaxis()
axes.set_xlabel("statements proved")

# %%
# It would notice. First, a document of the explanation with one weight made a little heavier. This does not even get
# as far as the checker, because reading a document computes its scores once more:

import json
from fractions import Fraction

document = json.loads(e.to_json())
weight = Fraction(document["cxps"][0]["weight"])
document["cxps"][0]["weight"] = str(weight + Fraction(1, 10**12))
try:
    ax.Explanation.from_json(json.dumps(document))
except ax.errors.AxfiError as error:
    print(error)

# %%
# Then the explanation of another forest, which predicts the same. Nothing in it contradicts itself; it is about
# another model.

other = RandomForestClassifier(8, max_depth=3, random_state=1).fit(X, y)
print(other.predict(X.iloc[[70]])[0], model.predict(X.iloc[[70]])[0])
report = ax.verify(e, other)
print(report.ok)
for check in report.failed[:5]:
    print(check)
