"""draft, check, lint and plan: what is told before anything is spent."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

import pandas_blowfish as bf
from pandas_blowfish.cli import exits


def test_from_a_file_to_a_policy(folder, run):
    """A draft is filled in by a person; until then every command says what is blank."""
    drafted = run("draft", "patients.csv", "-o", "new.yaml")
    text = Path("new.yaml").read_text()

    assert drafted.code == exits.OK
    assert "id:" in text
    assert "min: ..." in text
    assert "00" not in text
    assert "angina" not in text
    for words in (["lint", "new.yaml"], ["check", "patients.csv", "--policy", "new.yaml"]):
        blank = run(*words)
        assert blank.code == exits.POLICY
        assert "still blank: id: min, id: max" in blank.err
    again = run("draft", "patients.csv", "-o", "new.yaml")
    assert again.code == exits.USAGE
    assert "--force" in again.err
    assert run("draft", "patients.csv", "-o", "new.yaml", "--force").code == exits.OK


def test_a_draft_in_python(folder, run):
    """Without a file the code is printed, as bf.draft prints it."""
    printed = run("draft", "patients.parquet")
    as_json = run("draft", "patients.parquet", "--yaml", "--json")

    assert printed.out.rstrip() == str(bf.draft(pd.read_parquet("patients.parquet"))).rstrip()
    assert as_json.document["form"] == "yaml"
    assert "values: [...]" in as_json.document["draft"]


def test_check_counts_and_says_that_this_is_private(folder, run):
    """All fine is 0, anything outside is 1; numbers go to standard output alone, with a warning beside."""
    fine = run("check", "patients.csv", "--policy", "policy.yaml")
    text = Path("patients.csv").read_text().replace(",asthma,", ",gout,").replace(",F,", ",,")
    Path("patients.csv").write_text(text)
    wrong = run("check", "patients.csv", "--policy", "policy.yaml")
    quiet = run("check", "patients.csv", "--policy", "policy.yaml", "--quiet")
    as_json = run("check", "patients.csv", "--policy", "policy.yaml", "--json")

    assert fine.code == exits.OK
    assert "private" in fine.err
    assert wrong.code == quiet.code == as_json.code == exits.REFUSED
    assert "600" in wrong.out
    assert not any(character.isdigit() for character in quiet.out)
    assert "gout" not in wrong.out + wrong.err + quiet.out
    assert as_json.document["ok"] is False
    assert as_json.document["check"]["columns"][0] == "rows"


def test_check_tells_absent_columns_and_facts(folder, run):
    """A column that is not there, and a known count that is not the rows', are told without counts."""
    policy = bf.datasets.patients_policy().with_facts([bf.Count("age < 18", answer=3)])
    Path("facts.yaml").write_text(policy.to_yaml())
    pd.read_csv("patients.csv").drop(columns="region").to_csv("less.csv", index=False)

    absent = run("check", "less.csv", "--policy", "policy.yaml", "--quiet")
    known = run("check", "patients.csv", "--policy", "facts.yaml", "--quiet")

    assert absent.code == known.code == exits.REFUSED
    assert "absent from the file" in absent.out
    assert "do not agree with this fact" in known.out
    assert "counted" not in known.out


def test_lint(folder, run):
    """Findings are told; they fail a script only where it wants that."""
    told, strict = run("lint", "policy.yaml"), run("lint", "policy.yaml", "--strict", "--json")

    assert told.code == exits.OK
    assert "fix:" in told.out
    assert strict.code == exits.REFUSED
    assert {finding["kind"] for finding in strict.document["findings"]} == {"unprotected", "exact-total"}


def test_lint_tells_kinds_and_yaml(folder, run):
    """Each finding has its kind, and its fix as the file states it, beside the Python."""
    told = run("lint", "policy.yaml", "--accept", "exact-total")

    assert "[unprotected]: " in told.out
    assert "[exact-total, accepted]: " in told.out
    assert "  fix: columns: {" in told.out
    assert "  in Python: secrets={" in told.out


def test_a_choice_is_accepted(folder, run):
    """--strict fails on what is not accepted alone: a nullable threshold has a way out, on both sides."""
    kinds = []
    for missing in (None, "public"):
        column = {"type": "integer", "min": 0, "max": 9, "nullable": True}
        column["secret"] = {"secret": "threshold", "theta": 2, **({"missing": missing} if missing else {})}
        Path("choice.yaml").write_text(yaml.safe_dump({"blowfish": 1, "columns": {"age": column}}))
        strict = run("lint", "choice.yaml", "--strict", "--json")
        kinds += [each["kind"] for each in strict.document["findings"]]

        accepted = run("lint", "choice.yaml", "--strict", "--accept", kinds[-1], "--json")
        others = run("lint", "choice.yaml", "--strict", "--accept", "exact-total", "--accept", "fact-cost")

        assert strict.code == others.code == exits.REFUSED
        assert accepted.code == exits.OK
        assert [each["accepted"] for each in accepted.document["findings"]] == [True]
        assert "columns: {age: {secret: {secret: threshold" in accepted.document["findings"][0]["yaml"]
    assert kinds == ["missing-joins", "missing-public"]
    assert run("lint", "choice.yaml", "--accept", "everything").code == exits.USAGE
    Path("clean.yaml").write_text("blowfish: 1\ncolumns: {age: {type: integer, min: 0, max: 9}}\n")
    assert run("lint", "clean.yaml", "--strict").out == "nothing found\n"


