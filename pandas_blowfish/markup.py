"""Small pieces of HTML and text that every view is made of: always escaped, short, light and dark.

Never sees rows, and imports nothing of the project. Colours are those of the notebook: text inherits its own,
lines and bars are `currentColor` made fainter, so that nothing vanishes on a dark page.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MOST = 160  # characters of one value that a view shows
WIDTH = 20  # characters of a bar in a terminal
WITH_ERRORS = (
    "count",
    "value",
    "size",
    "proportion",
    "unshaped",
    "low",
    "high",
)  # columns that `std` is about

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
    """Return an exact number, as a decimal if there is one, where that is short, else what it is about.

    Examples:
        >>> amount(Fraction(1, 10)), amount(Fraction(1, 3)), amount(Fraction(10**12, 10**12 + 1))
        ('0.1', '1/3', 'about 1')
    """
    if max(abs(value.numerator), value.denominator).bit_length() <= 34:
        return short(value)
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
        return f"about {digits(float(value))}" if abs(value) < 10**300 else "beyond all bounds"
    whole, rest = divmod(abs(int(parts)), 10**6)
    point = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if value < 0 else ''}{whole:,}{point}"


def short(value: Fraction) -> str:
    """Return an exact number as a decimal where that says the same, else as the fraction it is.

    Examples:
        >>> short(Fraction(1, 10)), short(Fraction(1, 3))
        ('0.1', '1/3')
    """
    text = decimal(value).replace(",", "")
    return str(value) if text[-1:].isalpha() or text.startswith("about") else text


def digits(value: float, most: int = 4) -> str:
    """Return a number with its first digits, thousands separated; exponents only where zeros would be many.

    Examples:
        >>> digits(14123.4, 3), digits(0.012347), digits(7.0), digits(1e20)
        ('14,100', '0.01235', '7', '1e+20')
    """
    if not math.isfinite(value) or value == 0 or not 1e-5 <= abs(value) < 1e15:
        return f"{value:.{most}g}"
    after = most - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, after):,.{max(after, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def round_to(value: float, error: float, *, whole: bool = False) -> str:
    """Return a number with the digits that its error supports, two of the error's own.

    Args:
        value: The number.
        error: Its standard error; 0 for an exact one.
        whole: Whether it is a count, of which no part is shown.

    Examples:
        >>> round_to(2989.09915, 53.3, whole=True), round_to(10.90085, 2.8, whole=True)
        ('2,989', '11')
        >>> round_to(298_912.3, 5_300, whole=True), round_to(10.90085, 0.28), round_to(10.90085, 0.0)
        ('298,900', '10.90', '10.90085')
    """
    if not math.isfinite(value):
        return "not known" if value != value else str(value)
    if not error > 0 or not math.isfinite(error):
        return f"{value:,.0f}" if whole else f"{value:,.10g}"
    after = 1 - math.floor(math.log10(error))
    after = min(after, 0) if whole else min(after, 15)
    return f"{round(value, after) + 0.0:,.{max(after, 0)}f}"


def span_words(nanoseconds: float) -> str:
    """Return a span of time in the unit a person would choose.

    Examples:
        >>> span_words(4.06e10), span_words(2 * 86_400e9), span_words(5.4e12), span_words(3e6)
        ('40.6 seconds', '2 days', '1.5 hours', '0.003 seconds')
    """
    units = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 0.0}
    name, unit = next(each for each in units.items() if abs(nanoseconds) / 1e9 >= each[1])
    unit = unit or 1.0
    text = digits(nanoseconds / 1e9 / unit, 3)
    return f"{text} {name[:-1] if text == '1' else name}"


def cell_name(value: Any) -> str:
    """Return a cell of a release as a person names it: days, months and spans of days as dates.

    Examples:
        >>> import pandas as pd
        >>> day, week, month = (pd.Timestamp(f"2013-{end}") for end in ("01-02", "01-08", "02-01"))
        >>> [cell_name(pd.Interval(pd.Timestamp("2013-01-01"), end, "left")) for end in (day, week, month)]
        ['2013-01-01', '2013-01-01 to 2013-01-07', '2013-01']
        >>> cell_name(pd.Interval(0.0, 4.0, "both")), cell_name(5.0), cell_name(float("nan"))
        ('[0, 4]', '5', 'missing')
    """
    import pandas as pd  # here: a ledger is read without pandas

    if isinstance(value, tuple):
        return ", ".join(map(cell_name, value))
    if isinstance(value, pd.Interval):
        begin, end = ("[" if value.closed_left else "("), ("]" if value.closed_right else ")")
        dates = _dates_of(value)
        return dates or f"{begin}{cell_name(value.left)}, {cell_name(value.right)}{end}"
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "missing"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _dates_of(cell: Any) -> str:
    """Return a cell of whole days as its day, month, year, or first and last day; "" for any other."""
    import pandas as pd  # here: a ledger is read without pandas

    first, end = cell.left, cell.right
    if not isinstance(first, pd.Timestamp) or cell.closed != "left":
        return ""
    if first != first.normalize() or end != end.normalize() or end <= first:
        return ""
    first, end = first.tz_localize(None), end.tz_localize(None)
    last = end - pd.Timedelta(days=1)
    for form, unit in (("%Y-%m-%d", "D"), ("%Y-%m", "M"), ("%Y", "Y")):
        whole = first.to_period(unit)
        if whole.start_time == first and whole == last.to_period(unit) and whole.end_time.normalize() == last:
            return str(first.strftime(form))
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def show_number(value: Any, error: Any, *, whole: bool = False) -> str:
    """Return a released number, instant or span with the digits that its error supports.

    Examples:
        >>> import pandas as pd
        >>> show_number(pd.Timestamp("2013-07-06 12:14:24"), pd.Timedelta("7h32m"))
        '2013-07-06 12:14'
        >>> show_number(pd.Timestamp("2013-07-06 12:14:24"), pd.Timedelta("2D")), show_number(True, 1.0)
        ('2013-07-06', 'True')
    """
    import pandas as pd  # here: a ledger is read without pandas

    if isinstance(value, pd.Timestamp):
        size = pd.Timedelta(error) / pd.Timedelta("1h") if isinstance(error, pd.Timedelta) else 1.0
        form = "%Y-%m-%d" if size >= 24 else "%Y-%m-%d %H:%M" if size > 0.05 else "%Y-%m-%d %H:%M:%S"
        return value.strftime(form)
    if isinstance(value, pd.Timedelta):
        return span_words(float(value.as_unit("ns").value))
    if isinstance(value, float):
        return round_to(value, error if isinstance(error, float) else 0.0, whole=whole)
    return cell_name(value)


def read_numbers(release: pd.DataFrame) -> pd.DataFrame:
    """Return a release as text that people read: counts as whole numbers, digits that errors support, dates.

    Labels become columns. The release itself keeps its floats.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"count": [2989.09915], "std": [53.3317]}, index=pd.Index([5.0], name="n"))
        >>> read_numbers(frame).to_dict("list")
        {'n': ['5'], 'count': ['2,989'], 'std': ['53']}
    """
    import pandas as pd  # here: a ledger is read without pandas

    release = release.loc[:, ~release.columns.duplicated()]  # of columns of one name the first
    found: dict[str, list[str]] = {}
    for level, name in enumerate(release.index.names):
        cells = release.index.get_level_values(level)
        known = {cell: cell_name(cell) for cell in cells.unique()}
        found["" if name is None else str(name)] = [known.get(cell, "missing") for cell in cells]
    errors = release["std"].tolist() if "std" in release.columns else [0.0] * len(release)
    counts = "count" in release.columns or "size" in release.columns
    for column in release.columns:
        values = release[column].tolist()
        if column == "std":
            text = [
                digits(each, 2) if isinstance(each, float) else show_number(each, each) for each in values
            ]
        elif column in WITH_ERRORS:
            pairs = zip(values, errors, strict=True)
            text = [show_number(value, error, whole=counts) for value, error in pairs]
        else:
            text = [digits(each) if isinstance(each, float) else cell_name(each) for each in values]
        found[str(column)] = text
    return pd.DataFrame(found)


def show_call(call: object) -> str:
    """Return a call with its epsilon as a decimal, where that says the same, and without the defaults.

    Examples:
        >>> show_call("hist('sex', strategy='auto', epsilon='1/10')"), show_call("count(epsilon='1/3')")
        ("hist('sex', epsilon=0.1)", "count(epsilon='1/3')")
    """

    def shown(found: re.Match[str]) -> str:
        text = short(Fraction(found[1]))
        return found[0] if "/" in text else f"epsilon={text}"

    text = str(call).replace(", strategy='auto'", "").replace("strategy='auto', ", "")
    return re.sub(r"epsilon='(\d{1,30}(?:/[1-9]\d{0,29})?)'", shown, text)


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
