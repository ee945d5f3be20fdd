"""Which questions each language answers is what the map says."""

from __future__ import annotations

import pytest

from axfi_kc.circuits import queries
from axfi_kc.errors import CircuitError


def test_languages():
    assert set(queries.languages_for("counting")) == {"mdd", "obdd", "sdd", "ddnnf"}
    queries.require("dnnf", "forgetting")
    with pytest.raises(CircuitError, match="compile into mdd, obdd, sdd, ddnnf or dnnf first"):
        queries.require("nnf", "consistency")
    for wrong in (("bdd", "counting"), ("mdd", "sorting")):
        with pytest.raises(CircuitError, match="one of"):
            queries.require(*wrong)
    named = set().union(*queries.LANGUAGES.values())
    assert named == {*queries.QUERIES, *queries.TRANSFORMATIONS}
