"""The tools of the built pages: the list of versions and the checker of links."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


def _tool(name: str, does: str) -> Callable[..., Any]:
    """Return a function of a file in docs/."""
    found = runpy.run_path(str(DOCS / f"{name}.py"))[does]
    assert callable(found)
    return found


@pytest.fixture
def built(tmp_path):
    """Return the folder of a small set of built pages."""
    folder = tmp_path / "html"
    (folder / "howto").mkdir(parents=True)
    (folder / "a.css").touch()
    (folder / "index.html").write_text(
        '<link href="a.css?v=1"><h1 id="start">x</h1><a href="howto/">y</a><a href="https://example.org">z</a>'
    )
    (folder / "howto" / "index.html").write_text('<a href="../index.html#start">back</a><a href="#">top</a>')
    return folder


def test_versions_lie_beside_each_other(built, tmp_path):
    """Each version keeps its pages; the list has the newest release first, and the start leads there."""
    site, publish = tmp_path / "site", _tool("versions", "publish")

    assert publish(built, site, "dev") == ["dev"]
    assert "url=dev/" in (site / "index.html").read_text()
    for version in ("0.9.0", "0.10.0", "dev"):
        publish(built, site, version)

    assert json.loads((site / "versions.json").read_text()) == ["0.10.0", "0.9.0", "dev"]
    assert "url=0.10.0/" in (site / "index.html").read_text()
    for version in ("0.10.0", "0.9.0", "dev"):
        assert (site / version / "howto" / "index.html").exists()


def test_a_version_is_replaced_as_a_whole(built, tmp_path):
    """A page that is gone from a version does not stay from an earlier build of it."""
    site, publish = tmp_path / "site", _tool("versions", "publish")
    publish(built, site, "dev")
    (built / "howto" / "index.html").unlink()
    publish(built, site, "dev")

    assert not (site / "dev" / "howto" / "index.html").exists()


def test_the_menu_reads_what_is_published(built, tmp_path):
    """The script and its place in the pages name the same file and the same box."""
    _tool("versions", "publish")(built, tmp_path / "site", "dev")
    script = (DOCS / "_static" / "versions.js").read_text(encoding="utf-8")

    assert (tmp_path / "site" / "versions.json").exists()
    assert '"../versions.json"' in script
    assert 'class="versions"' in (DOCS / "_templates" / "sidebar" / "versions.html").read_text()


def test_sound_links_pass(built):
    """Files, folders with an index, anchors and other sites."""
    assert _tool("links", "find_broken")(built) == []


@pytest.mark.parametrize(
    "added",
    [
        '<a href="gone.html">',
        '<a href="howto/index.html#gone">',
        '<a href="#gone">',
        '<img src="_images/gone.png">',
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
    ],
)
def test_broken_links_are_named(built, added):
    """A file or anchor that is not there, and whatever would be loaded from elsewhere."""
    with (built / "index.html").open("a") as page:
        page.write(added)

    (found,) = _tool("links", "find_broken")(built)

    assert found.startswith("index.html: ")
    assert found.split(": ", 1)[1] in added
