"""Small pieces of HTML and text that every view is made of: always escaped, short, light and dark.

Never sees rows, and imports nothing of the project. Colours are those of the notebook: text inherits its own,
lines and bars are `currentColor` made fainter, so that nothing vanishes on a dark page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

MOST = 160  # characters of one value that a view shows
WIDTH = 20  # characters of a bar in a terminal

_LINE = "1px solid rgba(128,128,128,.45)"
_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0;white-space:normal"
_FAINT = "opacity:.75"


class Html(str):
    """Markup that is safe as it is; every other text is escaped when it is put into some."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def one_line(value: object, most: int = MOST) -> str:
    r"""Return a value as printable text of one line, shortened in its middle.

    Examples:
        >>> one_line("two\nlines"), one_line("a" * 500, 9)
        ('two\\nlines', 'aaa...aaa')
    """
    text = str(value)
    if len(text) > 2 * most:  # what is cut away need not be read
        text = text[:most] + text[-most:]
    text = _shown(text)
    if len(text) <= most:
        return text
    end = (most - 3) // 2
    return f"{text[: most - 3 - end]}...{text[len(text) - end :]}"


def safe(value: object, most: int = MOST) -> Html:
    """Return a value as escaped markup of one short line; markup that is safe already as it is."""
    return value if isinstance(value, Html) else Html(html.escape(one_line(value, most)))


def amount(value: Fraction) -> str:
    """Return an exact number as it is where that is short, else what it is about.

    Examples:
        >>> amount(Fraction(1, 10)), amount(Fraction(10**12, 10**12 + 1))
        ('1/10', 'about 1')
    """
    if max(abs(value.numerator), value.denominator).bit_length() <= 34:
        return str(value)
    try:
        return f"about {float(value):.6g}"
    except OverflowError:
        return "beyond all bounds"


def decimal(value: Fraction) -> str:
    """Return an exact number with the digits that matter to a person; receipts state it exactly.

    Examples:
        >>> decimal(Fraction(1, 10)), decimal(Fraction(18514)), decimal(Fraction(1, 3))
        ('0.1', '18,514', 'about 0.3333')
    """
    parts = value * 10**6
    if parts.denominator > 1 or abs(value) >= 10**12:
        return f"about {float(value):.4g}" if abs(value) < 10**300 else "beyond all bounds"
    whole, rest = divmod(abs(int(parts)), 10**6)
    point = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if value < 0 else ''}{whole:,}{point}"


def spent_text(spent: Fraction, total: Fraction) -> str:
    """Return a budget in words.

    Examples:
        >>> spent_text(Fraction(1, 10), Fraction(1))
        'spent 0.1 of 1, remaining 0.9'
    """
    return f"spent {decimal(spent)} of {decimal(total)}, remaining {decimal(total - spent)}"


def share(part: Fraction, whole: Fraction) -> float:
    """Return a part of a whole between 0 and 1, whatever the two are."""
    return float(min(max(part / whole, Fraction(0)), Fraction(1))) if whole > 0 else 1.0


def join(*parts: Html) -> Html:
    """Return markup put together."""
    return Html("".join(parts))


