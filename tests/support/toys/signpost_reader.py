"""A reader: how the models of a library are read, how they are asked, and the library's entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from signposts import Signpost

import axfi_kc as ax
from axfi_kc.compilers.readers import reads
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Argmax, TreeNodes, TreeSum
from axfi_kc.models.own_predict import READERS, predicts


@reads(Signpost)
def read_signpost(model: Signpost, domain: ax.Domain) -> TreeSum:
    values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    columns, left, right = (np.array([first, -1, -1]) for first in (0, 1, 2))
    nodes = TreeNodes(columns, [Cut(model.cut, closed=True), None, None], left, right, values)
    return TreeSum.of(domain, [nodes], rule=Argmax(("low", "high")))


@predicts(Signpost)  # only because it takes no table
def ask_signpost(model: Signpost, domain: ax.Domain) -> Callable[[Any], list[str]]:
    return lambda codes: [model.predict(point=row) for row in codes.tolist()]


READERS["signposts"] = ("signpost_reader",)
