"""Whether ours is the lowest or the fastest beside the peers, and the rows where it is not; sees no rows."""

from __future__ import annotations

import pandas as pd
from papers.experiment import OURS, lower_than_ours, together

EQUAL, STATED, OTHER = "equal promise", "at stated epsilon", "another promise"
ALONE = "none to compare with"
OWN = "private Lloyd"  # our own, not a peer's
Row = tuple[str, str, str]


def lowest(title: str, found: pd.DataFrame, promise: str, by: list[str]) -> Row:
    """Return whether ours under full is below every peer at a promise, up to two standard errors.

    Returns:
        The claim; "yes", "no", or "tied" where a peer is lower by at most two standard errors; what was
        measured: the ratio of the best peer, of each where there are few, and all that are lower.
    """
    ours = (found["mechanism"] == OURS) & (found["promise"] == EQUAL)
    part = found[ours | ((found["promise"] == promise) & (found["mechanism"] != OURS))]
    others = part[part["mechanism"] != OURS]
    weaker = " (theirs hide a changed value at 2 epsilon only)" if promise == STATED else ""
    claim = f"{title}: ours under full is lowest, peers at {promise.removeprefix('at ')}{weaker}"
    if others.empty:
        return claim, ALONE, ""
    shown = part.assign(sound=True).fillna({"se": 0.0})
    lower, near = (lower_than_ours(shown, by, chance=chance) for chance in (False, True))
    said = ratios(part, by)
    said += f". Lower than ours: {together(lower)}" if lower else ""
    said += f". Lower by less than two standard errors: {together(near)}" if near else ""
    return claim, "no" if lower else "tied" if near else "yes", said.replace("data ", "")


def ratios(part: pd.DataFrame, by: list[str]) -> str:
    """Return the peers' errors over ours, over all settings: the best one's, or each one's where few."""
    mine = part[part["mechanism"] == OURS].set_index(by)["error"]
    others = part[part["mechanism"] != OURS].set_index([*by, "mechanism"])["error"]
    over = others.unstack("mechanism").div(mine, axis=0)
    if len(over.columns) > 2:
        best = over.min(axis=1)
        return f"best peer / ours: {best.min():.3g} to {best.max():.3g}"
    told = {name: f"{name} (our own)" if name == OWN else name for name in over.columns}
    return "over ours: " + ", ".join(
        f"{told[name]} {over[name].min():.3g} to {over[name].max():.3g}" for name in over.columns
    )


def fastest(cells: int, part: pd.DataFrame) -> Row:
    """Return whether ours is the fastest for some number of cells."""
    ours = part.loc[part["method"] == OURS, "ratio"].iloc[0]
    others = part[~part["method"].str.startswith(OURS)]
    claim = f"Time, {part['rows'].iloc[0]:,} rows, {cells:,} cells: ours is fastest"
    said = f"{ours:.3g} times numpy.bincount"
    if others.empty:
        return claim, ALONE, said
    faster = [f"{row.method} {row.ratio:.3g}" for row in others.itertuples() if row.ratio < ours]
    least = others.loc[others["ratio"].idxmin()]
    said += f"; faster: {'; '.join(faster)}" if faster else f"; next: {least['method']} {least['ratio']:.3g}"
    return claim, "no" if faster else "yes", said
