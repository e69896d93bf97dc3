"""The tables of a marginal are a dict whose tables are found in any order, print short, plot and save."""

import copy
import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import UnknownTableError
from pandas_blowfish.table_set import LISTED, Tables

mpl.use("Agg")
PAIRS = [("sex", "disease"), ("sex", "region"), ("disease", "region")]


@pytest.fixture(scope="module")
def df():
    """Return protected patients."""
    return bf.datasets.patients(1_000).blowfish.protect(bf.datasets.patients_policy(), epsilon=100)


@pytest.fixture(scope="module")
def two(df):
    """Return all pairs of three columns."""
    return df.blowfish.marginal(["sex", "disease", "region"], order=2, epsilon=1, name="all pairs")


def test_columns_are_named_in_any_order(two):
    """The levels are in the order named, the rows in the order of the levels; the numbers stay."""
    asked, turned = two["sex", "disease"], two["disease", "sex"]

    assert turned.index.names == ["disease", "sex"]
    assert turned.index[:2].tolist() == [("angina", "F"), ("angina", "M")]
    assert turned.loc[("flu", "F"), "count"] == asked.loc[("F", "flu"), "count"]
    assert turned.blowfish.receipt == asked.blowfish.receipt
    assert two[["disease", "sex"]].equals(turned)
    assert ("disease", "sex") in two
    assert two.get(("disease", "sex")).equals(turned)


def test_one_column_is_named_alone(df):
    """By its name, or by a tuple; a table of more columns is not found by one of them."""
    one = df.blowfish.marginal(["sex", "disease"], order=1, epsilon=1)

    assert one["sex"] is one["sex",]
    assert "sex" in one
    assert "region" not in one
    assert one.get("region") is None
    with pytest.raises(UnknownTableError, match=r"allowed: 'sex'; 'disease'") as caught:
        one["region"]
    assert isinstance(caught.value, KeyError)
    assert caught.value.tables == [("sex",), ("disease",)]


def test_groups_come_first_in_any_order(df):
    """Levels that were grouped by stay before the columns."""
    found = df.blowfish.groupby("region").marginal([["sex", "disease"], ["sex"]], epsilon=1)

    assert found["disease", "sex"].index.names == ["region", "disease", "sex"]


def test_the_order_asked_comes_first(df):
    """Where both orders were asked for, each is found by its own."""
    found = df.blowfish.marginal([["sex", "region"], ["region", "sex"]], epsilon=1)

    assert [found[key].index.names for key in found] == [["sex", "region"], ["region", "sex"]]


def test_missing_values_stay_last():
    """The cell of missing values comes after the others in each order."""
    index = pd.MultiIndex.from_product([["a", "b"], [1.0, np.nan]], names=["x", "y"])
    tables = Tables({("x", "y"): pd.DataFrame({"count": range(4), "std": 1.0}, index=index)})

    assert tables["y", "x"]["count"].tolist() == [0, 2, 1, 3]


def test_it_is_still_a_dict(two):
    """For isinstance, iteration, equality, copies and pickles."""
    assert isinstance(two, dict)
    assert list(two) == PAIRS
    assert two == dict(two)
    for made in (copy.copy(two), two.copy(), copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        assert isinstance(made, Tables)
        assert list(made) == PAIRS
        assert made["region", "sex"].equals(two["region", "sex"])
        assert made["sex", "region"].blowfish.receipt == two["sex", "region"].blowfish.receipt


def test_it_prints_short(two):
    """A line per table, with how many counts and their errors, and what was asked."""
    lines = repr(two).splitlines()

    assert lines[0] == "3 tables of all pairs, epsilon 1"
    assert lines[1].startswith("  sex, disease     12 counts, \N{PLUS-MINUS SIGN} ")
    assert len(lines) == 4
    many = Tables({(f"c{number}",): two["sex", "region"] for number in range(40)})
    assert len(repr(many).splitlines()) == LISTED + 2
    assert repr(many).endswith(f"and {40 - LISTED} more")
    assert repr(Tables()) == "0 tables"


def test_a_notebook_shows_it(two):
    """A table of tables, each to be opened; names are escaped."""
    shown = two._repr_html_()
    odd = Tables({("<b>",): two["sex", "region"]})._repr_html_()

    assert "3 tables of all pairs" in shown
    assert shown.count("<details") == 3
    assert "<b>" not in odd


def test_the_report_knows_a_turned_table(df, two, tmp_path):
    """Numbers are compared whatever the order of the levels."""
    page = df.blowfish.report(tmp_path / "report.html", releases=[two["disease", "sex"]]).read_text()

    assert "its numbers are those that the ledger keeps" in page


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.xlsx", "pairs.parquet"])
def test_it_saves(two, tmp_path, name):
    """One file, or sheet, per table, by its columns."""
    files = bf.save(two, tmp_path / name)

    if name.endswith("xlsx"):
        assert [file.name for file in files] == [name]
        with pd.ExcelFile(files[0]) as book:
            assert "sex-region" in book.sheet_names
    else:
        assert files[0].name.startswith("pairs-sex-disease")


def test_small_multiples(two):
    """One panel per table under one title, the call as a footnote; some of them, in the order named."""
    from matplotlib import pyplot

    drawn = two.plot()

    figure = drawn[0].figure
    assert [axes.get_title(loc="left") for axes in drawn] == [", ".join(key) for key in PAIRS]
    assert figure.get_suptitle() == "all pairs"
    assert any("marginal(" in text.get_text() for text in figure.texts)
    pyplot.close(figure)
    some = two.plot(tables=[("region", "sex")])
    assert (some[0].get_ylabel(), some[0].get_xlabel()) == ("region", "sex")
    pyplot.close(some[0].figure)
    with pytest.raises(UnknownTableError):
        two.plot(tables=["sex"])


def test_very_many_tables_are_drawn_in_part(two):
    """The first ones; the footnote says how many there are."""
    from matplotlib import pyplot

    many = Tables({(f"c{number}",): two["sex", "region"] for number in range(40)})

    drawn = many.plot()

    assert len(drawn) == 12
    assert any("12 of 40 tables" in text.get_text() for text in drawn[0].figure.texts)
    pyplot.close(drawn[0].figure)