def test_check_speaks_the_shell(folder, run):
    """Advice is what can be typed here; marks that are given count as missing."""
    policy = yaml.safe_load(Path("policy.yaml").read_text())
    policy["columns"]["age"]["nullable"] = policy["columns"]["disease"]["nullable"] = True
    Path("policy.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    rows = pd.read_csv("patients.csv", dtype=str)
    rows.loc[3, "age"], rows.loc[4, "disease"] = "?", "unknown"
    rows.to_csv("dirty.csv", index=False)
    words = ["check", "dirty.csv", "--policy", "policy.yaml", "--quiet"]

    dirty = run(*words)
    clean = run(*words, "--na", "?", "--na", "unknown")
    declared = run(*words, "--na", "12")

    assert dirty.code == exits.REFUSED
    assert "some cells are no numbers: fix them, or --na MARK" in dirty.out
    assert "--na MARK makes a text mean missing" in dirty.out
    assert clean.code == exits.OK
    assert declared.code == exits.USAGE
    assert "'12' is a declared value of column 'age'" in declared.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "blowfish: 1\ncolumns:\n  age:\n    type: bool\n    secret: full\n    secret: public\n",
            "lines 5 and 6",
        ),
        ("blowfish: 1\ncolumns: {age: {type: bool, secrt: full}}\n", "did you mean `secret:`?"),
    ],
)
def test_slips_in_a_policy(folder, run, text, said):
    """A key that is there twice, or is misspelt, is an error of the policy."""
    Path("slip.yaml").write_text(text)

    ran = run("lint", "slip.yaml")

    assert ran.code == exits.POLICY
    assert said in ran.err


def test_plan(folder, run):
    """A plan is that of the library; epsilon can be given beside, or found for an error."""
    plan = bf.datasets.patients_policy().plan

    printed = run("plan", "policy.yaml", "cumhist('age', epsilon=0.1)", "--candidates")
    other = run(
        "plan", "policy.yaml", "--epsilon", "1/3", "df.blowfish.cumhist('age', epsilon=0.1)", "--json"
    )
    found = run("plan", "policy.yaml", "hist('age')", "--rmse", 10, "--json").document

    assert printed.code == exits.OK
    assert printed.out.startswith(str(plan.cumhist("age", epsilon=0.1)))
    assert "haar" in printed.out
    assert other.document["epsilon"] == "1/3"
    assert other.document["mse"] == pytest.approx(plan.cumhist("age", epsilon="1/3").mse)
    assert found["rmse"] <= 10
    assert found["epsilon"] == str(plan.hist("age").epsilon_for(rmse=10))


def test_plan_with_rows(folder, run):
    """What depends on the number of rows is told it, also where it is secret."""
    policy = bf.datasets.patients_policy()
    hidden = bf.Policy(policy.domain, presence=True)
    Path("hidden.yaml").write_text(hidden.to_yaml())

    mean = run("plan", "policy.yaml", "mean('age', epsilon=1)", "--rows", 1000, "--json").document
    centres = run("plan", "hidden.yaml", "kmeans(['age'], k=2, epsilon=1)", "--rows", 77, "--json").document
    wrong = run("plan", "policy.yaml", "mean('age')", "--rows", 0)

    assert mean["rmse"] > 0
    assert "rows=77" in centres["query"]
    assert wrong.code == exits.USAGE


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["plan", "policy.yaml", "hist('nowhere')"], exits.USAGE, "no declared domain"),
        (["plan", "policy.yaml", "hist(x)"], exits.USAGE, "at character 6"),
        (["plan", "policy.yaml", "hist('age')", "--epsilon", "-1"], exits.USAGE, "not positive"),
        (
            ["plan", "policy.yaml", "hist('age')", "--epsilon", "1", "--rmse", "2"],
            exits.USAGE,
            "not allowed with",
        ),
        (["plan", "absent.yaml", "hist('age')"], exits.FILES, "No such file"),
        (["plan", "patients.csv", "hist('age')"], exits.POLICY, "not a policy of this version"),
        (["lint", "bad.yaml"], exits.POLICY, "unknown type"),
        (["lint", "fact.yaml"], exits.POLICY, "nowhere"),
        (["draft", "absent.csv"], exits.FILES, "No such file"),
        (["draft", "policy.yaml"], exits.USAGE, "unknown ending"),
        (["draft", "patients.csv", "-o", "no/such/place.yaml"], exits.FILES, "No such file"),
        (["draft", "patients.csv", "--sep", "ab"], exits.USAGE, "separator"),
        (["draft", "patients.csv", "--encoding", "martian"], exits.USAGE, "encoding"),
    ],
)
def test_what_goes_wrong(folder, run, words, code, said):
    """Each kind of mistake has its exit code and its words, and in JSON the same."""
    Path("bad.yaml").write_text("blowfish: 1\ncolumns: {age: {type: x}}\n")
    fact = bf.datasets.patients_policy().to_yaml() + "constraints: [{fact: count, where: 'nowhere < 3'}]\n"
    Path("fact.yaml").write_text(fact)

    ran, as_json = run(*words), run(*words, "--json")

    assert ran.code == as_json.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert said in as_json.document["error"]["message"]
    assert as_json.document["error"]["exit"] == code
    assert not as_json.err


