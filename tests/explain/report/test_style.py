"""How a report looks: contrast in light and dark, paper, and no address of anything."""

import re

import pytest

from pandas_blowfish.explain.report.style import CSS, POLICY


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["text", "faint", "link", "good", "bad"])
def test_words_can_be_read(scheme, name):
    """Every colour of words has a contrast of 4.5 to 1 or more on the page and on soft ground."""
    colours = dict(re.findall(r"--(\w+): (#\w{6})", CSS.split(":root {")[scheme + 1]))

    for ground in ("page", "soft"):
        light, dark = sorted((_luminance(colours[name]), _luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_style_is_balanced_and_asks_for_nothing():
    """No address, no import, no markup that could end the style element."""
    assert CSS.count("{") == CSS.count("}")
    for word in ("http", "@import", "</", "url("):
        assert word not in CSS
    assert "@media print" in CSS
    assert "details::details-content" in CSS
    assert "screen and (prefers-color-scheme: dark)" in CSS  # paper is light


def test_the_policy_allows_no_request():
    """Nothing may be loaded but pictures that are in the page."""
    assert "default-src 'none'" in POLICY
    assert "script" not in POLICY
    assert "img-src data:;" in POLICY