def element(name: str, *parts: object, **attributes: str | None) -> Html:
    """Return an element; text inside it and its attributes are escaped, None leaves an attribute out.

    Examples:
        >>> element("td", "a < b", scope="row")
        '<td scope="row">a &lt; b</td>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts)
    return Html(f"<{name}{given}>{inside}</{name}>")


def facts_table(facts: Mapping[Any, object], caption: str = "", *, most: int = 2 * MOST) -> Html:
    """Return a table of names and values, one per row."""
    rows = [
        element(
            "tr",
            element(
                "th", safe(key), scope="row", style=f"{_CELL};font-weight:400;{_FAINT};white-space:nowrap"
            ),
            element("td", safe(value, most), style=f"{_CELL};overflow-wrap:anywhere"),
        )
        for key, value in facts.items()
    ]
    return _table(caption, element("tbody", *rows))


def data_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", *, more: str = ""
) -> Html:
    """Return a table whose first column names its rows; `more` is a note beneath on what is left out."""
    head = element("tr", *(element("th", safe(name), scope="col", style=_HEAD) for name in header))
    body = [
        element(
            "tr",
            *(element("th", safe(cell), scope="row", style=f"{_CELL};font-weight:600") for cell in row[:1]),
            *(element("td", safe(cell), style=f"{_CELL};overflow-wrap:anywhere") for cell in row[1:]),
        )
        for row in rows
    ]
    table = _table(caption, element("thead", head), element("tbody", *body))
    return join(table, note(more)) if more else table


def budget_bar(spent: Fraction, total: Fraction, said: str) -> Html:
    """Return a bar of what is spent of a total; what it shows is also its name, and written beside it."""
    over = spent > total
    stripes = "repeating-linear-gradient(45deg,currentColor 0 4px,transparent 4px 8px)"
    fill = f"height:100%;width:{100 * share(spent, total):.1f}%;opacity:.65;background:"
    inner = element("div", style=fill + (stripes if over else "currentColor"))
    box = f"height:.8em;max-width:24em;border:{_LINE};border-radius:3px;overflow:hidden;margin:.3em 0"
    return join(
        element("div", inner, role="img", aria_label=one_line(said, 400), style=box),
        element("div", safe(said, 400), aria_hidden="true"),
    )


def badge(text: str) -> Html:
    """Return a short word in a frame; its meaning does not depend on its colour."""
    style = f"border:{_LINE};border-radius:.6em;padding:0 .5em;font-size:.9em;white-space:nowrap"
    return element("span", safe(text), style=style)


def note(text: str, most: int = 600) -> Html:
    """Return a fainter line."""
    return element("p", safe(text, most), style=f"margin:.3em 0;{_FAINT}")


def paragraph(text: str, most: int = 4_000) -> Html:
    """Return a paragraph of text."""
    return element("p", safe(text, most), style="margin:.3em 0;max-width:60em")


def fold(summary: str, *parts: Html) -> Html:
    """Return parts that are opened by a click, or by the keyboard."""
    return element(
        "details",
        element("summary", safe(summary), style="cursor:pointer"),
        *parts,
        style="margin:.3em 0",
    )


def card(title: str, *parts: Html) -> Html:
    """Return a titled view of several parts."""
    head = element("div", safe(title), style="font-weight:600;font-size:1.05em;margin-bottom:.2em")
    return element("div", head, *parts, style="color:inherit;text-align:left;margin:.2em 0")


def text_bar(spent: Fraction, total: Fraction) -> str:
    """Return a bar of what is spent of a total, for a terminal.

    Examples:
        >>> text_bar(Fraction(1, 4), Fraction(1))
        '[#####---------------]'
    """
    used = round(WIDTH * share(spent, total))
    return f"[{'#' * used}{'-' * (WIDTH - used)}]"


def text_facts(facts: Mapping[Any, object], title: str = "", *, most: int = 400) -> str:
    """Return names and values, aligned, for a terminal.

    Examples:
        >>> print(text_facts({"a": 1, "long": 2}, "Facts"))
        Facts
          a     1
          long  2
    """
    names = [one_line(key, 40) for key in facts]
    width = max(map(len, names), default=0)
    lines = []
    for name, value in zip(names, facts.values(), strict=True):
        for at, each in enumerate(_sentences(value)):
            lines.append(f"  {('' if at else name).ljust(width)}  {one_line(each, most)}".rstrip())
    return "\n".join([title, *lines] if title else lines)


def _sentences(value: object) -> list[object]:
    """Return a list of sentences as it is, to be shown a line each; anything else is one line."""
    listed = isinstance(value, (list, tuple)) and bool(value)
    if listed and all(isinstance(each, str) and each.endswith(".") for each in value):  # type: ignore[attr-defined]
        return list(value)  # type: ignore[call-overload, no-any-return]
    return [value]


_HEAD = f"{_CELL};font-weight:600;border-bottom:{_LINE}"


def _table(caption: str, *parts: Html) -> Html:
    style = "text-align:left;caption-side:top;color:inherit;font-weight:600;padding:.2em 0"
    named = [element("caption", safe(caption, 400), style=style)] if caption else []
    return element("table", *named, *parts, style="border-collapse:collapse;margin:.3em 0")


def _shown(text: str) -> str:
    """Return text with what does not print, or would turn its direction, written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
