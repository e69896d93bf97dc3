"""quantile, median: the values below which given shares of the rows lie. Touches no row itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.plan.call_text import spell
from pandas_blowfish.plan.joint_noise.widening import rounding_of
from pandas_blowfish.plan.line.quantile_curve import (
    LEVELS,
    Axis,
    Curves,
    cell_bounds,
    place_values,
    quantiles,
)
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.quantiles.question import Quantiles
from pandas_blowfish.plan.quantiles.select import share_index
from pandas_blowfish.plan.quantiles.solve import Placed
from pandas_blowfish.plan.scales import derived_terms
from pandas_blowfish.plan.shape.covariance import range_variances
from pandas_blowfish.plan.shape.monotone import monotone
from pandas_blowfish.plan.shape.solved import Solved
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.ordered_column import one_column, prefixes
from pandas_blowfish.queries.call.scope import Scope, ask, strategy_name
from pandas_blowfish.release import Facts, label_text, with_receipt

INSIDE = ("linear", "lower", "midpoint", "higher")
RISING = (
    "exact",
    "identity",
    "cliques",
    "ordered",
    "ordered_hierarchical",
    "hierarchical",
)  # errors of sums never exceed these


def plan_quantile(
    policy: Policy,
    column: Any,
    q: Any = 0.5,
    *,
    epsilon: Any = 1,
    interpolation: Any = "linear",
    strategy: str = "auto",
    scope: Scope | None = None,
    spelt: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the plan of quantiles: picks of places, or the cumulative histogram they are read off."""
    name = one_column(column, "quantile")
    spend, chosen, shares = epsilon_of(epsilon), strategy_name(strategy), shares_of(q)
    scope, inside = scope or Scope(), inside_of(interpolation)
    query = {"verb": "quantile", "columns": [name], "q": shares, "strategy": chosen, **scope.facts()}
    if inside != INSIDE[0]:
        query["interpolation"] = inside
    query |= {} if spelt is None else {"spelt": spelt}
    asked = ask_quantiles(policy, scope, name, shares, inside)
    return ask(policy, [asked], spend, query=query, strategy=chosen)


def ask_quantiles(
    policy: Policy, scope: Scope, name: str, shares: Sequence[float], inside: str = INSIDE[0]
) -> Quantiles:
    """Return the quantiles of a column as a question."""
    curve = prefixes(policy, scope, name)
    wide = isinstance(curve.tally.binnings[curve.axis].index, pd.IntervalIndex)
    wanted = tuple(exact(share, "q") for share in shares)
    return Quantiles(curve, wanted, wide and inside == INSIDE[0])


def plan_median(
    policy: Policy, column: Any, *, epsilon: Any, interpolation: Any, strategy: str, scope: Scope
) -> Plan:
    """Return the plan of the quantile 0.5; see `df.blowfish.median`."""
    inside = inside_of(interpolation)
    stated = {"interpolation": inside if inside != INSIDE[0] else None, "strategy": strategy}
    spelt = spell("median", one_column(column, "median"), **stated)
    asked: dict[str, Any] = {"epsilon": epsilon, "interpolation": interpolation, "strategy": strategy}
    return plan_quantile(policy, column, 0.5, **asked, scope=scope, spelt=spelt)


def shares_of(q: Any, argument: str = "q") -> list[float]:
    """Return one or several shares between 0 and 1 as a list."""
    listed = list(q) if isinstance(q, (list, tuple, np.ndarray, pd.Series, pd.Index, range)) else [q]
    shares = [exact(each, argument) for each in listed]
    if not shares or not all(0 <= share <= 1 for share in shares):
        wrong = [str(share) for share in shares if not 0 <= share <= 1]
        problem = f"{wrong[0]} is not between 0 and 1" if wrong else "no shares"
        raise ArgumentError(argument, problem, allowed="shares such as 0.5 (the median) or [0.25, 0.75]")
    return [float(share) for share in shares]


def inside_of(interpolation: Any) -> str:
    """Return how values inside a bin are chosen, refusing what pandas has no name for."""
    if interpolation in INSIDE:
        return str(interpolation)
    raise ArgumentError(
        "interpolation", f"{interpolation!r} is unknown", allowed=", ".join(map(repr, INSIDE))
    )


