"""Hands the README to the build: an index page has no files beside it for relative links to lead to."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
LINK = re.compile(r"(?<!!)\[((?:`[^`]*`|[^]`])+)\]\((?!https?://|#)([^)\s]+)\)")  # code may hold brackets


def readme(text: str, source: str | None) -> str:
    """Return the README with relative links below the source's URL, or as plain text where there is none."""
    if source is None:
        return LINK.sub(r"\1", text)
    return LINK.sub(lambda link: f"[{link[1]}]({source.rstrip('/')}/blob/main/{link[2]})", text)


if __name__ == "__main__":
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        long_description=readme(
            (HERE / "README.md").read_text(encoding="utf-8"), project.get("urls", {}).get("Source")
        ),
        long_description_content_type="text/markdown",
    )
