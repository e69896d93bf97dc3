"""A release as a picture inside a page: SVG that takes the page's colours, named, without any link.

Never sees rows, only releases.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import BlowfishError, MissingPackageError
from pandas_blowfish.explain.release.plot import plot
from pandas_blowfish.explain.report.style import COLOURS
from pandas_blowfish.markup import Html, element, note, one_line, paragraph
from pandas_blowfish.release import receipt_of, value_of

INK = "#1b1f23"  # of words and lines, which become the page's own colour
LARGEST = 200_000  # characters of an SVG; what is larger becomes a PNG
MANY = 2_500  # answers that are always drawn as a PNG when there are more
SIZE = (7.2, 3.9)  # inches
_TAG = re.compile(r"<[^>]*>")
_OWN = re.compile(r'(\bid="|\bhref="#|url\(#)')
_STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 10.0,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "svg.hashsalt": "blowfish",
    "image.composite_image": True,
}


def figure_of(release: pd.DataFrame, key: str) -> Html:
    """Return a release drawn with its error bars; a sentence where it cannot be drawn.

    Args:
        release: What a verb returned.
        key: What the picture's own ids begin with: no two of a page may be the same.
    """
    try:
        drawn, named = _drawn(release), describe_picture(release)
    except BlowfishError as refused:
        return note(f"No picture: {one_line(refused, 400)}")
    if isinstance(drawn, str):
        return inline(drawn, key, named)
    image = f"data:image/png;base64,{base64.b64encode(drawn).decode()}"
    return Html(element("img", src=image, alt=named, class_="paper").removesuffix("</img>"))


def describe_picture(release: pd.DataFrame) -> str:
    """Return what a picture of a release shows, for those who do not see it."""
    receipt = receipt_of(release)
    value = release[value_of(receipt.get("verb"), receipt.get("values_are"))]
    many = f"{len(value):,} answer{'s' * (len(value) != 1)}"
    asked = one_line(receipt.get("query"), 120)
    if not pd.api.types.is_numeric_dtype(value.dtype) or not np.isfinite(value).any():
        return f"Chart of {asked}: {many}; the numbers are in the table that follows."
    low, high = (f"{each:,.6g}" for each in (value.min(), value.max()))
    between = f"{low}" if low == high else f"from {low} to {high}"
    return f"Chart of {asked}: {many}, {between}; the numbers are in the table that follows."


def inline(text: str, key: str, named: str) -> Html:
    """Return an SVG file's text as an element of a page, with ids of its own, and a name.

    What an SVG file may have and a page must not goes: its header, metadata, comments and namespaces, which
    are addresses.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", text, flags=re.DOTALL)
    text = _TAG.sub(lambda tag: _OWN.sub(rf"\g<1>{key}-", tag[0]).replace(INK, "currentColor"), text)
    text = text.replace(INK, "currentColor")  # of styles
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    head, rest = text.split(">", 1)
    size = re.search(r'viewBox="[^"]*"', head)
    start = element("svg", role="img", aria_label=named, class_="chart").removesuffix("></svg>")
    return Html(f"{start} {size[0] if size else ''}>{rest.strip()}")


def missing_pictures() -> Html:
    """Return a note where matplotlib is not installed; nothing where it is."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return paragraph('Pictures need matplotlib: pip install "pandas-blowfish[plot]".')
    return Html("")


def _drawn(release: pd.DataFrame) -> str | bytes:
    """Return a release in our own style, whatever the user's is: an SVG's text, or a large one as PNG."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError("matplotlib", 'pip install "pandas-blowfish[plot]"') from None
    text, image = io.StringIO(), io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that a font lacks
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=SIZE, layout="constrained")  # nobody else's, and none of pyplot's
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        plot(release, ax=axes)
        if len(release) <= MANY:
            figure.savefig(text, format="svg", metadata={"Date": None})
        if 0 < text.tell() <= LARGEST:
            return text.getvalue()
        figure.savefig(image, format="png", dpi=130, facecolor="white")
    return image.getvalue()
