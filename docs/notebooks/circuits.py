# %% [markdown]
# # From a model to a circuit, and back
#
# The pipeline of knowledge compilation on a model trained from data: compile, look, count, extract, build, score.

# %%
import axfi_kc as ax
from axfi_kc.plots import plot_circuit, plot_forest, plot_sizes
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

data = load_iris(as_frame=True)
X = (data.data * 10).round().astype(int)
X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
y = data.target_names[data.target]
domain = ax.Domain.from_data(X)
model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)

# %% [markdown]
# ## Compile, and look

# %%
compiled = ax.compile_model(model, domain, output="virginica", target="mdd")
_ = plot_circuit(compiled)
# %%
compiled.size, compiled.count(check=True), compiled.probability()

# %% [markdown]
# ## Extract and count
#
# The circuit alone is enough: it is a model, and its CXps are those of the tree.

# %%
circuit_model = ax.CircuitModel.of(compiled.circuit, outputs=("another", "virginica"))
e = ax.Explainer(circuit_model, domain, weights="count").explain(X.iloc[133])
e

# %% [markdown]
# ## Build, and score

# %%
forest = ax.CXpForest.of({c.features: c.weight for c in e.cxps}, features=domain.names)
_ = plot_forest(forest)
# %%
ax.shapley_like(forest) == e.scores("shapley"), ax.banzhaf_like(forest)

# %% [markdown]
# ## Sizes

# %%
frame = ax.compare_sizes(model, domain, output="virginica", orders=["influence", "given"])
_ = plot_sizes(frame)
# %%
frame[["target", "order", "vtree", "nodes", "edges", "agrees"]]
