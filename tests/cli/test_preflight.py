"""Whatever could stop a run is found before its first release is charged."""

import os
from pathlib import Path

import pytest
import yaml

import pandas_blowfish as bf
from pandas_blowfish.cli import exits

AGES, TABLES = "hist('age', epsilon='0.25')", "marginal(['sex', 'region'], order=1, epsilon='0.1')"


def _jobs(*releases, **changed):
    stated = {"data": "patients.csv", "policy": "policy.yaml", "dataset": "p", "ledger": "budget.db"}
    lines = [f"{key}: {value}" for key, value in {**stated, "epsilon": 1, **changed}.items()]
    listed = [f'  - query: "{query}"\n    out: {out}' for query, out in releases]
    Path("jobs.yaml").write_text("\n".join([*lines, "releases:", *listed]))


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_the_rows_are_not_written_over(release, link):
    """DATA as --out would replace the rows by the answer."""
    before, out = Path("patients.csv").read_bytes(), "patients.csv"
    if link is not None:
        link("patients.csv", out := "link.csv")

    for words in ([], ["--dry-run"]):
        ran = release(AGES, "-o", out, *words)

        assert ran.code == exits.USAGE
        assert "would be written over the rows" in ran.err
    assert Path("patients.csv").read_bytes() == before
    assert not Path("budget.db").exists()


@pytest.mark.parametrize(
    ("out", "changed", "what"),
    [
        ("b.csv", {"ledger": "b.csv"}, "the ledger"),
        ("b.csv", {"policy": "b.receipt.json"}, "the policy"),
        ("b.csv", {"data": "b-sex.csv"}, "the rows"),
        ("jobs.csv", {}, "the file of jobs"),
    ],
)
def test_no_input_is_written_over(folder, run, out, changed, what):
    """Nor policy, ledger and jobs, by receipts and tables of a dict as little."""
    for key, place in (("policy", "policy.yaml"), ("data", "patients.csv")):
        if key in changed:
            Path(changed[key]).write_bytes(Path(place).read_bytes())
    _jobs((TABLES if "data" in changed else AGES, out), **changed)
    if what == "the file of jobs":
        os.link("jobs.yaml", "jobs.csv")

    ran = run("release", "--new", "--jobs", "jobs.yaml")

    assert ran.code == exits.USAGE
    assert f"would be written over {what}" in ran.err
    assert not Path("budget.db").exists()


def test_derived_files_do_not_meet(folder, run):
    """The files of a dict's tables are compared with those of the other releases."""
    _jobs((TABLES, "m.csv"), (AGES, "m-sex.csv"))
    clash = run("release", "--new", "--jobs", "jobs.yaml")
    _jobs((TABLES, "m.csv"), (AGES, "m-age.csv"))
    apart = run("release", "--new", "--jobs", "jobs.yaml", "--json")

    assert clash.code == exits.USAGE
    assert "two releases are written to 'm-sex.csv'" in clash.err
    assert apart.code == exits.OK
    assert sorted(apart.document["releases"][0]["out"]) == [
        "m-region.csv",
        "m-region.receipt.json",
        "m-sex.csv",
        "m-sex.receipt.json",
    ]


def test_a_number_of_rows_is_compared_first(release):
    """`rows=` of a later query is refused before an earlier one is charged, on a new dataset too."""
    mean = "mean('age', epsilon='0.1', rows=%d)"

    new = release(AGES, mean % 600)
    ledger = Path("budget.db").exists()
    release(AGES)
    other = release("hist('sex', epsilon='0.1')", mean % 599)
    right = release(mean % 600)

    assert new.code == other.code == exits.USAGE
    assert "release 2: rows: not the public number of rows" in new.err
    assert not ledger
    assert right.code == exits.OK
    assert bf.Ledger("budget.db").budget("p").spent == bf.Ledger("budget.db").entries["spent"].iloc[-1]
    assert str(bf.Ledger("budget.db").budget("p").spent) == "7/20"


def test_a_mean_is_its_own_name_from_the_first(release):
    """A new dataset's rows are not counted yet when it is named: asked again it is free all the same."""
    first, again = release("mean('age', epsilon='0.1')"), release("mean('age', epsilon='0.1')")

    assert "charged 0.1" in first.out
    assert "costs nothing, answered before" in again.out


def test_unnamed_wins_over_the_file(release):
    """Nothing is kept, so that each run is charged; with a name it is refused."""
    first, again = (release("hist('sex', epsilon='0.25')", "-o", "x.csv", "--unnamed") for _ in range(2))
    named = [
        release("hist('sex', epsilon='0.25')", "--unnamed", "--name", "x"),
        release("hist('sex', epsilon='0.25', name='x')", "--unnamed"),
    ]

    assert first.code == again.code == exits.OK
    assert "hist('sex', strategy='auto', epsilon='1/4'): charged 0.25: x.csv" in again.out
    assert bf.Ledger("budget.db").entries["name"].dropna().empty
    assert str(bf.Ledger("budget.db").budget("p").spent) == "1/2"
    assert [each.code for each in named] == [exits.USAGE] * 2
    assert "--unnamed with the name 'x'" in named[0].err


def test_a_secret_total_has_one_release(folder, run):
    """Two queries are refused before the first is charged, and so is another later, dry run or not."""
    policy = bf.datasets.patients_policy().to_dict()
    policy["aggregates"] = [{"total": "age.sum()", "delta": 100}]
    Path("total.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    fixed = ["patients.csv", "--policy", "total.yaml", "--dataset", "t", "--epsilon", 1, "--ledger", "t.db"]
    ask = "sum('age', epsilon='0.1')"

    both = run("release", *fixed, "--new", ask, "mean('age', epsilon='0.1')")
    first = run("release", *fixed, "--new", ask)
    again = run("release", *fixed, "sum('age', epsilon='0.2')", "--dry-run")

    assert both.code != exits.OK
    assert first.code == exits.OK
    assert again.code != exits.OK
    assert "whole table" in both.err
    assert "whole table" in again.err
    assert bf.Ledger("t.db").entries["kind"].tolist() == ["open", "charge", "answer"]
