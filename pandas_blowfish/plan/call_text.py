"""A question as the call that asks it, text that `queries.call` reads back. Never sees rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

MAX_NUMBERS = 200  # of a matrix that is spelt out; a larger one is named by its hash
REST = (
    *("functions", "percentiles"),
    *("bins", "bounds", "q", "interpolation", "order", "k", "scale", "ddof", "rows", "units", "strategy"),
    *("prior", "alpha", "scenario", "clip"),
    "dropna",
)
DIGEST = re.compile(
    r"[\d,]+ (?:values|ranges of cells|boxes of cells|x [\d,]+, [\d,]+ non-zeros), sha256 [0-9a-f]{64}"
)


def call_text(query: Mapping[str, Any], epsilon: Fraction, matrix: Any = None) -> str:
    """Return a question as one line of Python: filters, groups, then the verb, with literals only.

    Args:
        query: The question as plain data, as a plan keeps it.
        epsilon: What it was asked to cost.
        matrix: Of a workload: the queries, scipy sparse, which the plain data name by their hash alone.

    Examples:
        >>> call_text({"verb": "hist", "columns": ["sex"], "where": ["age > 17"]}, Fraction(1, 10))
        "where('age > 17').hist('sex', epsilon='1/10')"
    """
    steps = [f"where({literal(text)})" for text in query.get("where", ())]
    if "groupby" in query:
        cut = f", bins={literal(_mapped(query['group_bins']))}" if "group_bins" in query else ""
        steps.append(f"groupby({literal(query['groupby'])}{cut})")
    if "spelt" in query:
        return ".".join([*steps, _spelt_text(query["spelt"], epsilon)])
    names = query["columns"]
    alone = len(names) == 1 and isinstance(names[0], str) and not query.get("by_column")
    inside = [literal(names[0] if alone else names)] if names else []
    if "matrix" in query:
        small = matrix is not None and matrix.shape[0] * matrix.shape[1] <= MAX_NUMBERS
        inside = [literal(matrix.toarray().tolist() if small else query["matrix"]), *inside]
    stated = {key: query[key] for key in REST if query.get(key) is not None}
    if query["verb"] == "top":  # how many comes first
        inside = [literal(stated.pop("k")), *inside]
    if "bins" in stated:
        stated["bins"] = _mapped(stated["bins"])
    inside += [f"{key}={literal(value)}" for key, value in stated.items()]
    return ".".join([*steps, f"{query['verb']}({', '.join([*inside, f'epsilon={str(epsilon)!r}'])})"])


def spell(verb: str, *given: Any, **named: Any) -> dict[str, Any]:
    """Return how a question was asked where that is not by its own verb; what is None is left out.

    A question keeps the verb that its frame is read by ("hist"), and this beside it ("value_counts").

    Examples:
        >>> query = {"verb": "quantile", "columns": ["age"], "q": [0.5], "spelt": spell("median", "age")}
        >>> call_text(query, Fraction(1, 10))
        "median('age', epsilon='1/10')"
    """
    stated = {key: value for key, value in named.items() if value is not None}
    return {"verb": verb, "given": list(given), "named": stated}


def _spelt_text(spelt: Mapping[str, Any], epsilon: Fraction) -> str:
    inside = [*map(literal, spelt["given"])]
    for key, value in spelt["named"].items():
        inside.append(f"{key}={literal(_mapped(value) if key == 'bins' else value)}")
    return f"{spelt['verb']}({', '.join([*inside, f'epsilon={str(epsilon)!r}'])})"


def literal(value: Any) -> str:
    """Return plain data as a Python literal, whatever subclass of text or numbers it is.

    Examples:
        >>> literal({"a": (1, -0.5, None), "b": [True, "x"]})
        "{'a': [1, -0.5, None], 'b': [True, 'x']}"
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    return repr(str.__str__(value) if isinstance(value, str) else str(value))  # an enumeration's member too


def is_digest(value: Any) -> bool:
    """Return whether plain data name something by its hash, which nobody can ask for again."""
    if isinstance(value, Mapping):
        return any(map(is_digest, value.values()))
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def _mapped(bins: Any) -> Any:
    """Return bins with the pairs that plain data keep of a dict made a dict again; edges are no pairs."""
    if isinstance(bins, list) and bins and all(isinstance(each, list) for each in bins):
        return {key: _mapped(value) for key, value in bins}
    return bins
