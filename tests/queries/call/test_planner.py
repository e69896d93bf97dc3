"""The planner is the verbs without data: same plan, no frame, no spend."""

import ast
from fractions import Fraction
from pathlib import Path

import pandas as pd

import pandas_blowfish as bf
from pandas_blowfish.queries.call.planner import VERBS

PACKAGE = Path(bf.__file__).parent


def test_plans_of_a_frame_and_of_its_policy_agree():
    """df.blowfish.plan and policy.plan say the same, and neither charges."""
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(100).blowfish.protect(policy, epsilon=1, ledger=bf.Ledger())

    with_frame = df.blowfish.plan.hist(["sex", "age"], epsilon=0.1, bins={"age": 10})
    without = policy.plan.hist(["sex", "age"], epsilon=0.1, bins={"age": 10})

    assert with_frame.sensitivity == without.sensitivity
    assert with_frame.query == without.query
    assert with_frame.index.equals(without.index)
    assert df.blowfish.budget.spent == 0
    assert len(df.blowfish.ledger.entries) == 1


def test_epsilon_is_one_by_default():
    """A plan needs no epsilon; a release does."""
    policy = bf.datasets.patients_policy()

    assert policy.plan.hist("age").epsilon == policy.plan.count().epsilon == Fraction(1)
    assert "hist" in repr(policy.plan)


def _signatures(tree):
    """Return the parameters of each function in some source that takes epsilon; aliases included."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "epsilon" in [each.arg for each in node.args.kwonlyargs]:
            found[node.name] = node.args
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in found:
            found |= {each.id: found[node.value.id] for each in node.targets}
    return found


def test_type_checkers_see_the_declared_signatures():
    """What a Planner states for them is what Verbs declares, word for word, but for epsilon=1."""
    files = [
        (PACKAGE / "verbs" / name).read_text()
        for name in ("core_verbs.py", "pandas_verbs.py", "summary_verbs.py")
    ]
    declared = {name: each for text in files for name, each in _signatures(ast.parse(text)).items()}
    planned = ast.parse((PACKAGE / "queries" / "call" / "planner.py").read_text())
    stated = _signatures(next(each for each in planned.body if getattr(each, "name", "") == "Planner"))

    assert set(declared) == set(stated) == set(VERBS)
    for name in VERBS:
        place = [each.arg for each in declared[name].kwonlyargs].index("epsilon")
        assert declared[name].kw_defaults[place] is None
        declared[name].kw_defaults[place] = ast.Constant(1)
        assert ast.unparse(stated[name]) == ast.unparse(declared[name]), name


def test_a_plan_foretells_the_release():
    """std, scale and cost are those of the receipt."""
    policy = bf.datasets.patients_policy()
    df = bf.datasets.patients(100).blowfish.protect(policy, epsilon=1)
    plan = df.blowfish.plan.hist("disease", epsilon="1/3")

    released = df.blowfish.hist("disease", epsilon="1/3")

    assert released["std"].tolist() == plan.std.tolist()
    assert released.blowfish.receipt["scale"] == str(plan.scale)
    assert df.blowfish.budget.spent == plan.cost
    assert isinstance(plan.candidates, pd.DataFrame)


def test_a_planner_in_a_notebook_lists_its_verbs():
    """With filters, groups and the policy to open."""
    plan = bf.datasets.patients_policy().plan.where("age < 18").groupby("sex")

    shown = plan._repr_html_()

    for part in ("cumhist", "age &lt; 18", "<details", "values up to 5 apart"):
        assert part in shown
