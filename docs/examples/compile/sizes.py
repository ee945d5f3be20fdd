"""
Sizes side by side
==================

One model, several target languages, several orders of its features, several vtrees: which circuit is small? Each row
of the table is the same function, and says so by its count.
"""

import axfi_kc as ax
from axfi_kc.plots import plot_sizes
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
domain = ax.Domain.from_data(X)
tree = DecisionTreeClassifier(random_state=0).fit(X, y)

frame = ax.compare_sizes(
    tree,
    domain,
    output="class_1",
    orders=["influence", "given"],
    vtrees=["balanced", "right"],
)
frame[["target", "order", "vtree", "code", "nodes", "edges", "seconds"]].round(3)

# %%

plot_sizes(frame)

# %%
# All rows agree about the function:

print(frame["probability"].nunique())

# %%
# A study over several models: how do the languages grow with a forest?

forests = {
    f"{n} trees": RandomForestClassifier(n, max_depth=3, random_state=0).fit(X, y)
    for n in (1, 3, 5)
}
study = ax.size_study(
    forests,
    domain,
    outputs=dict.fromkeys(forests, "class_1"),
    orders=["influence"],
    vtrees=["balanced"],
)
study.best("nodes")[["model", "target", "nodes", "edges"]]
