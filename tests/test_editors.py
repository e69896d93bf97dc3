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
from pandas_blowfish.queries.planner import Planner
from pandas_blowfish.types import Strategy

VERBS = ["hist", "cumhist", "quantile", "range", "marginal", "workload", "count", "sum", "mean"]
VERBS += ["logsum", "geomean", "kmeans"]
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
reveal_type(df.where("age > 3").plan.cumhist("age"))
reveal_type(df.budget.remaining)
reveal_type(df.protect(bf.datasets.patients_policy(), epsilon=1))
df.hist("age", epsilon=[0.1])
df.hist(3, epsilon=0.1)
"""
CACHE = Path(__file__).resolve().parents[1] / ".mypy_cache" / "editors"
FRAME, TABLES = "DataFrame", "dict[tuple[str, ...], DataFrame]"
TYPES = [FRAME, FRAME, TABLES, TABLES, FRAME, FRAME, "BlowfishAccessor", "Plan", "Fraction", FRAME]


def test_a_type_checker_knows_what_comes_back(tmp_path):
    """`bf.of(df)` is typed: results, steps and wrong arguments."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent"]
    command += ["--cache-dir", str(CACHE)]  # under other options than `make test`, whose cache it would spoil

    run = subprocess.run([*command, str(script)], capture_output=True, text=True, cwd=Path.cwd())

    revealed = [re.sub(r"\b[a-z_]+\.", "", each) for each in re.findall(r'type is "(.*)"', run.stdout)]
    assert revealed == TYPES, run.stdout + run.stderr
    wrong = re.findall(r"script.py:(\d+): error: Argument", run.stdout)
    assert [int(each) for each in wrong] == [len(SCRIPT.splitlines()) - 1, len(SCRIPT.splitlines())]


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
    """What a notebook offers after `df.blowfish.`, protected, released or neither; nothing is raised."""
    policy = bf.datasets.patients_policy()
    rows = bf.datasets.patients(50)
    df = rows.blowfish.protect(policy, epsilon=1)
    for frame in (rows, df, df.blowfish.hist("sex", epsilon=0.1)):
        offered = {each.name for each in jedi.Interpreter("frame.blowfish.", [{"frame": frame}]).complete()}
        assert offered >= {*VERBS, "protect", "plan", "budget", "receipt", "plot", "interval", "report"}


def test_every_strategy_is_offered():
    """The names an editor offers for `strategy=` are those that verbs know."""
    offered = set(Strategy.__args__[0].__args__)
    plan, known = bf.datasets.patients_policy().plan, {"auto"}
    asked = [
        lambda s: plan.cumhist("age", strategy=s),
        lambda s: plan.marginal([["sex"], ["disease"]], strategy=s),
        lambda s: plan.workload([[1, -1]], "sex", strategy=s),
        lambda s: plan.sum("age", strategy=s),
        lambda s: plan.kmeans(["age", "income"], 2, strategy=s),
        lambda s: plan.range(["age", "income"], [((0, 17), (0, 1000))], strategy=s),
    ]
    for ask in asked:
        with pytest.raises(bf.errors.UnknownStrategyError) as caught:
            ask("no such strategy")
        known |= set(re.findall(r"[a-z_]+", str(caught.value).split("allowed:")[1].split("fix:")[0]))

    assert offered == known


@pytest.mark.parametrize("verb", VERBS)
def test_planners_take_what_verbs_take(verb):
    """A call can be copied from `df.blowfish` to `df.blowfish.plan`: same arguments, same types."""
    asked, planned = (inspect.signature(getattr(each, verb)) for each in (bf.BlowfishAccessor, Planner))

    assert set(asked.parameters) <= set(planned.parameters)
    for name in set(asked.parameters) - {"self"}:
        told, plan = asked.parameters[name].annotation, planned.parameters[name].annotation
        assert plan.removesuffix(" | None") == told.removesuffix(" | None"), name


@pytest.mark.parametrize("name", [*VERBS, "protect", "where", "groupby", "interval", "plot", "report"])
def test_help_of_verbs(name):
    """`help(df.blowfish.hist)`: a signature that names its types, a sentence, what each argument is."""
    text = pydoc.render_doc(getattr(bf.BlowfishAccessor, name), renderer=pydoc.plaintext)
    parameters = list(inspect.signature(getattr(bf.BlowfishAccessor, name)).parameters)[1:]

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
        owners = (bf, bf.BlowfishAccessor, bf.Policy, pd.DataFrame)
        assert any(hasattr(each, name) for each in owners), name