def test_a_draft_tells_where_types_come_from(folder, run):
    """Of CSV they are guessed from rows, which is said; a Parquet file states them."""
    guess = "CSV: types guessed from the first lines"

    for words in (["-o", "a.yaml"], ["--yaml"], []):
        text, stated = (
            run("draft", "patients.csv", *words),
            run("draft", "patients.parquet", *words, "--json"),
        )
        assert guess in text.out
        assert guess not in stated.out
        Path("a.yaml").unlink(missing_ok=True)
    run("draft", "patients.csv", "-o", "a.yaml")
    assert Path("a.yaml").read_text().startswith(f"# {guess}")
    assert run("draft", "patients.csv", "--json").document["types_guessed"] is True
    assert guess in run("draft", "--help").out
    assert "never from its rows" not in run("draft", "--help").out


def test_a_draft_is_not_written_over_the_rows(folder, run):
    """--force overwrites a draft, never the file that it is of."""
    before = Path("patients.csv").read_bytes()

    ran = run("draft", "patients.csv", "-o", "./patients.csv", "--force")

    assert ran.code == exits.USAGE
    assert "would be written over the rows" in ran.err
    assert Path("patients.csv").read_bytes() == before


def test_check_clips_as_release_does(folder, run):
    """Numbers beyond the bounds are fine where the release is told to clip them."""
    text = Path("patients.csv").read_text()
    Path("patients.csv").write_text(text.replace("\n00001,", "\n00001,1"))
    words = ["check", "patients.csv", "--policy", "policy.yaml", "--quiet"]

    assert run(*words).code == run(*words, "--outside", "error").code == exits.REFUSED
    assert run(*words, "--outside", "clip").code == exits.OK
    Path("patients.csv").write_text(text.replace(",asthma,", ",gout,"))
    assert run(*words, "--outside", "clip").code == exits.REFUSED


def test_a_plan_whose_noise_cannot_be_drawn(folder, run):
    """The plan is shown, with a remark; `release` would refuse it."""
    words = ["plan", "policy.yaml", "hist('age')", "--epsilon"]

    told, as_json = run(*words, "1e-300"), run(*words, "1e-300", "--json")
    fine = run(*words, "0.1", "--json")

    assert told.code == as_json.code == exits.OK
    assert "too large to be drawn" in told.err
    assert as_json.document["drawable"] is False
    assert fine.document["drawable"] is True
    assert not fine.err


def test_a_weaker_promise_is_planned_and_not_released(folder, run):
    """`plan` prints its promise; `release` says where it can be made, before anything is charged."""
    query = "hist('sex', strategy='hedging', prior=[1, 1], rows=100, epsilon=0.5)"

    planned = run("plan", "policy.yaml", query)
    refused = run(
        *("release", "patients.csv", query, "--policy", "policy.yaml", "--dataset", "d"),
        *("--epsilon", "1", "--ledger", "new.db", "--new", "-o", "out.csv"),
    )

    assert planned.code == exits.OK
    assert "weaker than a Blowfish policy" in planned.out
    assert refused.code != exits.OK
    assert "release it in Python" in refused.err
    assert not Path("out.csv").exists()


def test_check_shows_rows_of_units(folder, run):
    """How many rows people have and what each limit drops, with the same warning; never quietly."""
    rows = pd.read_csv("patients.csv", dtype={"id": str})
    pd.concat([rows, rows.iloc[:100], rows.iloc[:50]]).to_csv("patients.csv", index=False)
    asked = ["check", "patients.csv", "--policy", "policy.yaml", "--unit"]

    found, as_json = run(*asked, "id"), run(*asked, "id", "--json")
    quiet, strange = run(*asked, "id", "--quiet"), run(*asked, "nobody")

    assert found.code == as_json.code == exits.OK
    assert "private" in found.err
    assert [line.split() for line in found.out.splitlines()][-3:] == [
        ["1", "500", "100", "600", "150", "0.200"],
        ["2", "50", "50", "700", "50", "0.067"],
        ["3", "50", "0", "750", "0", "0.000"],
    ]
    assert as_json.document["check"]["index"] == [1, 2, 3]
    assert quiet.code == exits.USAGE
    assert strange.code != exits.OK
