"""Editors: types of `bf.of(df)`, completion in notebooks and editors, and `help()` that reads well."""

import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import jedi
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.accessor import ProtectedFrame, ReleasedFrame
from pandas_blowfish.table_set import Tables
from pandas_blowfish.types import Strategy
from pandas_blowfish.verbs.core_verbs import Verbs

VERBS = ["hist", "cumhist", "quantile", "range", "marginal", "workload", "count", "sum", "mean"]
VERBS += ["logsum", "geomean", "kmeans", "value_counts", "size", "median", "crosstab", "mode", "top"]
VERBS += ["var", "std", "cov", "corr", "describe", "agg"]
SCRIPT = """
import pandas as pd
import pandas_blowfish as bf

df = bf.of(pd.DataFrame())
reveal_type(df.hist("age", epsilon=0.1, bins=[0, 18, 65]))
reveal_type(df.marginal(["sex", "region"], epsilon="1/10"))
reveal_type(df.marginal([["sex", "region"], ["sex"]], epsilon=0.1))
reveal_type(df.marginal(["sex", "region", "age"], order=2, epsilon=0.1))
reveal_type(df.range(["age", "income"], [((0, 17), (0, None))], epsilon=1))
reveal_type(df.kmeans(["age", "income"], 3, epsilon=1, scale={"age": 2}))
reveal_type(df.where("age > 3").groupby("sex"))
reveal_type(df.groupby("sex")["income"])
reveal_type(df[["age", "income"]].mean(epsilon=1))
reveal_type(df["age"].range([(0, 17)], epsilon=1))
reveal_type(df["age"].quantile([0.25, 0.75], epsilon=1))
reveal_type(df.plan[["age", "income"]].kmeans(4))
reveal_type(df.crosstab("sex", "disease", epsilon=1, normalize="index"))
reveal_type(df.where("age > 3").plan.cumhist("age"))
reveal_type(df.budget.remaining)
reveal_type(df.protect(bf.datasets.patients_policy(), epsilon=1))
reveal_type(df.hist(bins=3))
reveal_type(df.cumhist().blowfish)
reveal_type(df.quantile([0.5]))
reveal_type(df.range([(0, 17)]))
reveal_type(df.interval(0.9))
reveal_type(df.plan.marginal([["sex", "region"], ["sex"]]))
reveal_type(bf.protect(pd.DataFrame(), bf.datasets.patients_policy(), epsilon=1).hist("age", epsilon=1))
df.hist("age", epsilon=[0.1])
df.hist(3, epsilon=0.1)
df.hist("age")
df.where("age > 3").quantile("age", [0.5])
df.sum("age")
df[3].sum(epsilon=1)
df["age"].describe()
bf.protect(pd.DataFrame(), bf.datasets.patients_policy(), epsilon=1).hist("age")
df.plan.hist("age", epsilon=[0.1])
df.nothing
"""
WRONG = 10  # last lines of the script, each an error
CACHE = Path(__file__).resolve().parents[1] / ".mypy_cache" / "editors"
FRAME, TABLES = "DataFrame", "Tables"
TYPES = [FRAME, FRAME, TABLES, TABLES, FRAME, FRAME, "AnyFrame", "AnyFrame", FRAME, FRAME, FRAME]
TYPES += ["Plan", FRAME, "Plan", "Fraction", FRAME]
TYPES += [FRAME, "Series[Any]", FRAME, FRAME, FRAME, "Plan", FRAME]


def test_a_type_checker_knows_what_comes_back(tmp_path):
    """`bf.of(df)` is typed: results, steps, questions to releases, wrong arguments and a missing epsilon."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    command += ["--cache-dir", str(CACHE)]  # under other options than `make test`, whose cache it would spoil

    run = subprocess.run([*command, str(script)], capture_output=True, text=True, cwd=Path.cwd())

    revealed = [re.sub(r"\b[a-z_]+\.", "", each) for each in re.findall(r'type is "(.*)"', run.stdout)]
    assert revealed == TYPES, run.stdout + run.stderr
    wrong = {int(each) for each in re.findall(r"script.py:(\d+): error: ", run.stdout)}
    last = len(SCRIPT.splitlines())
    assert wrong == set(range(last - WRONG + 1, last + 1)), run.stdout


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """Keep what jedi remembers apart: two processes that share its files read half-written ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jedi.settings, "cache_directory", str(tmp_path_factory.mktemp("jedi")))
        yield


@pytest.mark.xdist_group("jedi")  # which reads pandas once in a process
@pytest.mark.parametrize("text", ["bf.of(df).", "bf.of(df).where('age > 3').groupby('sex').", "policy.plan."])
def test_editors_complete_verbs(text):
    """What an editor offers after the dot, from the source alone."""
    opening = "import pandas as pd\nimport pandas_blowfish as bf\ndf = pd.DataFrame()\n"
    policy = "policy = bf.datasets.patients_policy()\n"
    script = jedi.Script(opening + policy + text)

    offered = {each.name for each in script.complete()}

    assert offered >= {*VERBS, "where", "groupby"}


