"""A budget over time: a step chart in SVG of what was spent and of what may be. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from pandas_blowfish.explain.report.style import COLOURS
from pandas_blowfish.markup import Html, decimal, element, one_line, share

if TYPE_CHECKING:
    from pandas_blowfish.explain.report.account import Line

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 44  # of the frame that the steps are drawn in
STEPS = 400  # beyond which only some entries are drawn
LEGEND = 20  # the height of a line of the legend
NAME = 44  # letters of a name in it
MARKED = 60  # facts and raises that are marked


@dataclass(frozen=True)
class Curve:
    """What some people, or one dataset of a pool, have lost: a line of the chart.

    Attributes:
        name: Who, for the legend.
        lost: What they have lost after each entry of `pick_drawn`, by its number.
    """

    name: str
    lost: Mapping[int, Fraction]


def pick_drawn(lines: Sequence[Line]) -> list[Line]:
    """Return the entries at which steps are drawn: all of few, some of many, always the last."""
    drawn = [line for line in lines if line.spent is not None and line.total is not None]
    return [*drawn[: -1 : -(-len(drawn) // STEPS)], drawn[-1]] if drawn else []


def timeline(lines: Sequence[Line], curves: Sequence[Curve] = ()) -> Html:
    """Return what was spent, entry by entry, beneath the total; facts and raises are marked.

    Args:
        lines: The entries of a dataset, in order.
        curves: Further lines, each in a colour of its own, with a legend beneath.
    """
    every = [line for line in lines if line.spent is not None and line.total is not None]
    if not every:
        return Html("")
    drawn, (placed, labels) = pick_drawn(lines), _across([line.time for line in every])
    places = {line.id: place for line, place in zip(every, placed, strict=True)}
    top = max(max(line.spent or Fraction(0), line.total or Fraction(0)) for line in drawn)
    spent = [(places[line.id], _up(line.spent, top)) for line in drawn]
    total = [(places[line.id], _up(line.total, top)) for line in drawn]
    ticks = sorted({Fraction(0), top / 2, top, drawn[-1].total or top})
    coloured = list(zip(curves, COLOURS, strict=False))
    height = HEIGHT + LEGEND * -(-len(coloured) // 2)
    parts = [
        *(_rule(_up(value, top), _short(value)) for value in ticks),
        *(_text(place, HEIGHT - BOTTOM + 18, label, anchor) for place, label, anchor in labels),
        _area(spent),
        _line(spent, "4" if coloured else "2.5"),  # seen beneath a line that is as high
        _line(total, "1.5", "6 4"),
        *(
            _line([(places[line.id], _up(curve.lost[line.id], top)) for line in drawn], "2", colour=colour)
            for curve, colour in coloured
        ),
        *_marks(every, places, top),
        _text(
            LEFT, 14, "thick: spent, dashed: total, ◆ a fact was recorded, ▲ the total was raised", "start"
        ),
        *(_label(number, curve.name, colour) for number, (curve, colour) in enumerate(coloured)),
    ]
    said = _said(every, curves, drawn[-1].id)
    return element(
        "svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=said, class_="chart"
    )


def _said(drawn: Sequence[Line], curves: Sequence[Curve], last_drawn: int) -> str:
    """Return the chart in words."""
    first, last = drawn[0], drawn[-1]
    charges = sum(line.kind == "charge" for line in drawn)
    facts = sum(line.kind == "fact" for line in drawn)
    text = f"Step chart of the budget from {first.time[:16]} to {last.time[:16]}: {charges:,} charges"
    text += f", {facts:,} recorded facts" if facts else ""
    spent, total = (decimal(each or Fraction(0)) for each in (last.spent, last.total))
    own = "".join(f" {curve.name}: {decimal(curve.lost[last_drawn])}." for curve in curves)
    return f"{text}; {spent} of {total} is spent at the end.{own}"


def _across(times: Sequence[str]) -> tuple[list[float], list[tuple[float, str, str]]]:
    """Return where entries lie along the bottom, by time or, if that does not pass, one after the other."""
    try:
        seconds = [datetime.fromisoformat(time).timestamp() for time in times]
    except (OSError, OverflowError, ValueError):
        seconds = []
    span = seconds[-1] - seconds[0] if seconds else 0.0
    if span <= 0 or sorted(seconds) != seconds:
        seconds, span = [float(at) for at in range(len(times))], float(max(len(times) - 1, 1))
    room = WIDTH - LEFT - RIGHT
    places = [LEFT + room * (second - seconds[0]) / span for second in seconds]
    cut = slice(0, 10) if span > 2 * 86_400 else slice(0, 16) if span > 3_600 else slice(0, 19)
    ends = [times[0][cut].replace("T", " "), times[-1][cut].replace("T", " ")]
    named = [(float(LEFT), ends[0], "start"), (float(WIDTH - RIGHT), ends[1], "end")]
    return places, named[: len(set(times))]


def _up(value: Fraction | None, top: Fraction) -> float:
    """Return how far down an decimal is drawn."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share(value or Fraction(0), top))


def _short(value: Fraction) -> str:
    text = str(value)
    try:
        return text if len(text) <= 7 else f"{float(value):.3g}"
    except OverflowError:
        return "huge"


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """Return the path along steps, to the right end."""
    x, y = points[0]
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return f"{path}H{WIDTH - RIGHT}"


def _line(
    points: Sequence[tuple[float, float]],
    width: str,
    dashes: str | None = None,
    colour: str = "currentColor",
) -> Html:
    given = {"fill": "none", "stroke": colour, "stroke_width": width, "stroke_dasharray": dashes}
    return element("path", d=_steps(points), **given)


def _area(points: Sequence[tuple[float, float]]) -> Html:
    floor = HEIGHT - BOTTOM
    path = f"{_steps(points)}V{floor}H{points[0][0]:.1f}Z"
    return element("path", d=path, fill="currentColor", opacity="0.12")


def _rule(y: float, label: str) -> Html:
    line = element(
        "path", d=f"M{LEFT} {y:.1f}H{WIDTH - RIGHT}", stroke="currentColor", opacity="0.25", stroke_width="1"
    )
    return Html(line + _text(LEFT - 8, y + 4, label, "end"))


def _label(number: int, name: str, colour: str) -> Html:
    """Return a line of the legend, of which two are beside each other."""
    x, y = LEFT + number % 2 * (WIDTH - LEFT - RIGHT) / 2, HEIGHT + LEGEND * (number // 2)
    sign = element("path", d=f"M{x:.1f} {y - 4:.1f}h24", stroke=colour, stroke_width="3")
    return Html(sign + _text(x + 32, y, one_line(name, NAME), "start"))


def _marks(drawn: Sequence[Line], places: Mapping[int, float], top: Fraction) -> list[Html]:
    """Return a sign for each fact and raise, the last of many."""
    found = [at for at, line in enumerate(drawn) if line.kind in ("fact", "raise")][-MARKED:]
    signs = {"fact": ("◆", -6.0), "raise": ("▲", -6.0)}
    out = []
    for at in found:
        line, (sign, above) = drawn[at], signs[drawn[at].kind]
        value = line.spent if line.kind == "fact" else line.total
        out.append(_text(places[line.id], _up(value, top) + above, sign, "middle"))
    return out


def _text(x: float, y: float, text: str, anchor: str) -> Html:
    return element(
        "text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, fill="currentColor", font_size="12"
    )
