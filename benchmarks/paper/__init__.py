"""The paper's experiments, run again with exact weights.

``make paper`` (or ``python -m benchmarks.paper``) trains the paper's models, computes all scores exactly, times them
next to peers, compares rankings, judges sampled weights and measures circuits; see :mod:`benchmarks.paper.study`.
"""
