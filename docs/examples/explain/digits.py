"""
Where a digit hangs: scores as a picture
========================================

Sixty-four pixels, each from 0 to 16. Which of them hold the decision of a tree, and which could make it another
digit? The scores of an image are an image.
"""

import axfi_kc as ax
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

digits = load_digits()
X, y = digits.data.astype(int), digits.target
names = [f"row {i}, column {j}" for i in range(8) for j in range(8)]
domain = ax.Domain([ax.Integer(name, 0, 16) for name in names])
model = DecisionTreeClassifier(random_state=0).fit(X, y)
explainer = ax.Explainer(model, domain)

rows = [0, 1, 13, 14, 25]
figure, axes = plt.subplots(2, len(rows), figsize=(8, 3.6), layout="constrained")
for column, row in zip(axes.T, rows, strict=True):
    e = explainer.explain(X[row])
    scores = np.array([float(s) for s in e.shares("shapley").values()]).reshape(8, 8)
    column[0].imshow(X[row].reshape(8, 8), cmap="gray_r")
    column[0].set_title(f"a {e.prediction}: {e.cxp_count} CXps", fontsize=9)
    column[1].imshow(scores, cmap="viridis", vmin=0)
for axis in axes.flat:
    axis.set_axis_off()

# %%
# A tree needs no search, so all images take a moment, every weight of every CXp included:

import time

begin = time.perf_counter()
batch = explainer.explain_batch(X)
print(
    f"{len(batch)} images, {sum(e.cxp_count for e in batch):,} CXps, {time.perf_counter() - begin:.1f} s"
)

# %%
# Pixels that matter anywhere: the mean share over all images.

shares = batch.importance("shapley")["mean"]
figure, axes = plt.subplots(figsize=(3.6, 3), layout="constrained")
image = axes.imshow(
    np.array([shares[name] for name in names]).reshape(8, 8), cmap="viridis"
)
axes.set_axis_off()
figure.colorbar(image, label="mean share")

# %%
# A forest of ten trees is harder to turn: how many single pixels are enough, for the tree and for the forest?

forest = RandomForestClassifier(10, random_state=0).fit(X, y)
some = X[:30]
alone = [len(e.cxps) for e in ax.Explainer(model, domain, max_size=1).explain_batch(some)]
together = [
    len(e.cxps) for e in ax.Explainer(forest, domain, max_size=1).explain_batch(some)
]
print(
    f"single pixels that change the digit: tree {np.mean(alone):.1f}, forest {np.mean(together):.1f} per image"
)
