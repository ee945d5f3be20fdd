"""
The paper's running example, step by step
=========================================

Three features, of 3, 2 and 3 values, and a function that is 1 at seven of the 18 points. Every number of Figure 1 of
the paper, by the pipeline of knowledge compilation: compile, extract, count, build, score.
"""

import axfi_kc as ax

domain = ax.Domain([ax.Integer("x1", 0, 2), ax.Integer("x2", 0, 1), ax.Integer("x3", 0, 2)])
ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}


def classifier(point):
    return int(point in ones)


# %%
# **1. Compile.** The model becomes a circuit, here a multi-valued decision diagram, that can be counted.

from axfi_kc.plots import plot_circuit, plot_cxps, plot_forest

compiled = ax.compile_model(classifier, domain, target="mdd")
print(compiled.size, compiled.count(), compiled.probability())
plot_circuit(compiled)

# %%
# **2. Extract the CXps.** The instance is v = (2, 1, 2), where the function is 1. A set of features is a CXp if
# changing these, and no part of them alone, can make it 0. There are three:

e = ax.Explainer(classifier, domain, weights="count").explain((2, 1, 2))
for cxp in e.cxps:
    print(cxp.features, cxp.weight)

# %%
# **3. Count.** The weights above are numbers of adversarial examples. By the definition, over all points:

for cxp in e.cxps:
    circuit = e.circuit(cxp)
    print(cxp.features, [tuple(p.values()) for p in circuit.points()], circuit.count())

# %%
plot_cxps(e)

# %%
# The minimal hitting sets of the CXps are the AXps: keep these, and the output stays whatever happens to the rest.

print([axp.features for axp in e.axps])

# %%
# **4. Build the forest.** A tree for each CXp, in which every order of fixing its features is a path. Its value is
# the characteristic function: what fixing S excludes, on average over the CXps.

plot_forest(e.forest)
print("v_r({x1}) =", e.forest.value({"x1"}), "  v_r(F) =", e.forest.value(domain.names))

# %%
# **5. Score.** In closed form, and equal to the Shapley value and the Banzhaf index of that function:

print(e.scores("shapley"))
print(e.scores("banzhaf"))

# %%
# The long way round agrees: the Shapley value from its definition, over all orders of the features.

from fractions import Fraction
from itertools import permutations

value = e.forest.value
orders = list(permutations(domain.names))
by_definition = dict.fromkeys(domain.names, Fraction(0))
for order in orders:
    for k, name in enumerate(order):
        by_definition[name] += (value({*order[: k + 1]}) - value({*order[:k]})) / len(
            orders
        )
print(by_definition == e.scores("shapley"))
