"""Totals that draw their noise together: a record that changes them all pays once. Never sees rows.

Read `SumBox` (which totals), `draw_together` (what an edge then does), then `offer_boxes` (which are tried).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_blowfish.plan.totals.law import BoxLaw
from pandas_blowfish.plan.totals.sensitivity import Pattern, Shifts
from pandas_blowfish.policy.policy import Policy

MAX_ROWS = 240  # query rows of one draw: planning takes time in the square of this
MAX_WIDE = 6  # groups that may share a draw: of more one draw each is better
MAX_DRAWS = 256  # draws of one release
FINE = 4  # the scale, in steps, beyond which finer steps make no difference
MAX_STEPS = 1 << 10
ENOUGH = 1.001  # times the least error, for which fewer steps are taken


@dataclass(frozen=True)
class SumBox:
    """Totals whose query rows draw their noise together: those of each group, or those of all groups.

    Attributes:
        totals: Their numbers, all of totals that an edge changes.
        wide: Whether the rows of all groups are one draw; else there is one per group.
        steps: Into how many steps of the noise the largest change is cut, at most.
    """

    totals: tuple[int, ...]
    wide: bool = False
    steps: int = 1

    @property
    def first(self) -> int:
        """Return the total that stands for all."""
        return self.totals[0]

    def reaches(self, rows: Sequence[int]) -> tuple[int, ...]:
        """Return for each of its totals how large a change is one step.

        Args:
            rows: The most that an edge changes a query row of each total.

        Examples:
            >>> SumBox((0, 1), steps=4).reaches([99, 10]), SumBox((0, 1), steps=4).longest([99, 10])
            ((25, 3), 4)
        """
        return tuple(-(-rows[number] // self.steps) for number in self.totals)

    def longest(self, rows: Sequence[int]) -> int:
        """Return how many steps the longest edge has."""
        pairs = zip(self.totals, self.reaches(rows), strict=True)
        return max(-(-rows[number] // reach) for number, reach in pairs)

    @property
    def form(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"totals": list(self.totals), "wide": self.wide, "steps": self.steps}


def read_boxes(form: Mapping[str, Any]) -> tuple[SumBox, ...]:
    """Return the boxes of a stored answer; none where all noise was independent."""
    stated = form.get("boxes", ())
    return tuple(SumBox(tuple(each["totals"]), bool(each["wide"]), int(each["steps"])) for each in stated)


def draw_together(moved: Shifts, boxes: Sequence[SumBox]) -> Shifts:
    """Return what one edge does where some totals draw their noise together.

    The first total of a box stands for all of it: its change is the number of draws that an edge changes any
    row of. Its other totals do not change.

    Proof note:
        Requires: `moved` as `shifts` or `product_shifts` has it; no total is in two boxes.
        Ensures:  an edge whose changes are one step of each draw loses at most the result's loss, whatever a
                  draw, and a change by 1 of each other total, loses.
        Because:  a move of some blocks stays in one group, and changes the draw of that group alone, if one
                  of these blocks changes any total of the box: what several blocks change is one draw,
                  however many move. An edge that changes two groups changes two draws, or the one of all.
        Checked:  tests/plan/totals/test_sum_boxes.py::test_no_edge_changes_more_draws
    """
    kept, key = moved.__dict__.setdefault("_kept", {}), tuple((each.totals, each.wide) for each in boxes)
    if key not in kept:
        kept[key] = _draw_together(moved, boxes) if boxes else moved
    return kept[key]  # type: ignore[no-any-return]


def _draw_together(moved: Shifts, boxes: Sequence[SumBox]) -> Shifts:
    blocks = tuple(_draws(block, [1] * len(block), boxes) for block in moved.blocks)
    flows = [_draws([flow], [many], boxes)[0] for flow, many in zip(moved.flows, moved.groups, strict=True)]
    shared = list(moved.shared or (0,) * len(moved.ends))
    for each in boxes:
        touched = sum(any(pattern[each.first] for pattern in block) for block in blocks)
        for number in each.totals:
            shared[number] = int(number == each.first and touched > 1)
    return Shifts(blocks, tuple(dict.fromkeys(flows)), moved.limit, tuple(shared) if any(shared) else ())


def _draws(
    patterns: Sequence[Pattern], groups: Sequence[int], boxes: Sequence[SumBox]
) -> tuple[Pattern, ...]:
    """Return changes in which the first total of each box counts the draws that are changed."""
    found = []
    for pattern, many in zip(patterns, groups, strict=True):
        own = list(pattern)
        for each in boxes:
            changed = any(pattern[number] for number in each.totals)
            for number in each.totals:
                own[number] = 0
            own[each.first] = changed * (1 if each.wide else many)
        found.append(tuple(own))
    return tuple(dict.fromkeys(found))


def offer_boxes(
    policy: Policy, moved: Shifts, groups: int, kinds: Sequence[int]
) -> Iterator[tuple[tuple[SumBox, ...], bool]]:
    """Yield boxes that may be better than independent noise, and whether they can have different shares.

    Args:
        policy: The promise: of single records and nothing else.
        moved: What edges do to the totals.
        groups: How many groups rows can be in.
        kinds: For each total its kind: those of one kind have noise in one proportion to what edges change.
    """
    noisy = [number for number, most in enumerate(moved.rows) if most]
    if policy.chain is not None or policy.aggregates or not groups:
        return
    parts = [tuple(n for n in noisy if kinds[n] == kind) for kind in sorted(set(kinds), reverse=True)]
    parts = [part for part in parts if part]
    for wide in (False, True) if moved.crosses and 1 < groups <= MAX_WIDE else (False,):
        for split, each in ((False, [tuple(noisy)]), (True, parts)):
            some = tuple(SumBox(part, wide) for part in each if len(part) * (groups if wide else 1) > 1)
            fits = all(len(box.totals) * (groups if wide else 1) <= MAX_ROWS for box in some)
            draws = len(some) * (1 if wide else groups)
            if some and fits and draws <= MAX_DRAWS and (not split or len(parts) > 1):
                yield some, split


def cut_finely(box: SumBox, rows: Sequence[int], scale: Fraction, groups: int) -> SumBox:
    """Return a box with the steps of least error, where one step for the longest edge has a scale."""
    if not scale:
        return box
    limit = min(FINE / scale, Fraction(MAX_STEPS)).__floor__()
    most = math.gcd(*(rows[number] for number in box.totals))
    tried = {1, *(1 << power for power in range(limit.bit_length()))}
    tried |= {steps for steps in range(2, limit + 1) if most % steps == 0}
    if tried == {1}:
        return box
    found = [SumBox(box.totals, box.wide, steps) for steps in sorted(tried)]

    def error(each: SumBox) -> float:
        laws = box_laws(each, rows, scale * each.longest(rows), groups)
        return sum(law.variance / rows[n] ** 2 for n, law in zip(each.totals, laws, strict=True))

    errors = [error(each) for each in found]
    return next(each for each, own in zip(found, errors, strict=True) if own <= min(errors) * ENOUGH)


def box_laws(box: SumBox, rows: Sequence[int], scale: Fraction, groups: int) -> list[BoxLaw]:
    """Return the law of the noise of each of its totals."""
    reaches = box.reaches(rows)
    times = groups if box.wide else 1
    counted = tuple((reach, reaches.count(reach) * times) for reach in sorted(set(reaches)))
    return [BoxLaw(scale, reach, counted) for reach in reaches]
