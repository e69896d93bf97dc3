"""How the pages are built: Sphinx, MyST and furo, offline; the reference comes from the docstrings."""

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pictures  # noqa: E402

from pandas_blowfish.version import __version__  # noqa: E402

project = "pandas_blowfish"
author = "the pandas_blowfish authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_templates"]
default_role = "literal"  # docstrings write names in single backticks
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Proof note", "params_style")]
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name for name in ("Epsilon", "Number", "Columns", "Strategy", "Bins", "Bounds", "Shares", "Tables")
}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["versions.js"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_title = f"pandas_blowfish {release}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def setup(app: Any) -> None:
    """Correct what napoleon and autodoc make of some docstrings and signatures."""
    kept: dict[str, list[str]] = {}

    def keep(_app: Any, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
        if what in ("property", "attribute"):
            kept[name] = list(lines)

    def restore(_app: Any, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
        # napoleon takes what a property's first line says before a colon for its type
        lines[:] = kept.pop(name, [line for line in lines if not line.startswith(":vartype")])

    def aliases(*given: Any) -> tuple[str | None, ...] | None:
        if "TypeAliasForwardRef" not in f"{given[-2]}{given[-1]}":
            return None
        return tuple(part and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", part) for part in given[-2:])

    app.connect("builder-inited", lambda _: pictures.draw(HERE / "_build" / "pictures"))
    app.add_transform(pictures.Twins)
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
    app.connect("autodoc-process-signature", aliases)
