"""Draws what the pages show, by the code that they describe, with noise that is the same each time.

`draw(folder)` writes each picture twice, on a transparent ground: `ages.png` in dark ink for light pages,
`ages-dark.png` in light ink for dark ones. A page names the first; `Twins` puts the second beside it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

NAMES = ("ages", "adults", "parts", "age-secret", "disease-secret")
SIZE, DPI = (5.6, 3.2), 180  # inches: text stays readable in half a page, and on a phone
BARS = {"light": ["#3584d6", "#d5dde5"], "dark": ["#3584d6", "#47505a"]}  # spent, and what remains


class Twins(SphinxTransform):
    """Puts the dark picture beside each light one; the theme shows one of them."""

    default_priority = 400  # before Sphinx collects the files to copy

    def apply(self, **_: Any) -> None:
        """Add the twins of one page."""
        for image in list(self.document.findall(nodes.image)):
            if "_build/pictures/" in image["uri"]:
                twin = image.deepcopy()
                twin["uri"] = image["uri"].removesuffix(".png") + "-dark.png"
                image["classes"].append("only-light")
                twin["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, twin)


def draw(folder: Path) -> None:
    """Write all pictures, for light and for dark pages."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    drawn = _releases()
    for ink, style, ending in (("light", "default", ""), ("dark", "dark_background", "-dark")):
        for name in NAMES:
            with pyplot.style.context([style, {"legend.framealpha": 0}]):
                figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained", dpi=DPI)
                drawn[name](axes, ink)
                figure.savefig(folder / f"{name}{ending}.png", transparent=True)
                pyplot.close(figure)


def _releases() -> dict[str, Callable[[Any, str], object]]:
    """Return what draws each picture: the calls of index.md, tutorial.md and cookbook.md."""
    import pandas_blowfish as bf

    policy = bf.datasets.patients_policy()
    rows = bf.datasets.patients(5_000).blowfish.protect(policy, epsilon=1, ledger=bf.Ledger())
    with bf.testing.replay(7):
        ages = rows.blowfish.cumhist("age", epsilon="0.2")
        sexes = rows.blowfish.where("age >= 18").groupby("sex").hist("disease", epsilon="0.3")

    visits = bf.datasets.visits(2_000).blowfish.protect(
        bf.datasets.visits_policy(), epsilon=1, unit="patient", ledger=bf.Ledger()
    )
    visits.blowfish.hist("age", epsilon="0.3")
    for region in bf.datasets.REGIONS:
        part = visits.blowfish.where(f"region == '{region}'")
        part.hist("reason", epsilon="0.5" if region == "north" else "0.3")
    parts = visits.blowfish.budget.parts.astype(float)
    bars = {"stacked": True, "xlabel": "epsilon"}
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1), "ncols": 2, "frameon": False}
    return {
        "ages": lambda axes, _: ages.blowfish.plot(ax=axes),
        "adults": lambda axes, _: sexes.blowfish.plot(ax=axes),
        "parts": lambda axes, ink: parts.plot.barh(ax=axes, color=BARS[ink], **bars).legend(**above),
        "age-secret": lambda axes, _: policy.plot("age", ax=axes),
        "disease-secret": lambda axes, _: policy.plot("disease", ax=axes),
    }
