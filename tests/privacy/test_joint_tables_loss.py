"""The audit of tables whose noise is drawn together: by definition, edge by edge, norm by norm."""

import dataclasses
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, UnsoundPlanError
from pandas_blowfish.kernel.check import Check
from pandas_blowfish.plan.tables.shared import joint_search
from pandas_blowfish.plan.worst_case import closure, closure_graph
from pandas_blowfish.policy.domain import Domain, integers

CHUNKS, EACH = 4, 50


def norm(kind, changes, reaches):
    """Return the norm of a block's change, infinite where its noise cannot make up for it."""
    if kind == "box":
        return max(-(-abs(int(each)) // reach) for each, reach in zip(changes, reaches, strict=True))
    return Fraction(int(np.abs(changes).sum()), 2) if changes.sum() == 0 else math.inf


def loss_of(change, scales):
    """Return what a change of all query rows loses, as the densities of their noise say."""
    lost = Fraction(0)
    for code, scale in enumerate(scales.values):
        if code in scales.joint:
            blocks = scales.joint[code].blocks
            length = max(norm(each.kind, change[each.rows], each.reaches) for each in blocks)
        else:
            length = int(np.abs(change[scales.codes == code]).sum())
        if length == math.inf or (length and not scale):
            return math.inf
        lost += Fraction(length) / scale if length else 0
    return lost


def worst_of(measured, edges):
    """Return the largest loss over edges; "absent" is a column of zeros."""
    matrix = measured.matrix().toarray()
    matrix = np.column_stack([matrix, np.zeros(len(matrix), dtype=matrix.dtype)])
    changes = np.unique((matrix[:, edges[:, 1]] - matrix[:, edges[:, 0]]).T, axis=0)
    return max((loss_of(change, measured.scales) for change in changes), default=Fraction(0))


def random_tables(draw, columns, *, apart):
    """Return some sets of columns, each once; where apart none that share a column."""
    if apart:
        names = draw.sample(columns, len(columns))
        cut = 2 if len(names) > 2 and draw.random() < 0.5 else 1
        return [names[:cut], *[[each] for each in names[cut:]]]
    every = [list(each) for n in (1, 2, 3) for each in itertools.combinations(columns, n)]
    return draw.sample(every, min(len(every), draw.randint(2, 5)))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_loss_of_random_instances(chunk, make_full_policy, make_filter, monkeypatch):
    """No instance loses more than epsilon; without a filter most lose all of it."""
    monkeypatch.setattr(joint_search, "MAX_CLIQUE", 2 if chunk % 2 else 256)
    found = tight = 0
    for number in range(EACH):
        draw = random.Random(9_000 + chunk * EACH + number)
        policy = make_full_policy(draw, draw.randint(2, 3), 3)
        names, scope = list(policy.domain.columns), policy.plan
        filtered, grouped = draw.random() < 0.3, len(names) > 2 and draw.random() < 0.3
        if filtered:
            scope = scope.where(make_filter(draw, policy.domain))
        if grouped:
            scope, names = scope.groupby(names[0]), names[1:]
        tables = random_tables(draw, names, apart=draw.random() < 0.5)
        if len(tables) < 2:
            continue
        epsilon = Fraction(draw.randint(1, 9), draw.randint(1, 20))
        try:
            plan = scope.marginal(tables, epsilon=epsilon, strategy="shared")
        except ArgumentError:
            continue
        edges = definition_edges(policy, plan.domain.columns)

        loss = worst_of(plan.measurement, edges)

        assert loss <= epsilon
        assert loss <= plan.cost
        if plan.sensitivity and not filtered:
            found += 1
            tight += loss == epsilon

    assert found > EACH / 8
    assert tight / found >= 0.9


DOMAIN = Domain((integers("a", 0, 1), integers("b", 0, 2), integers("c", 0, 3)))
SECRETS = {
    "full": {},
    "groups": {"c": bf.partition([[0, 1], [2, 3]]), "b": bf.threshold(1)},
    "public": {"b": bf.public()},
    "joint": {("a", "b"): bf.threshold(1)},
}


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2])
@pytest.mark.parametrize("seed", range(6))
def test_loss_of_any_groups(seed, neighbors):
    """Whatever tables share noise, by classes of the columns they share or without."""
    draw = random.Random(seed)
    secrets = {"r": bf.public(), "b": bf.partition([[0, 1], [2]]), "c": bf.partition([[0, 2], [1, 3]])}
    domain = Domain((integers("r", 0, 1), *DOMAIN))
    policy = bf.Policy(domain, secrets={**secrets, "a": bf.full()}, neighbors=neighbors)
    plan = policy.plan.groupby("r").marginal([["a"], ["b"], ["c"]], epsilon=1)
    edges = definition_edges(policy, plan.domain.columns)
    for groups in ([[0, 1, 2]], [[0], [1, 2]], [[0, 2], [1]], [[0], [1], [2]]):
        weights = [draw.randint(1, 9) for _ in groups]
        tables = [[[0, 1 + table], [], 0] for table in range(3)]
        for group, weight in zip(groups, weights, strict=True):
            for table in group:
                tables[table][2] = weight
        shared = [
            draw.choice([[], [0], [0, 1 + each[0]]] if len(each) == 1 else [[], [0]]) for each in groups
        ]
        form = {"tables": tables, "together": groups, "shared": shared, "plain": []}

        made = plan.asked[0].reread(policy, Fraction(1), "shared", form)

        assert worst_of(made, edges) == 1


def pairs_of(policy, domain):
    """Return all pairs of cells that agree on the public columns."""
    public = [place for place, name in enumerate(domain.columns) if name in policy.public_columns]
    cells = list(itertools.product(*map(range, domain.shape)))
    same = itertools.combinations(range(len(cells)), 2)
    found = [(x, y) for x, y in same if all(cells[x][place] == cells[y][place] for place in public)]
    return np.array(found, dtype=np.int64)