@pytest.mark.xdist_group("jedi")
def test_notebooks_complete_verbs():
    """What a notebook offers after `df.blowfish.`, protected, released or neither: what can be called."""
    policy = bf.datasets.patients_policy()
    rows = bf.datasets.patients(50)
    df = rows.blowfish.protect(policy, epsilon=1)
    released = df.blowfish.hist("sex", epsilon=0.1)
    wanted = [{"protect"}, {*VERBS, "protect", "plan", "budget", "report"}, {"receipt", "plot", "interval"}]
    for frame, names in zip((rows, df, released), wanted, strict=True):
        offered = {each.name for each in jedi.Interpreter("frame.blowfish.", [{"frame": frame}]).complete()}
        assert offered >= names
        assert {each for each in offered if each[0] != "_"} == {
            each for each in dir(frame.blowfish) if each[0] != "_"
        }


def test_every_strategy_is_offered():
    """The names an editor offers for `strategy=` are those that verbs know."""
    offered = set(Strategy.__args__[0].__args__)
    plan, known = bf.datasets.patients_policy().plan, {"auto"}
    asked = [
        lambda s: plan.cumhist("age", strategy=s),
        lambda s: plan.hist("sex", strategy=s),
        lambda s: plan.marginal([["sex"], ["disease"]], strategy=s),
        lambda s: plan.workload([[1, -1]], "sex", strategy=s),
        lambda s: plan.sum("age", strategy=s),
        lambda s: plan.sum("age", clip="auto", strategy=s),
        lambda s: plan.var("age", strategy=s),
        lambda s: plan.describe("age", strategy=s),
        lambda s: plan.kmeans(["age", "income"], 2, strategy=s),
        lambda s: plan.mode("age", strategy=s),
        lambda s: plan.range(["age", "income"], [((0, 17), (0, 1000))], strategy=s),
    ]
    for ask in asked:
        with pytest.raises(bf.errors.UnknownStrategyError) as caught:
            ask("no such strategy")
        known |= set(re.findall(r"[a-z_]+", str(caught.value).split("allowed:")[1].split("fix:")[0]))

    assert offered == known


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_one_signature(verb):
    """On frames, groups, tables of other engines and `plan`: a call can be copied; just epsilon=1 differs."""
    df = bf.datasets.patients(5).blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
    table = bf.protect(bf.datasets.patients(5), bf.datasets.patients_policy(), epsilon=1)
    declared = inspect.signature(getattr(Verbs, verb))
    stated = [each for name, each in declared.parameters.items() if name != "self"]

    for asked in (df.blowfish, df.blowfish.groupby("sex"), table, table.where("age < 18")):
        signature = inspect.signature(getattr(asked, verb))
        assert list(signature.parameters.values()) == stated
        assert signature.parameters["epsilon"].default is inspect.Parameter.empty
        assert signature.return_annotation in (pd.DataFrame, pd.DataFrame | Tables)
        assert inspect.getdoc(getattr(asked, verb)) == inspect.getdoc(getattr(Verbs, verb))
    for asked in (df.blowfish.plan, bf.datasets.patients_policy().plan.groupby("sex")):
        signature = inspect.signature(getattr(asked, verb))
        one = [each.replace(default=1) if each.name == "epsilon" else each for each in stated]
        assert list(signature.parameters.values()) == one
        assert signature.return_annotation is bf.Plan
        assert inspect.getdoc(getattr(asked, verb)) == inspect.getdoc(getattr(Verbs, verb))


HELP = [(ProtectedFrame, each) for each in [*VERBS, "protect", "where", "groupby", "report"]]
HELP += [(ReleasedFrame, each) for each in ["hist", "cumhist", "quantile", "range", "interval", "plot"]]


@pytest.mark.parametrize(("role", "name"), HELP)
def test_help_of_verbs(role, name):
    """`help(df.blowfish.hist)`: a signature that names its types, a sentence, what each argument is."""
    text = pydoc.render_doc(getattr(role, name), renderer=pydoc.plaintext)
    parameters = list(inspect.signature(getattr(role, name)).parameters)[1:]

    assert "Any = None" not in text.splitlines()[2].replace("ax: 'Any = None'", "")
    assert all(re.search(rf"^\s+{each}: \S", text, re.MULTILINE) for each in parameters if name != "range")


@pytest.mark.parametrize("name", [each for each in bf.__all__ if each != "__version__"])
def test_help_of_public_names(name):
    """Every public name says what it is, in a sentence."""
    doc = inspect.getdoc(getattr(bf, name)) or ""

    assert re.match(r"[A-Z\"`a-z].{15,}[.:]$", doc.splitlines()[0]), doc


def test_help_of_the_package_is_a_map():
    """`help(bf)` begins with what to use when, and names nothing that is not there."""
    doc = inspect.getdoc(bf) or ""
    called = re.findall(r"`(?:df|policy|result)?\.?([a-z_]+)[(`]", doc)

    assert len(called) > 10
    for name in called:
        owners = (bf, ProtectedFrame, ReleasedFrame, bf.Policy, pd.DataFrame)
        assert any(hasattr(each, name) for each in owners), name
