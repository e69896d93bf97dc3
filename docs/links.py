"""Checks built pages offline: `python docs/links.py BUILT` lists links within them that lead nowhere.

Files and anchors of pages, pictures, scripts and styles. Nothing is fetched: other sites are not checked, but
a page may not load anything from them.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = ("img", "script", "link", "source", "iframe")


class Page(HTMLParser):
    """The anchors of one page, and what it links to or loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.anchors, self.links = path, {"", "top"}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag names."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.links += [(tag, found[name]) for name in ("href", "src") if name in found]


def find_broken(built: Path) -> list[str]:
    """Return what leads nowhere, or is loaded from elsewhere, as `page: link`."""
    pages = {path.resolve(): Page(path) for path in sorted(built.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for tag, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                sound = tag not in LOADED or parts.scheme == "data"
            else:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                target = target / "index.html" if target.is_dir() else target
                anchors = pages[target].anchors if target in pages else {""}
                sound = target.exists() and unquote(parts.fragment) in anchors
            if not sound:
                broken.append(f"{page.path.relative_to(built)}: {link}")
    return broken


if __name__ == "__main__":
    found = find_broken(Path(sys.argv[1]))
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))
