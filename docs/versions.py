"""Puts built pages beside those of other versions: `python docs/versions.py BUILT SITE VERSION`.

SITE/VERSION gets the pages, SITE/versions.json lists what is there (for the menu), SITE/index.html
leads to the newest version that was released, or to `dev`.
"""

import json
import shutil
import sys
from pathlib import Path

START = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/">'
START += '<a href="{0}/">{0}</a>\n'


def order(version: str) -> tuple[bool, list[int]]:
    """Return the place of a version: released ones by their numbers, after all others."""
    numbers = version.split(".")
    whole = all(number.isdigit() for number in numbers)
    return whole, [int(number) for number in numbers] if whole else []


def publish(built: Path, site: Path, version: str) -> list[str]:
    """Copy the pages of one version, list all, and return that list, the newest first."""
    target = site / version
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(built, target)
    versions = sorted((each.parent.name for each in site.glob("*/index.html")), key=order, reverse=True)
    (site / "versions.json").write_text(json.dumps(versions), encoding="utf-8")
    (site / "index.html").write_text(START.format(versions[0]), encoding="utf-8")
    (site / ".nojekyll").touch()
    return versions


if __name__ == "__main__":
    print(*publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
