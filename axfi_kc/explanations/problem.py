"""Explanation problems: a model, an instance, and which outputs count as similar."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_hashable, quoted
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.compilers import compile_circuit, read_model
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Feature
from axfi_kc.domain.measures import Number
from axfi_kc.domain.region import Region
from axfi_kc.engines import Engine, engine_for
from axfi_kc.engines.regional import within
from axfi_kc.errors import ArgumentError
from axfi_kc.explanations.answers import check_other_class, name_of
from axfi_kc.models import Model, Similarity
from axfi_kc.models.own_predict import Predict, own_predictor

__all__ = ["OwnPredict", "Problem"]


@dataclass(frozen=True, slots=True, eq=False)
class OwnPredict:
    """The ``predict`` of the model itself, while that is at hand: it is left behind when this is pickled.

    Attributes
    ----------
    ask
        From codes, a row per point, to outputs; None where there is nothing to ask but the neutral form.
    name
        What the model is, for people; see :func:`axfi_kc.models.own_predict.model_name`. Empty where none is known.
    """

    ask: Predict | None = None
    name: str = ""

    def __reduce__(self) -> tuple[type[OwnPredict], tuple[None, str]]:
        """Return what a worker or a file gets: models may be large, and need not be picklable."""
        return OwnPredict, (None, self.name)


@dataclass(frozen=True, eq=False)
class Problem:
    """The question why the model gives its output at one instance.

    Attributes
    ----------
    model
        The model's neutral form.
    codes
        The instance, as codes of its values (see :mod:`axfi_kc.domain.features`).
    output
        The model's output there.
    similarity
        Which outputs count as similar.
    own
        The model's own ``predict``, which is asked before a counterfactual is printed.
    class_names
        The name of each class that has one.
    region, whole
        The region around the instance that the problem is posed in, and the problem without it; None where there is
        no region. Within one, the model and its domain are those that are left there.

    Examples
    --------
    The paper's running example:

    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    >>> problem = Problem.of(lambda p: int(p in ones), domain, (2, 1, 2))
    >>> problem.output, problem.circuit.size
    (1, Size(nodes=4, edges=7))
    """

    model: Model
    codes: npt.NDArray[np.float64]
    output: Hashable
    similarity: Similarity
    own: OwnPredict = field(default=OwnPredict(), repr=False)
    class_names: Mapping[Any, str] = field(default_factory=dict)
    region: Region | None = None
    whole: Problem | None = field(default=None, repr=False)

    @classmethod
    @checked("domain", "toward")
    def of(
        cls, model: Any, domain: Domain, x: Any, *, delta: Number | None = None, toward: Hashable | None = None
    ) -> Problem:
        """Pose the problem of explaining `model` at the point `x` (array, Series or dict).

        Raises
        ------
        DomainError
            If a value is outside its domain, or the model gives the class `toward` at the point already.
        """
        form = read_model(model, domain)
        similarity = Similarity.of(form, delta, toward=toward)
        codes = domain.encode_point(x)
        outputs, own = form.outputs_at(codes[np.newaxis]), OwnPredict(own_predictor(model, domain))
        check_other_class(outputs, similarity)
        return cls(form, codes, outputs[0], similarity, own)

    @checked("region")
    def within(self, region: Region) -> Problem:
        """Return the problem posed in a region around the instance.

        Raises
        ------
        DomainError, UnknownFeatureError
            If the region is empty, leaves out the instance, or has probability 0.
        """
        model, codes = within(self.model, self.codes, region)
        return replace(self, model=model, codes=codes, region=region, whole=self)

    def with_ties_moved(self, shift: Fraction) -> Problem:
        """Return the problem in which more points (fewer, if `shift` is negative) are dissimilar.

        Every tie is moved by `shift`, in units of the scores; see :meth:`axfi_kc.models.Model.with_ties_moved`.
        """
        toward, delta = self.similarity.toward, self.similarity.delta
        # More points of a class are fewer that are unlike it.
        output, moved = (self.output, shift) if toward is None else (toward, -shift)
        model, wider = self.model.with_ties_moved(output, delta, moved)
        return replace(self, model=model, similarity=Similarity(wider, toward))

    @property
    def domain(self) -> Domain:
        """The space of the problem."""
        return self.model.domain

    @property
    def scale(self) -> tuple[Feature, ...]:
        """The features in whose widths changes are measured: those of the whole domain, whatever a region leaves."""
        return (self.whole or self).domain.features

    @property
    def instance(self) -> dict[str, Any]:
        """The instance, as ``{feature name: value}``."""
        return dict(zip(self.domain.names, self.domain.decode(self.codes), strict=True))

    def name_of(self, output: Any) -> Any:
        """Return the name of an output; the output itself where it has none."""
        return name_of(output, self.class_names)

    def is_dissimilar(self, output: Any) -> bool:
        """Tell whether `output` differs from the instance's own."""
        if not is_hashable(output):
            raise ArgumentError(f"An output is a label or a number, but {quoted(output)} was given; give one.")
        return not self.similarity.holds(output, self.output)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """The cell of each feature that holds the instance."""
        return self.model.grid.locate(self.codes[np.newaxis])[0]

    @cached_property
    def engine(self) -> Engine:
        """What finds this problem's explanations."""
        return engine_for(self.model, self.similarity)

    @cached_property
    def circuit(self) -> Circuit:
        """The circuit of the points whose output is not similar."""
        return compile_circuit(self.model, self.output, self.similarity)