@pytest.mark.parametrize("neighbors", ["record", "attribute", 2])
@pytest.mark.parametrize("case", SECRETS)
def test_worst_case_over_larger_graphs(case, neighbors):
    """What facts learnt later may make of it: the loss over every pair; nothing where totals change."""
    policy = bf.Policy(DOMAIN, secrets=SECRETS[case], neighbors=neighbors)
    plan = policy.plan.marginal([["a"], ["b"], ["c"]], epsilon=Fraction(1, 2), strategy="shared")
    worst = worst_of(plan.measurement, pairs_of(policy, plan.domain))

    own = plan.measurement.worst_case(closure_graph(policy, plan.domain))

    assert (own.loss is None) == (worst == math.inf) == (case == "groups")
    assert own.loss is None or own.loss == worst
    assert closure(plan).loss is None or closure(plan).loss >= worst


def test_facts_and_several_rows_a_person_are_paid_for():
    """Touched facts and more rows plan at a share of epsilon: the loss of one edge is that share."""
    told = bf.Policy(DOMAIN, constraints=[bf.Marginal("a", answer=[5, 7])])
    many = bf.Policy(DOMAIN, max_rows=3)
    for policy, least in ((told, 2), (many, 3)):
        plan = policy.plan.marginal([["a", "b"], ["c"]], epsilon=1, strategy="shared")

        worst = worst_of(plan.measurement, pairs_of(policy, plan.domain))

        assert plan.price.moved >= least
        assert worst == Fraction(1) / plan.price.moved


def lie(plan, **changed):
    """Return what is measured with something else in place of what was planned."""
    return dataclasses.replace(plan.measurement, **changed)


def test_the_kernel_finds_lies():
    """Finer scales, groups that no edge was said to leave, tables of a group that are counted twice."""
    policy = bf.Policy(DOMAIN)
    plan = policy.plan.marginal([["a"], ["b"], ["c"]], epsilon=1, strategy="shared")
    made, check = plan.measurement, Check.of(policy, plan)
    apart = (np.arange(2), made.groups[1], made.groups[2])

    class Finer(type(made)):
        @property
        def group_scales(self):
            return tuple(scale * Fraction(99, 100) for scale in made.group_scales)

    class Twice(type(made)):
        def columns(self, cells):
            return super().columns(cells) * 2

        def apply(self, counts):
            return super().apply(counts) * 2

    fields = {each.name: getattr(made, each.name) for each in dataclasses.fields(made)}
    assert check.require(made, plan.cost) == 1
    for lying in (Finer(**fields), Twice(**fields), lie(plan, groups=apart)):
        with pytest.raises(UnsoundPlanError):
            check.require(lying, plan.cost)


def test_released_charged_and_read_again(tmp_path):
    """By groups, behind a filter on a public column, under a name, and with facts recorded later."""
    domain = Domain((*DOMAIN, integers("r", 0, 2)))
    policy = bf.Policy(domain, secrets={"r": bf.public()})
    rows = pd.DataFrame({a.name: np.random.default_rng(5).integers(0, a.size, 500) for a in domain})
    ledger = bf.Ledger(tmp_path / "budget.db")
    df = rows.blowfish.protect(policy, epsilon=9, dataset="rows", ledger=ledger)
    scope = df.blowfish.where("r != 1").groupby("r")

    first = scope.marginal([["a"], ["b"], ["c"]], epsilon=1, name="three", post=False)
    again = scope.marginal([["a"], ["b"], ["c"]], epsilon=1, name="three", post=False)

    receipt = first["a"].blowfish.receipt
    assert receipt["strategy"] == "shared"
    assert receipt["spent"] == "1"
    sizes = rows["r"].value_counts()
    for key, table in first.items():
        pd.testing.assert_frame_equal(table, again[key])
        sums = table["count"].groupby("r").sum()
        assert (sums.loc[[0, 2]] == sizes.loc[[0, 2]]).all()
    assert df.blowfish.budget.spent == 1
    ledger.record_exact("rows", bf.Marginal("a", answer=np.bincount(rows["a"]).tolist()))
    assert df.blowfish.budget.spent >= 1


@pytest.mark.parametrize("epsilon", ["1/2", "6"])
@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("case", ["full", "groups"])
def test_intervals_cover(case, post, epsilon):
    """Counts, and free sums of them, are within their intervals at least as often as these say."""
    policy = bf.Policy(DOMAIN, secrets=SECRETS[case])
    rows = pd.DataFrame({a.name: np.random.default_rng(5).integers(0, a.size, 60) for a in DOMAIN})
    tables = [["a", "b"], ["c"]]
    truth = {tuple(each): rows.value_counts(each, sort=False) for each in [*tables, ["b"]]}
    df, inside = rows.blowfish.protect(policy, epsilon=1_000), {0.5: [], 0.9: []}

    for seed in range(40):
        with bf.testing.replay(seed):
            found = dict(df.blowfish.marginal(tables, epsilon=epsilon, strategy="shared", post=post))
        found["b",] = found["a", "b"].blowfish.marginal(["b"])
        for key, table in found.items():
            right = truth[key].reindex(table.index if len(key) > 1 else [(v,) for v in table.index])
            for level, each in inside.items():
                ends = table.blowfish.interval(level)
                number = right.fillna(0).to_numpy()
                each.append((ends["low"].to_numpy() <= number) & (number <= ends["high"].to_numpy()))

    for level, each in inside.items():
        assert np.concatenate(each).mean() >= level - 0.03
