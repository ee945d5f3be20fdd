"""What each language can be asked in polynomial time, as implemented here.

One table serves the checks, whose messages name the languages that can, and the documentation.
"""

from __future__ import annotations

from types import MappingProxyType

from axfi_kc.arguments import checked, quoted
from axfi_kc.errors import CircuitError

__all__ = [
    "LANGUAGES",
    "QUERIES",
    "TRANSFORMATIONS",
    "add_language",
    "languages_for",
    "refusal",
    "remove_language",
    "require",
]


# name -> what it asks; the letters are those of the knowledge-compilation map
QUERIES = MappingProxyType(
    {
        "consistency": "CO: is there a model?",
        "validity": "VA: is every point a model?",
        "clausal entailment": "CE: does every model satisfy a clause?",
        "implicant": "IM: is every point of a box a model?",
        "equivalence": "EQ: have two circuits the same models?",
        "sentential entailment": "SE: is every model of one circuit a model of another?",
        "counting": "CT: how many models, what probability, what weighted count?",
        "enumeration": "ME: list the models with polynomial delay",
        "minimum changes": "how few features of a point must change to reach a model?",
    }
)
TRANSFORMATIONS = MappingProxyType(
    {
        "conditioning": "CD: set features to values",
        "forgetting": "FO: project features out",
        "singleton forgetting": "SFO: project one feature out",
        "conjunction": "AND: the points in both of two",
        "disjunction": "OR: the points in one of two",
        "negation": "NOT: all other points; with it, exclusive or, implication and difference",
        "quantification": "for some, or for all, values of features",
        "composition": "replace a feature by a function",
        "don't-care minimisation": "make it smaller where nobody cares",
        "smoothing": "mention the same features in all branches",
        "minimisation": "keep the models with the fewest changes of a point",
    }
)

_ANY = frozenset({"conditioning", "singleton forgetting"})
_CLOSED = frozenset({"conjunction", "disjunction", "negation", "quantification", "composition"})
_NNF = _ANY | _CLOSED
_DNNF = _ANY | {
    "consistency",
    "clausal entailment",
    "enumeration",
    "forgetting",
    "smoothing",
    "minimum changes",
    "minimisation",
}
_DDNNF = _DNNF | {"validity", "implicant", "counting"}
_SDD = _DDNNF | _CLOSED | {"equivalence", "sentential entailment"}
_ORDERED = _SDD | {"don't-care minimisation"}

# forgetting leaves ddnnf and sdd for dnnf; an ordered diagram stays one only for a single feature and by disjunction
_LANGUAGES = {"mdd": _ORDERED, "obdd": _ORDERED, "sdd": _SDD, "ddnnf": _DDNNF, "dnnf": _DNNF, "nnf": _NNF}
LANGUAGES = MappingProxyType(_LANGUAGES)


def add_language(name: str, *, like: str) -> None:
    """Enter a language that can be asked what the language `like` can; one that is known stays as it is."""
    _LANGUAGES.setdefault(name, LANGUAGES[like])


def remove_language(name: str) -> None:
    """Take a language out again."""
    _LANGUAGES.pop(name, None)


@checked("operation")
def languages_for(operation: str) -> tuple[str, ...]:
    """Return the languages in which `operation` takes polynomial time.

    Examples
    --------
    >>> languages_for("equivalence"), languages_for("counting")
    (('mdd', 'obdd', 'sdd'), ('mdd', 'obdd', 'sdd', 'ddnnf'))
    """
    if operation not in QUERIES and operation not in TRANSFORMATIONS:
        known = ", ".join([*QUERIES, *TRANSFORMATIONS])
        raise CircuitError(f"An operation is one of {known}, but {quoted(operation)} was given; use one of them.")
    return tuple(language for language, able in LANGUAGES.items() if operation in able)


@checked("language", "operation")
def require(language: str, operation: str) -> None:
    """Raise CircuitError if `language` does not answer `operation` in polynomial time.

    Examples
    --------
    >>> require("ddnnf", "counting")
    >>> require("dnnf", "counting")
    Traceback (most recent call last):
    axfi_kc.errors.CircuitError: Counting needs another language than dnnf; compile into mdd, obdd, sdd or ddnnf first.
    """
    if language not in LANGUAGES:
        raise CircuitError(
            f"A language is one of {', '.join(LANGUAGES)}, but {quoted(language)} was given; use one of them."
        )
    if language not in languages_for(operation):
        raise refusal(operation, f"another language than {language}")


def refusal(operation: str, needed: str) -> CircuitError:
    """Return the error that says what `operation` needs and which languages have it."""
    # any circuit is an nnf, so there is nothing to compile into
    *others, last = [language for language in languages_for(operation) if language != "nnf"]
    able = f"{', '.join(others)} or {last}" if others else last
    return CircuitError(f"{operation.capitalize()} needs {needed}; compile into {able} first.")