def quantile_frame(plan: Plan, solved: Solved, facts: Facts) -> pd.DataFrame:
    """Return the quantiles of released cumulative counts, or picked ones."""
    if isinstance(solved, Placed):
        return place_frame(plan, solved, facts)
    inner = plan.domain[plan.query["columns"][0]].labels()
    counts, shown, errors = (
        np.pad(each.reshape(-1, len(inner)), ((0, 0), (1, 0)))
        for each in (solved.unshaped, solved.answers, plan.std)
    )
    rest, record, ends = None, plan.measurement.covariance, np.arange(len(inner) + 1)
    if record is not None:
        last = np.full(len(ends), ends[-1])
        rest = np.sqrt(range_variances(record, len(counts), len(inner), ends, last))
    outer = plan.index.droplevel(-1)[:: len(inner)] if isinstance(plan.index, pd.MultiIndex) else None
    curves = curves_of(counts, errors, facts, shown=shown, rest=rest)
    inside = plan.query.get("interpolation", INSIDE[0])
    return frame_of(curves, inner, outer, plan.query["q"], facts, inside, by_share="spelt" not in plan.query)


def curves_of(
    positions: Floats,
    spread: Floats,
    facts: Facts,
    *,
    shown: Floats | None = None,
    rest: Floats | None = None,
) -> Curves:
    """Return unbiased cumulative counts with what is known of their errors.

    Args:
        positions: The unbiased counts, lines x (cells + 1).
        spread: Their standard errors.
        facts: Those of the receipt.
        shown: The counts that values are read off, where these are shaped otherwise than to rise.
        rest: The standard errors of the counts after each position, where these are known.
    """
    shown = positions if shown is None else shown
    rising = monotone(shown, np.array([0]), np.zeros((len(shown), 1), dtype=bool))
    terms = derived_terms(facts.get("noise_terms"))
    return Curves(positions, rising, spread, rest, facts["strategy"] in RISING, rounding_of(facts), terms)


def frame_of(
    curves: Curves,
    cells: pd.Index[Any],
    groups: pd.Index[Any] | None,
    q: list[float],
    facts: Facts,
    inside: str = "linear",
    *,
    by_share: bool = True,
) -> pd.DataFrame:
    """Return `value` and `std` by share, groups outermost; `by_share` False leaves a single share out."""
    axis, shares = Axis.of(cells, facts.get("declared_ends")), np.array(q)
    values, std = quantiles(curves, axis, shares, inside)
    index: pd.Index[Any] = pd.Index(q, dtype="float64", name="q")
    if groups is not None:
        index = share_index(groups, q)
    if not by_share:
        index = pd.RangeIndex(1) if groups is None else groups
    facts = {**facts, "smallest_value": axis.ends[0], "largest_value": axis.ends[1]}
    if not np.isnan(curves.spread).any():
        facts["cell_bounds"] = write_bounds(cell_bounds(curves, axis, shares), axis, index)
    return with_receipt({"value": values, "std": std}, index, facts)


def place_frame(plan: Plan, solved: Placed, facts: Facts) -> pd.DataFrame:
    """Return picked quantiles: `value`, and `std`, which is not known, with what is proved of their ranks."""
    measured: Any = plan.measurement
    cells = plan.domain[plan.query["columns"][0]].labels()
    axis = Axis.of(cells, facts.get("declared_ends"))
    values = place_values(axis, solved.cells, solved.inside, plan.query.get("interpolation", INSIDE[0]))
    index = measured.index
    if "spelt" in plan.query:
        index = pd.RangeIndex(1) if measured.outer is None else measured.outer
    std = axis.distance(np.full(len(index), np.nan if plan.sensitivity else 0.0))
    more = {"smallest_value": axis.ends[0], "largest_value": axis.ends[1]}
    more |= {"gap": measured.gap, "accuracy": measured.accuracy}
    bounds = measured.bound_cells(solved.cells, facts.get("rows"), LEVELS)
    more["cell_bounds"] = write_bounds(bounds, axis, index)
    return with_receipt({"value": values, "std": std}, index, {**facts, **more})


def write_bounds(cells: tuple[Ints, Ints], axis: Axis, index: pd.Index[Any]) -> dict[str, str]:
    """Return by label where the first cell begins and the last one ends: a pair of numbers per level."""
    found: dict[str, str] = {}
    for label, first, last in zip(index, *cells, strict=True):
        if first[0] >= 0:
            pairs = zip(*axis.ends_of(first, last), strict=True)
            found[label_text(label)] = " ".join(f"{low!r} {high!r}" for low, high in pairs)
    return found
