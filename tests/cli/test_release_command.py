"""release: all or nothing before the first charge, free when run again, safe among several processes."""

import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import yaml

import pandas_blowfish as bf
from pandas_blowfish.cli import exits, outputs
from pandas_blowfish.count.readers import files
from pandas_blowfish.errors import StaleFrameError

AGES, SEXES = "hist('age', epsilon='0.25')", "hist('sex', epsilon=0.5)"


def _spent(dataset="p"):
    return bf.Ledger("budget.db").budget(dataset).spent


def _jobs(**changed):
    stated = {
        "data": "patients.parquet",
        "policy": "policy.yaml",
        "dataset": "p",
        "ledger": "budget.db",
        "epsilon": 1,
        "releases": [
            {"query": AGES, "out": "ages.parquet"},
            {"query": SEXES, "name": "sexes", "out": "both.csv"},
            "where(\"region == 'north'\").count(epsilon=1)",
        ],
    }
    Path("jobs.yaml").write_text(yaml.safe_dump({**stated, **changed}))
    return "jobs.yaml"


def test_a_release_is_written_with_its_receipt(release):
    """The answer is the library's, in a file that carries its receipt; its name is the file's."""
    ran = release(AGES, "-o", "ages.parquet")
    ages = pd.read_parquet("ages.parquet")

    assert ran.code == exits.OK
    assert "ages: charged 0.25: ages.parquet" in ran.out
    assert "spent 0.25 of 1, remaining 0.75" in ran.out
    assert ages.blowfish.receipt["name"] == "ages"
    assert len(ages) == 100
    assert bf.Ledger("budget.db").verify(ages.blowfish.receipt)


def test_again_is_free(release):
    """The same run finds the kept answer, from a CSV as from Parquet, and writes the same file."""
    first = release(AGES, "-o", "ages.csv")
    before = Path("ages.csv").read_bytes()
    Path("ages.csv").unlink()  # as a crash between charge and write leaves it

    again = release(AGES, "-o", "ages.csv", "--json")

    assert first.code == again.code == exits.OK
    assert Path("ages.csv").read_bytes() == before
    assert again.document["releases"][0]["status"] == "kept"
    assert again.document["releases"][0]["charged"] == "0"
    assert _spent() == Fraction(1, 4)


def test_a_query_without_a_name_is_its_own(release):
    """Printed answers are kept too, under their text; unnamed ones are charged each time."""
    first, again = release(SEXES), release("df.blowfish.hist( 'sex', epsilon='1/2')")
    assert "charged 0.5" in first.out
    assert "costs nothing, answered before" in again.out
    assert _spent() == Fraction(1, 2)

    fresh = (
        release("hist('sex', epsilon='1/8')", "--unnamed"),
        release("hist('sex', epsilon='1/8')", "--unnamed"),
    )
    assert all(ran.code == exits.OK for ran in fresh)
    assert _spent() == Fraction(3, 4)


def test_the_same_query_under_another_name_is_told(release):
    """It is charged, for names are the user's choice, but before that the name that makes it free is said."""
    first = release(AGES, "--name", "it's ages")
    planned = release(AGES, "--dry-run", "--json")
    spent = _spent()
    other = release(AGES, "-o", "ages.csv")
    unnamed = release(AGES, "--unnamed")
    different = release("hist('age', epsilon='0.125')")

    said = "the same query is kept as \"it's ages\": --name 'it'\"'\"'s ages' is free"
    assert "same query" not in first.err + different.err
    assert said in planned.err
    assert planned.document["releases"][0]["same_as"] == "it's ages"
    assert spent == Fraction(1, 4)
    assert said in other.err
    assert said in unnamed.err
    assert "costs nothing, answered before" in release(AGES, "--name", "it's ages").out


