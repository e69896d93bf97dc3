"""The numbers of releases in a page: what is shown is what was released."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.explain.report import number_table as numbers
from pandas_blowfish.explain.report.number_table import (
    embed_file,
    numbers_file,
    numbers_table,
    plain_table,
    receipt_text,
    with_bounds,
)
from pandas_blowfish.policy.domain import Domain, from_dict


def _released(ask):
    df = bf.datasets.patients(200).blowfish.protect(bf.datasets.patients_policy(), epsilon=100)
    return ask(df.blowfish)


def test_the_table_has_labels_answers_and_intervals():
    """Groups and values are heads of rows; numbers are set to the right."""
    release = _released(lambda b: b.groupby("sex").hist("disease", epsilon=1))

    text = numbers_table(release, release.blowfish.receipt, "diseases")

    assert text.count("<tr>") == 1 + len(release)
    assert '<th scope="row">F</th><th scope="row">angina</th>' in text
    assert [name in text for name in (">std<", ">low<", ">high<")] == [True] * 3
    assert 'tabindex="0" role="region"' in text
    assert f'<td class="number">{release["count"].iloc[0]:,.0f}</td>' in text


def test_long_tables_are_cut_and_the_file_has_all():
    """The caption says so; the file holds every row, as CSV."""
    release = _released(lambda b: b.hist("income", epsilon=1))

    text = numbers_table(release, release.blowfish.receipt, "incomes")
    link = numbers_file(release.iloc[:3_000], "incomes.csv")

    assert f"the first {numbers.ROWS} of {len(release):,}" in text
    assert text.count("<tr>") == 1 + numbers.ROWS
    assert numbers_file(release, "incomes.csv") == ""
    ages = _released(lambda b: b.hist("age", epsilon=1))
    link = numbers_file(ages, "ages.csv")
    coded = re.search(r"base64,([^\"]*)", link)[1]
    back = pd.read_csv(io.BytesIO(base64.b64decode(coded)), index_col=0)
    assert (back["count"] - ages["count"]).abs().max() < 1e-9
    assert 'download="ages.csv"' in link


def test_releases_without_intervals_are_shown_without():
    """What nobody can tell is left out."""
    release = _released(lambda b: b.hist("age", strategy="dawa", epsilon=1))

    text = numbers_table(release, release.blowfish.receipt, "ages")

    assert "low" not in with_bounds(release).columns
    assert ">low<" not in text


def test_receipts_can_be_copied():
    """The JSON reads back as the receipt."""
    receipt = _released(lambda b: b.hist("sex", epsilon=1)).blowfish.receipt

    text = receipt_text(receipt)

    code = re.search(r"<code>(.*)</code>", text, re.DOTALL)[1].replace("&quot;", '"').replace("&#x27;", "'")
    assert json.loads(code) == dict(receipt)


def test_cells_are_escaped_and_large_files_left_out():
    """Hostile cells stay text."""
    text = plain_table(("a", "b"), [("<b>x</b>", 5)], "<i>", ("b",))

    assert "<b>" not in text
    assert "<i>" not in text
    assert '<td class="number">5</td>' in text
    assert embed_file("x" * 100, "f.csv", 50) == ""


def test_numbers_are_shown_as_their_errors_support():
    """Whole counts, dates as dates, errors of means of dates in hours, no digits that noise made up."""
    day = from_dict("day", {"type": "datetime", "min": "2026-01-01", "max": "2026-12-31", "step": "1D"})
    policy = bf.Policy(Domain((day,)), secrets={"day": bf.threshold("30D")})
    rows = pd.DataFrame({"day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(365), unit="D")})
    df = rows.blowfish.protect(policy, epsilon=10)
    months = [pd.Timestamp(f"2026-{month:02d}-01") for month in range(1, 13)]
    hist = df.blowfish.hist("day", epsilon="0.3", bins=months)
    mean = df.blowfish.mean("day", epsilon="0.3")

    counts = numbers_table(hist, hist.blowfish.receipt, "months")
    dates = numbers_table(mean, mean.blowfish.receipt, "mean")

    assert '<th scope="row">2026-01</th><td class="number">' in counts
    assert "00:00:00" not in counts + dates
    assert not re.search(r"[0-9][.][0-9]{3}", counts)
    found = re.search(r'number">2026-\d\d-\d\d \d\d:\d\d</td><td class="number">[\d.]+ hours', dates)
    assert found
