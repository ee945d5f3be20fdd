"""The paper's experiments, run again with exact weights.

``axfi-kc paper`` trains the paper's models, computes all scores exactly, times them next to peers,
compares rankings, judges sampled weights and measures circuits; see :mod:`axfi_kc.paper.study`.
"""

from axfi_kc.paper.command import add_arguments, add_command, run

__all__ = ["add_arguments", "add_command", "run"]