def test_a_new_budget_is_told_once_it_is_there(release, run):
    """Not by a run that fails, before it is bound; of a dry run it is said that it would be."""
    fixed = [
        "release",
        "patients.csv",
        AGES,
        "--policy",
        "policy.yaml",
        "--ledger",
        "budget.db",
        "--dataset",
        "p",
        "--new",
    ]
    text = Path("patients.csv").read_text()

    missing = run(*fixed)
    planned = release(AGES, "--dry-run")
    Path("patients.csv").write_text(text.replace(",asthma,", ",gout,"))
    dirty = release(AGES)
    Path("patients.csv").write_text(text)
    done, again = release(AGES), release(AGES)

    assert "--epsilon is missing" in missing.err
    assert dirty.code == exits.REFUSED
    assert "is new" not in missing.err + planned.err + dirty.err + again.err
    assert "dataset 'p' would be new in 'budget.db': a new budget of 1" in planned.err
    assert "dataset 'p' is new in 'budget.db': a new budget of 1" in done.err


def test_dirty_cells_are_mended_by_marks(release):
    """A text that means missing is said; the error of rows outside says how, and other ways."""
    policy = yaml.safe_load(Path("policy.yaml").read_text())
    policy["columns"]["disease"]["nullable"] = True
    Path("policy.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    Path("patients.csv").write_text(Path("patients.csv").read_text().replace(",asthma,", ",?,"))

    dirty = release("hist('disease', epsilon='0.1')")
    clean = release("hist('disease', epsilon='0.1')", "--na", "?")
    _jobs(data="patients.csv", na=["?"])
    jobs = release("--jobs", "jobs.yaml")

    assert dirty.code == exits.REFUSED
    assert "`pandas-blowfish check` counts them" in dirty.err
    assert "--na MARK" in dirty.err
    assert "leave the column out of the policy if no query needs it" in dirty.err
    assert "bf." not in dirty.err
    assert clean.code == exits.OK
    assert jobs.code == exits.OK


def test_jobs_are_one_file(folder, run):
    """A nightly job: everything in a file, paths from where it is, free when it is run again."""
    _jobs()
    ran = run("release", "--new", "--jobs", "jobs.yaml")
    again = run("release", "--new", "--jobs", "jobs.yaml", "--json").document

    assert ran.code == exits.OK
    assert "exact, costs nothing" in ran.out
    assert all(Path(name).exists() for name in ("ages.parquet", "both.csv", "both.receipt.json"))
    assert [each["status"] for each in again["releases"]] == ["kept"] * 3
    assert again["budget"] == {"total": "1", "spent": "3/4", "remaining": "1/4"}
    assert not list(folder.glob(".blowfish-*"))


def test_nothing_is_charged_when_one_is_wrong(folder, run):
    """A run whose third query is wrong in any way charges nothing and begins no ledger."""
    good = [{"query": AGES, "out": "ages.parquet"}, {"query": SEXES}]
    for wrong, code in [
        ({"query": "hist('age', epsilon=eps)"}, exits.USAGE),
        ({"query": "hist('nowhere', epsilon=1)"}, exits.USAGE),
        ({"query": "hist('age')"}, exits.USAGE),
        ({"query": "hist('age', epsilon='1/1000000000000000000000')"}, exits.USAGE),
        ({"query": "hist('age', epsilon=0.1)", "out": "no/where.csv"}, exits.FILES),
        ({"query": "hist('age', epsilon=0.1)", "out": "x.doc"}, exits.USAGE),
        ({"query": "hist('age', epsilon=0.1)", "out": "ages.parquet"}, exits.USAGE),
        ({"query": "hist('age', epsilon=0.1)", "name": "ages"}, exits.LEDGER),
        ({"query": "hist('age', epsilon=0.1)", "name": " "}, exits.USAGE),
        ({"query": "hist('age', epsilon='0.3')"}, exits.BUDGET),
        ({"query": "hist('age', epsilon=0.1, post=3)"}, exits.USAGE),
    ]:
        _jobs(releases=[*good, wrong])
        ran = run("release", "--new", "--jobs", "jobs.yaml")

        assert ran.code == code, (wrong, ran.err)
        assert not Path("budget.db").exists()
        assert not Path("ages.parquet").exists()


def test_the_whole_run_must_fit(release):
    """What is answered counts nothing; what is new must fit together, or nothing is charged."""
    release(SEXES)

    over = release(SEXES, "hist('age', epsilon='0.3')", "hist('age', epsilon='0.21')", "--json")
    fits = release(
        SEXES, "hist('age', epsilon='0.3')", "hist('age', epsilon='0.2')", "hist('age', epsilon='0.2')"
    )

    assert over.code == exits.BUDGET
    assert over.document["error"]["facts"]["requested"] == "51/100"
    assert "done" not in over.document
    assert fits.code == exits.OK
    assert _spent() == 1


def test_dry_run(release, folder):
    """Says what would be charged, reads no rows and writes nothing."""
    Path("patients.csv").unlink()

    told = release(AGES, SEXES, "--dry-run")
    as_json = release(AGES, SEXES, "--dry-run", "--json").document

    assert told.code == exits.OK
    assert "would be charged 0.75 of the remaining 1" in told.out
    assert [each["cost"] for each in as_json["releases"]] == ["1/4", "1/2"]
    assert not Path("budget.db").exists()


def test_other_rows_other_names(release, run):
    """Rows that changed, another total and another query under a name are refused, and cost nothing."""
    release(AGES, "-o", "ages.parquet")
    renamed = release("hist('sex', epsilon=0.1)", "--name", "ages")
    total = release(AGES, epsilon=2)
    lines = Path("patients.csv").read_text().splitlines()
    Path("patients.csv").write_text("\n".join(lines[:-1]) + "\n")
    changed = release(AGES, "-o", "ages.parquet")

    assert renamed.code == total.code == exits.LEDGER
    assert "already stands for another query" in renamed.err
    assert changed.code == exits.REFUSED
    assert "the number of rows" in changed.err
    assert _spent() == Fraction(1, 4)


def test_units_and_clipping(folder, release, run):
    """The unit's column is read as text; clipping is a choice on the record."""
    once = release("count(epsilon=1)", "--unit", "id")
    text = Path("patients.csv").read_text()
    Path("patients.csv").write_text(text.replace("\n00001,", "\n00000,").replace("\n00002,", "\n2,"))
    fixed = ["--policy", "policy.yaml", "--ledger", "budget.db", "--epsilon", 1, "--new", "patients.csv"]
    twice = run("release", "count(epsilon=1)", "--unit", "id", "--dataset", "q", *fixed)
    Path("patients.csv").write_text(text.replace("\n00001,", "\n00001,1"))
    outside = run("release", "count(epsilon=1)", "--dataset", "q", *fixed)
    clipped = run("release", "count(epsilon=1)", "--dataset", "q", "--outside", "clip", *fixed)

    assert once.code == exits.OK
    assert twice.code == exits.REFUSED
    assert "repeats" in twice.err
    assert outside.code == exits.REFUSED
    assert "'age'" in outside.err
    assert clipped.code == exits.OK


def test_the_total_is_known_to_the_ledger(release, run):
    """A dataset that is there needs no --epsilon; a new one does."""
    fixed = ["release", "patients.csv", AGES, "--policy", "policy.yaml", "--ledger", "budget.db", "--dataset"]
    assert run(*fixed, "p", "--new").code == exits.USAGE
    release(AGES)
    assert run(*fixed, "p").code == exits.OK


def test_several_tables(release):
    """A dict of frames is a file a table; printed, they follow each other."""
    written = release("marginal(['sex', 'region'], order=1, epsilon=0.1)", "-o", "tables.parquet", "--json")
    printed = release("marginal([['sex'], ['region']], epsilon=0.1)")
    as_json = release("marginal([['sex'], ['region']], epsilon=0.1)", "--json").document

    assert sorted(written.document["releases"][0]["out"]) == ["tables-region.parquet", "tables-sex.parquet"]
    assert "north" in printed.out
    assert "F" in printed.out
    assert len(as_json["releases"][0]["answer"]) == 2


def test_facts_recorded_since_are_planned_under(release):
    """A named answer stays free after a fact was recorded; a closed dataset answers nothing new."""
    release(AGES)
    bf.Ledger("budget.db").record_exact("p", bf.Count("age < 18"))
    budget = bf.Ledger("budget.db").budget("p")

    again = release(AGES)
    new = release("hist('sex', epsilon=1)")

    assert again.code == exits.OK
    assert new.code == exits.BUDGET
    assert bf.Ledger("budget.db").budget("p") == budget


def test_a_full_disk_loses_nothing(release, monkeypatch):
    """An answer that cannot be written is kept, and the next run writes it for nothing."""

    def full(result, out):
        raise OSError(28, "No space left on device", str(out))

    with monkeypatch.context() as broken:
        broken.setattr(outputs, "write", full)
        ran = release(AGES, "-o", "ages.parquet")
    again = release(AGES, "-o", "ages.parquet")

    assert ran.code == exits.FILES
    assert "its answer is kept" in ran.err
    assert again.code == exits.OK
    assert _spent() == Fraction(1, 4)


def test_interrupted_between_releases(folder, run, monkeypatch):
    """Ctrl-C waits for the release at hand, is told, and what was done is known."""
    _jobs()
    write = outputs.write

    def pressed(result, out):
        signal.raise_signal(signal.SIGINT)
        return write(result, out)

    with monkeypatch.context() as pressing:
        pressing.setattr(outputs, "write", pressed)
        ran = run("release", "--new", "--jobs", "jobs.yaml", "--json")
    spent = _spent()
    again = run("release", "--new", "--jobs", "jobs.yaml", "--json")

    assert ran.code == exits.INTERRUPTED
    assert [each["name"] for each in ran.document["done"]] == ["ages"]
    assert Path("ages.parquet").exists()
    assert spent == Fraction(1, 4)
    assert [each["status"] for each in again.document["releases"]] == ["kept", "charged", "exact"]
    assert _spent() == Fraction(3, 4)


def test_two_processes_at_once(folder):
    """The same job started twice is charged once for each name, and both end well."""
    _jobs(releases=[{"query": AGES, "name": "ages"}])
    command = [sys.executable, "-m", "pandas_blowfish", "release", "--new", "--jobs", "jobs.yaml", "--json"]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    outs = [each.communicate() for each in both]

    assert [each.returncode for each in both] == [0, 0], outs
    assert _spent() == Fraction(1, 4)
    assert bf.Ledger("budget.db").verify()


def test_nothing_private_is_printed(folder, release):
    """No row's value, and no exact count where the number of rows is secret."""
    hidden = bf.Policy(bf.datasets.patients_policy().domain, presence=True)
    Path("policy.yaml").write_text(hidden.to_yaml())
    text = Path("patients.csv").read_text().replace(",asthma,", ",Smith-17,")
    Path("patients.csv").write_text(text)

    refused = release(AGES)
    Path("patients.csv").write_text(text.replace(",Smith-17,", ",flu,"))
    fine = release(AGES, "-o", "x.csv")

    assert refused.code == exits.REFUSED
    assert "Smith" not in refused.out + refused.err
    assert fine.code == exits.OK
    assert "600" not in fine.out + fine.err


def test_a_new_dataset_is_said_to_be_new(release, run):
    """A lost ledger or a misspelt name begins no new budget: the noise could be averaged away."""
    lost = release(AGES, new=False)
    began = Path("budget.db").exists()
    first, again, repeated = release(AGES), release(AGES, new=False), release(AGES)
    words = ["release", "patients.csv", AGES, "--policy", "policy.yaml", "--ledger", "budget.db"]
    misspelt = run(*words, "--dataset", "q", "--epsilon", 1)
    total = run(*words, "--dataset", "q", "--dry-run")  # which the ledger knows, of the right one
    _jobs(new=True)

    assert lost.code == exits.FILES
    assert misspelt.code == total.code == exits.LEDGER
    for ran in (lost, misspelt, total):
        assert "add --new if this is the first release of it" in ran.err
    assert not began
    assert [each.code for each in (first, again, repeated)] == [exits.OK] * 3
    assert bf.Ledger("budget.db").datasets == ["p"]
    assert "unknown key `new:`" in run("release", "--jobs", "jobs.yaml").err


def test_a_dry_run_says_that_it_is_new(release):
    """With all that it would charge, and the exit code of the run itself."""
    lost, fine = release(AGES, "--dry-run", new=False), release(AGES, "--dry-run", "--json")
    as_json = release(AGES, "--dry-run", "--json", new=False)

    assert lost.code == as_json.code == exits.FILES
    assert "would be charged 0.25 of the remaining 1" in lost.out
    assert "dataset 'p' would be new in 'budget.db'" in lost.err
    assert "add --new" in lost.err
    assert as_json.document["error"]["type"] == "LedgerNotFoundError"
    assert as_json.document["budget"]["cost"] == "1/4"
    assert fine.code == exits.OK
    assert fine.document["new"] is True
    assert "error" not in fine.document


def test_a_ledger_lost_while_rows_are_read(release, monkeypatch):
    """It is not begun again."""
    release(AGES)
    read = files.read_table

    def unmounted(*args, **kwargs):
        table = read(*args, **kwargs)
        Path("budget.db").unlink()
        return table

    monkeypatch.setattr(files, "read_table", unmounted)
    ran = release("hist('sex', epsilon='0.1')", new=False)

    assert ran.code == exits.FILES
    assert not Path("budget.db").exists()


def test_the_policy_told_is_the_one_kept(release):
    """A stronger policy may be given; the promise stays the first, and that is what is said."""
    first = bf.datasets.patients_policy()
    stronger = bf.Policy(first.domain)
    release(AGES)
    Path("policy.yaml").write_text(stronger.to_yaml())

    for words in (["--json"], ["--json", "--dry-run"]):
        ran = release("hist('sex', epsilon='0.1')", *words)

        assert ran.code == exits.OK
        assert ran.document["policy"] == first.fingerprint != stronger.fingerprint
        assert f"keeps the policy it was begun with ({first.fingerprint})" in ran.err
        assert f"not that of 'policy.yaml' ({stronger.fingerprint})" in ran.err
        for each in ran.document["releases"] if "--dry-run" not in words else []:
            assert each["receipt"]["policy"] == ran.document["policy"]


def test_a_dry_run_refuses_what_the_run_refuses(release):
    """Another total, policy, choice or unit than the dataset's, and what no run can be told."""
    release(AGES)
    weaker = bf.Policy(bf.datasets.patients_policy().domain, secrets={"age": bf.public()})
    Path("weaker.yaml").write_text(weaker.to_yaml())

    for words in (
        ["--epsilon", "2"],
        ["--policy", "weaker.yaml"],
        ["--outside", "clip"],
        ["--unit", "id"],
        ["--dataset", "p "],
    ):
        dry, real = release(AGES, *words, "--dry-run"), release(AGES, *words)

        assert dry.code == real.code != exits.OK, words
        assert dry.err == real.err


def test_a_pool_is_shared_by_datasets(release, run):
    """Opened with its total, then by its name; a run that it does not suffice for is refused as a whole."""
    first = release(AGES, "--pool", "people", "--pool-epsilon", "0.5", "--analyst", "ana")
    again = release(AGES, new=False)
    much = release(SEXES, new=False)
    other = release(SEXES, "--dataset", "q", "--pool", "people")

    assert (first.code, again.code, much.code, other.code) == (exits.OK, exits.OK, exits.BUDGET, exits.BUDGET)
    assert "pool 'people'" in much.err
    book = bf.Ledger("budget.db")
    assert (book.datasets, book.budget("people").spent) == (["p"], Fraction(1, 4))
    assert book.entries["analyst"].tolist() == [None, None, "ana", None, None]
    raised = run(
        "ledger", "budget.db", "--dataset", "people", "--raise", "2", "--reason", "agreed", "--verify"
    )
    assert raised.code == exits.OK
    assert "people: spent 0.25 of 2, remaining 1.75" in raised.out
    assert release(SEXES, "--dataset", "q", "--pool", "people").code == exits.OK
    assert book.budget("people").spent == Fraction(3, 4)
    assert book.verify()


def test_pools_that_cannot_be(release):
    """Without a total, with another one, of another dataset, or a total of none: nothing is written."""
    assert release(AGES, "--pool", "people").code == exits.USAGE
    assert release(AGES, "--pool-epsilon", "1").code == exits.USAGE
    assert not Path("budget.db").exists()
    assert release(AGES).code == exits.OK
    assert release(SEXES, "--pool", "people", "--pool-epsilon", "1").code == exits.LEDGER


def test_rows_under_a_second_name_are_noted(release):
    """--new allows them; the run states whose rows they are."""
    release(AGES)

    ran = release(AGES, "--dataset", "q")

    assert ran.code == exits.OK
    assert "its rows are those of dataset 'p'" in ran.err


SHOPS = """\
blowfish: 1
columns:
  shop: {type: string, secret: {secret: public, keys: rows}}
  level: {type: category, values: [1, 2], other: more, secret: full}
"""


def test_keys_and_others_of_a_file(folder, run):
    """Keys come from the file, the first time and again; numbers that are not listed are one cell."""
    rows = pd.DataFrame({"shop": ["b", "a", "b"], "level": ["1", "7", "x"]})
    rows.to_csv("shops.csv", index=False)
    Path("shops.yaml").write_text(SHOPS)
    fixed = ["release", "shops.csv", "--policy", "shops.yaml", "--dataset", "s", "--ledger", "budget.db"]
    asked = ["marginal(['shop', 'level'], epsilon=1)", "--epsilon", 2, "--json"]

    preview = run(*fixed, *asked, "--new", "--dry-run")
    first, again = run(*fixed, *asked, "--new"), run(*fixed, *asked)

    assert (preview.code, first.code, again.code) == (0, 0, 0), first.err
    assert first.document["policy"] == again.document["policy"] == preview.document["policy"]
    assert again.document["releases"][0]["status"] == "kept"
    assert len(first.document["releases"][0]["answer"]["index"]) == 6
    checked = run("check", "shops.csv", "--policy", "shops.yaml", "--json")
    assert checked.code == 0
    assert "other" in checked.document["check"]["columns"]
    rows.assign(shop=["b", "c", "b"]).to_csv("shops.csv", index=False)
    changed = run(*fixed, "hist('level', epsilon=1)", "--epsilon", 2)
    assert changed.code == exits.code_of(StaleFrameError("s", "rows are"))


def test_people_with_several_rows(folder, release, run):
    """As many rows of each are kept as is stated, by option or in a file; another number is refused."""
    rows = pd.read_csv("patients.csv", dtype={"id": str})
    pd.concat([rows, rows.iloc[:100], rows.iloc[:50]]).to_csv("patients.csv", index=False)
    people = ["--unit", "id", "--max-rows", "2"]

    single = release("count(epsilon=1)", "--unit", "id")
    nobody = release("count(epsilon=1)", "--max-rows", "2")
    none = release("count(epsilon=1)", "--unit", "id", "--max-rows", "0")
    first = release("count(epsilon=1)", *people, "--json")
    jobs = run("release", "--jobs", _jobs(data="patients.csv", unit="id", max_rows=2, releases=[AGES]))
    other = release(AGES, "--unit", "id", "--max-rows", "3", new=False)

    assert (single.code, nobody.code, none.code) == (exits.REFUSED, exits.USAGE, exits.USAGE)
    assert "--max-rows 3" in single.err
    assert "--unit COLUMN --max-rows 3" in nobody.err
    assert first.code == jobs.code == exits.OK
    assert first.document["releases"][0]["receipt"]["max_rows"] == 2
    assert first.document["releases"][0]["answer"]["data"][0][0] == 700
    assert other.code == exits.LEDGER
    assert "max_rows" in other.err
    assert _spent() == Fraction(1, 4)
