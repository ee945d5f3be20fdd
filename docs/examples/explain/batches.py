"""
Batches and streams
===================

A table at once; a table too large for memory, to a file that resumes where it stopped; and what to do with the
results.
"""

import tempfile
from pathlib import Path

import axfi_kc as ax
from axfi_kc.plots import plot_batch
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
explainer = ax.Explainer(model, X)

batch = explainer.explain_batch(X)
batch

# %%
# All scores as a table: exact fractions, or the floats nearest to them.

batch.scores("banzhaf", exact=False).iloc[:4, 20:25].round(5)

# %%

plot_batch(batch)

# %%
# To a file, as they are made, with two worker processes if one asks for ``n_jobs=2``. Let the machine be switched off
# after a third of it: the second call finds what is done, and goes on from there.

folder = Path(tempfile.mkdtemp())
results = folder / "results.jsonl"
explainer.explain_to(results, X)
written = results.read_bytes()
results.write_bytes(written[: len(written) // 3])
saved = explainer.explain_to(results, X)
print(len(saved), results.read_bytes() == written)

# %%
# Rows that are not of the domain end a batch with an error that names them, or are skipped and listed:

odd = X.head(5).copy()
odd.iloc[3, 0] = 1000.0
print(explainer.explain_batch(odd, on_error="skip").skipped)

# %%
# By class: which measurements hold benign tumours where they are, and which malignant ones?

for name, own in batch.inspection(by="prediction").items():
    first = own.importances_mean.argsort()[::-1][:3]
    print(
        name,
        {
            str(own.feature_names[k]): round(float(own.importances_mean[k]), 3)
            for k in first
        },
    )
