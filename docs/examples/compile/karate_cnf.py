"""
From clauses to counts: a karate club
=====================================

A CNF is compiled into four languages and counted. The graph is Zachary's karate club: 34 people, 78 friendships. In
how many ways can one invite people of whom no two are friends?
"""

import axfi_kc as ax
import networkx as nx
from axfi_kc import queries

club = nx.karate_club_graph()
clauses = [(-(a + 1), -(b + 1)) for a, b in club.edges]
names = [f"person {v}" for v in club]
invitations = ax.from_cnf(clauses, names=names)
print(invitations)

# %%
# A conjunction of clauses that share variables cannot be counted as it stands. Compiled, it can, in every language,
# and all agree:

compiled = {
    target: invitations.compile(target) for target in ("mdd", "obdd", "sdd", "ddnnf")
}
for target, circuit in compiled.items():
    print(
        f"{target:6} {circuit.size.nodes:6,} nodes  {circuit.size.edges:6,} edges  {circuit.count():,} invitations"
    )

# %%
# Marginals: who is at most of these parties? Two passes give all of them.

import matplotlib.pyplot as plt

circuit = compiled["obdd"].to_circuit()
invited = [float(cells[1]) for cells in queries.marginals(circuit, "count")]
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
places = nx.spring_layout(club, seed=4)
drawn = nx.draw_networkx_nodes(
    club, places, node_color=invited, cmap="viridis", node_size=260, ax=axes
)
nx.draw_networkx_edges(club, places, alpha=0.3, ax=axes)
nx.draw_networkx_labels(club, places, font_size=7, font_color="white", ax=axes)
axes.set_axis_off()
figure.colorbar(drawn, label="share of the invitations with this person")

# %%
# The largest parties, and how many there are of each size:

sizes = queries.counts_by_size(circuit)
usual = max(range(len(sizes)), key=sizes.__getitem__)
largest = max(k for k, count in enumerate(sizes) if count)
print(f"at most {largest} people, in {sizes[largest]} ways; most often {usual} come")

# %%
# An invitation is a decision, and can be explained: why is this one allowed? Its CXps are the people whose coming, or
# not coming, breaks it.

party = queries.best_points(circuit, 1, [[1, 2]] * len(club))[0]
model = ax.CircuitModel.of(compiled["ddnnf"].to_circuit(), outputs=("no", "yes"))
e = ax.Explainer(model, invitations.grid.domain, weights="count").explain(party.cells)
print(e.prediction, e.cxp_count, e.cxps[:3])

# %%
# Files of competitions are counted from the command line too: ``axfi-kc count file.cnf``.
