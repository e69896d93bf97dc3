"""The kernel finds out anew what a release loses: it agrees with the oracle, and refuses plans that lie."""

import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError, UnsoundPlanError
from pandas_blowfish.kernel import check as checking
from pandas_blowfish.kernel import measure as measuring
from pandas_blowfish.kernel.check import ARGUED, EVERY, Check
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.scales import Scales
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.cells import Cells
from pandas_blowfish.policy.domain import Domain, integers

LINES = ["auto", "identity", "ordered", "hierarchical", "ordered_hierarchical", "haar", "tree", "dawa"]
CLUSTERS = ["auto", "grid", "soft", "adaptive", "whole"]


def every_cell(domain: Domain) -> Cells:
    """Return all cells of a domain, in C order."""
    codes = np.unravel_index(np.arange(domain.size), domain.shape) if domain.columns else ()
    return Cells.present(dict(zip(domain.columns, codes, strict=True)), domain.size)


def rounds(measurement, draw):
    """Yield the rounds of a measurement, later ones after noisy values made up."""
    values: list[np.ndarray] = []
    while len(values) < 10:
        step = measurement.next_round(values) if measurement.in_rounds else measurement
        if step is None or (values and not measurement.in_rounds):
            return
        yield step
        values.append(np.array([draw.randint(-3, 40) for _ in range(len(step.scales))], dtype=np.int64))


def asked(draw, policy, scope):
    """Return the plan of some question about some columns."""
    names, epsilon = list(policy.domain.columns), Fraction(draw.randint(1, 9), draw.randint(1, 20))
    one, some = draw.choice(names), draw.sample(names, draw.randint(1, len(names)))
    size = policy.domain[one].size
    pair = draw.sample(names, min(2, len(names)))
    whole = [tuple((None, None) for _ in pair)] if len(pair) > 1 else [(None, None)]
    return draw.choice(
        [
            lambda: scope.hist(some, epsilon=epsilon),
            lambda: scope.hist(one, epsilon=epsilon, strategy=draw.choice(LINES)),
            lambda: scope.cumhist(one, epsilon=epsilon, strategy=draw.choice(LINES)),
            lambda: scope.range(one, [(None, None)], epsilon=epsilon, strategy=draw.choice(LINES)),
            lambda: scope.range(pair, whole, epsilon=epsilon),
            lambda: scope.marginal(names, order=draw.randint(1, len(names)), epsilon=epsilon),
            lambda: scope.sum(some, epsilon=epsilon),
            lambda: scope.mean(one, epsilon=epsilon),
            lambda: scope.count(epsilon=epsilon),
            lambda: scope.workload(
                [[draw.randint(-2, 3) for _ in range(size)] for _ in range(3)], one, epsilon=epsilon
            ),
        ]
    )()


def random_plan(draw, make_full_policy, make_policy, make_filter, make_facts, make_clusters):
    """Return a policy and a plan of any family, perhaps filtered, grouped and with public facts."""
    if draw.random() < 0.3:
        made = make_clusters(draw, facts=draw.choice([0, 0, 1]))
        return made.policy, made.plan
    many = draw.randint(1, 3)
    policy = (make_full_policy if draw.random() < 0.7 else make_policy)(draw, many, 4 if many < 3 else 3)
    if draw.random() < 0.25:
        counts = np.array([draw.randint(0, 3) for _ in range(policy.domain.size)])
        policy = policy.with_facts(make_facts(draw, policy.domain, counts, draw.randint(1, 2)))
    scope = policy.plan
    if draw.random() < 0.4:
        scope = scope.where(make_filter(draw, policy.domain))
    if draw.random() < 0.3:
        scope = scope.groupby(draw.choice(policy.domain.columns))
    return policy, asked(draw, policy, scope)


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(2))
def test_nobody_outside_a_part_changes_a_query_row(
    chunk, make_full_policy, make_policy, make_filter, make_facts, make_clusters
):
    """Edges by definition stay inside components, and those outside the part change nothing."""
    found = 0
    for seed in range(chunk * 250, (chunk + 1) * 250):
        draw = random.Random(seed)
        try:
            policy, plan = random_plan(
                draw, make_full_policy, make_policy, make_filter, make_facts, make_clusters
            )
        except BlowfishError:  # no such question
            continue
        part = plan.part
        if not part.sides:
            continue
        found += 1
        cells, edges = every_cell(plan.domain), definition_edges(policy, plan.domain.columns)
        both = Cells(
            {name: np.append(codes, 0) for name, codes in cells.codes.items()},
            np.arange(len(cells) + 1) == len(cells),
        )
        start, end = both.take(edges[:, 0]), both.take(edges[:, 1])

        changes = [abs(step.changes(start, end)).sum(axis=0) for step in rounds(plan.measurement, draw)]

        assert not part.find_crossing(start, end).any()
        assert not any(np.asarray(each).ravel()[~part.holds(start, end)].any() for each in changes)
    assert found > 5


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("chunk", range(4))
def test_agrees_with_the_oracle(chunk, make_full_policy, make_policy, make_filter, make_facts, make_clusters):
    """Columns are those of the matrix; the loss found is the oracle's, over edges by definition."""
    kinds = Counter()
    for seed in range(chunk * 110, (chunk + 1) * 110):
        draw = random.Random(seed)
        try:
            policy, plan = random_plan(
                draw, make_full_policy, make_policy, make_filter, make_facts, make_clusters
            )
        except BlowfishError:  # no such question
            continue
        check, left, measured = Check.of(policy, plan), plan.cost, plan.measurement
        kinds[type(measured).__name__] += 1

        for step in rounds(measured, draw):
            columns = step.columns(every_cell(plan.domain))
            left -= check.require(step, left)

        assert left >= 0
        if measured.in_rounds or measured.name == "dawa":
            continue
        assert not (columns != measured.matrix().tocsc()).nnz
        if not policy.constraints:
            edges = definition_edges(policy, plan.domain.columns)
            assert plan.cost - left == edge_loss(measured.matrix(), measured.scales, edges).value
        elif check.text != ARGUED:
            assert plan.cost - left == plan.privacy_loss()
    assert len(kinds) >= 8


def line(secret, high=7, **more):
    """Return a policy of one column of whole numbers."""
    return bf.Policy(Domain((integers("x", 0, high),)), secrets={"x": secret}, **more)


def two(first, second, high=7, **more):
    """Return a policy of two columns of whole numbers."""
    domain = Domain((integers("x", 0, high), integers("y", 0, high)))
    return bf.Policy(domain, secrets={"x": first, "y": second}, **more)


NEAR = bf.threshold(2)
PLANS = {
    **{name: (line(NEAR), lambda plan, n=name: plan.cumhist("x", strategy=n)) for name in LINES[1:]},
    "mesh": (
        two(bf.threshold(1), bf.threshold(1)),
        lambda plan: plan.range(["x", "y"], [((1, 5), (2, 6)), ((0, 3), (0, 3))], strategy="mesh"),
    ),
    "residual": (two(bf.full(), bf.full()), lambda plan: plan.marginal(["x", "y"], order=1)),
    "boxes": (two(NEAR, bf.full()), lambda plan: plan.range(["x", "y"], [((1, 5), (2, 6))])),
    "workload": (line(NEAR), lambda plan: plan.workload([[1, 2, 0, -1, 0, 0, 3, 1]], "x")),
    "sum": (line(NEAR), lambda plan: plan.sum("x")),
    "mean": (line(NEAR, presence=True), lambda plan: plan.mean("x")),
    "filter": (line(NEAR), lambda plan: plan.where("x >= 4").hist("x")),
    "groups": (two(NEAR, bf.full()), lambda plan: plan.groupby("y").cumhist("x")),
    "presence": (line(NEAR, presence=True), lambda plan: plan.hist("x")),
    "facts": (line(bf.full(), constraints=[bf.Count("x < 3")]), lambda plan: plan.hist("x")),
    "grid": (two(NEAR, NEAR), lambda plan: plan.kmeans(["x", "y"], 2, rows=1000, strategy="grid")),
    "soft": (two(NEAR, NEAR), lambda plan: plan.kmeans(["x", "y"], 2, rows=1000, strategy="soft")),
    "chain": (
        bf.Policy(
            Domain((integers("x", 0, 1),)),
            chain=bf.Markov("x", [[0.9, 0.1], [0.2, 0.8]], length=1000),
        ),
        lambda plan: plan.hist("x"),
    ),
    "moments": (two(NEAR, bf.full()), lambda plan: plan.groupby("y").var("x")),
    "products": (two(NEAR, bf.full(), presence=True), lambda plan: plan.corr(["x", "y"])),
    "together": (two(NEAR, bf.full()), lambda plan: plan.describe(["x", "y"])),
    "apart": (two(NEAR, NEAR, neighbors="attribute"), lambda plan: plan.agg({"x": "mean", "y": "median"})),
    "select": (two(NEAR, bf.full()), lambda plan: plan.mode("x", strategy="select")),
    "read off": (two(NEAR, bf.full()), lambda plan: plan.top(3, "x", strategy="counts")),
    "bands": (two(NEAR, bf.full()), lambda plan: plan.groupby("x", bins={"x": [0, 3, 8]}).sum("y")),
    "people": (two(NEAR, bf.full(), max_rows=2), lambda plan: plan.groupby("x").count(units=True)),
    "several rows": (two(NEAR, bf.full(), max_rows=2), lambda plan: plan.describe("x")),
    "secret total": (
        line(NEAR, aggregates=[bf.Aggregate("x.sum()", delta=20)]),
        lambda plan: plan.sum("x"),
    ),
}


class Lying:
    """A measurement that has other scales than it was planned with."""

    def __init__(self, honest, factor):
        self.honest, self.factor = honest, factor

    def __getattr__(self, name):
        found = getattr(self.honest, name)
        if isinstance(found, Scales):
            return Scales([scale * self.factor for scale in found.values], found.codes, found.joint)
        return tuple(scale * self.factor for scale in found) if name == "total_scales" else found


@pytest.mark.parametrize("name", PLANS)
def test_finds_every_lie(name):
    """What was planned passes; with scales 1% smaller it does not, whatever the strategy."""
    policy, make = PLANS[name]
    plan = make(policy.plan)
    check = Check.of(policy, plan)

    lost = check.require(plan.measurement, plan.cost)

    assert 0 < lost <= plan.cost
    with pytest.raises(UnsoundPlanError):
        check.require(Lying(plan.measurement, Fraction(99, 100)), plan.cost)


FIRST = ["moments", "products", "together", "apart", "select", "read off", "bands", "several rows", "people"]


@pytest.mark.parametrize("lie", ["apply", "columns", "tallies"])
@pytest.mark.parametrize("name", FIRST)
def test_finds_what_is_counted_otherwise(name, lie):
    """Of every kind of measurement: values counted twice, columns without a row, a filter that is dropped."""
    policy, make = PLANS[name]
    plan = make(policy.plan.where("x != 2 or y > 3") if lie == "tallies" else policy.plan)
    check = Check.of(policy, plan)

    class Otherwise(Lying):
        def apply(self, counts):
            return self.honest.apply(counts) * (2 if lie == "apply" else 1)

        def columns(self, cells):
            found = self.honest.columns(cells).tolil()
            if lie == "columns":
                found[len(self.honest.scales) // 2] = 0
            return found.tocsc()

        @property
        def tallies(self):
            return tuple(map(unfiltered, self.honest.tallies)) if lie == "tallies" else self.honest.tallies

    def often():
        for _ in range(20):  # a few cells are drawn each time
            checking._passed.clear()
            check.require(Otherwise(plan.measurement, 1), plan.cost)

    assert check.require(plan.measurement, plan.cost) <= plan.cost
    with pytest.raises(UnsoundPlanError):
        often()


def unfiltered(tally):
    """Return a tally, or a total's, that counts what its filter leaves out."""
    if hasattr(tally, "tally"):
        return replace(tally, tally=unfiltered(tally.tally))
    return replace(tally, condition=None)


def test_rows_that_are_not_in_the_columns_are_found():
    """A row that is counted twice, or a filter that the counter drops, is not what was checked."""
    policy = two(NEAR, bf.full())
    plan = policy.plan.where("y >= 4").hist("x", strategy="identity")
    check, honest = Check.of(policy, plan), plan.measurement

    class Doubled(Lying):
        def apply(self, counts):
            return self.honest.apply(counts) * 2

    class Dropped(Lying):
        @property
        def tallies(self):
            return (replace(self.honest.tally, condition=None),)

    def often(wrong):
        for _ in range(20):  # a few cells are drawn each time
            checking._passed.clear()
            check.require(wrong, plan.cost)

    for wrong in (Doubled(honest, 1), Dropped(honest, 1)):
        with pytest.raises(UnsoundPlanError, match="not what was checked"):
            often(wrong)


@pytest.mark.parametrize(
    "secret", [bf.full(), bf.threshold(3), bf.partition(1000)], ids=["full", "near", "groups"]
)
@pytest.mark.parametrize("verb", ["hist", "cumhist", "sum"])
def test_large_domains_are_drawn_from(secret, verb):
    """Of a million cells the worst edge is found, and a scale that is 1% too small."""
    policy = line(secret, 10**6 - 1)
    plan = getattr(policy.plan, verb)("x", epsilon=1)
    check = Check.of(policy, plan)

    assert check.require(plan.measurement, plan.cost) == 1
    assert check.text.startswith("20,000 drawn of ")
    with pytest.raises(UnsoundPlanError):
        check.require(Lying(plan.measurement, Fraction(99, 100)), plan.cost)


def test_a_refused_plan_is_neither_charged_nor_counted(monkeypatch):
    """The error names the edge by declared values, and the budget is as it was."""
    frame = pd.DataFrame({"x": [0, 1, 6]}).blowfish.protect(line(NEAR), epsilon=1)
    monkeypatch.setattr(measuring, "count_cells", None)
    monkeypatch.setattr(
        "pandas_blowfish.plan.tables.identity.tally_sensitivity", lambda graph, tally: Fraction(1)
    )

    with pytest.raises(UnsoundPlanError, match=r"from \(x=\d\) to \(x=\d\) loses 1, 0.5 is left"):
        frame.blowfish.hist("x", epsilon="0.5", strategy="identity")

    assert frame.blowfish.budget.spent == 0


def test_nothing_noisy_is_free():
    """Noise under a charge of 0 is refused by the check, and where it is drawn."""
    plan = line(NEAR).plan.hist("x")

    with pytest.raises(UnsoundPlanError, match="nothing is charged"):
        Check.of(plan.policy, plan).require(plan.measurement, Fraction(0))
    with pytest.raises(UnsoundPlanError, match="nothing is charged"):
        measuring._noise(plan.scales, Fraction(0))


def test_a_round_may_lose_what_earlier_ones_left():
    """The second round of a release is held against the rest of the charge, before its noise is drawn."""
    policy = two(bf.full(), bf.full(), 63)
    plan = policy.plan.where("x >= 1").kmeans(["x", "y"], 2, epsilon=1)
    check, counted = Check.of(policy, plan), plan.measurement

    first = check.require(counted.next_round([]), plan.cost)
    then = counted.next_round([np.array([5000])])

    assert first == Fraction(1, 20)
    assert check.require(then, plan.cost - first) == Fraction(19, 20)
    with pytest.raises(UnsoundPlanError):
        check.require(then, plan.cost - 2 * first)


def test_rounds_of_rows_that_follow_each_other_share_one_rate():
    """A clustering in rounds of a chain's column is held to the quilt's rate over all of them."""
    chain = bf.Markov("x", [[0.9, 0.1], [0.2, 0.8]], length=1000)
    frame = pd.DataFrame({"x": [0, 1] * 500}).blowfish.protect(
        bf.Policy(Domain((integers("x", 0, 1),)), chain=chain), epsilon=2
    )

    found = frame.blowfish.kmeans("x", 2, epsilon=1)

    assert found.blowfish.receipt["checked"] == ARGUED
    assert frame.blowfish.budget.spent == 1


def test_facts_are_priced_anew():
    """A plan made as if a fact were unknown, or free, is refused; what follows from facts is argued."""
    known = line(bf.full(), constraints=[bf.Count("x < 3")])
    told = line(bf.full(), constraints=[bf.Marginal("x")])
    cheap = line(bf.full()).plan.hist("x")

    with pytest.raises(UnsoundPlanError):
        Check.of(known, cheap).require(cheap.measurement, cheap.cost)
    assert Check.of(known, known.plan.hist("x")).times == 2
    free = told.plan.hist("x")
    assert free.cost == 0
    assert Check.of(told, free).text == ARGUED
    assert Check.of(told, free).require(free.measurement, Fraction(0)) == 0


def test_no_more_records_move_than_were_sealed():
    """The check caps by the sealed rows itself, and only where their number is public."""
    domain = Domain((integers("x", 0, 3), integers("y", 0, 4)))
    facts = [bf.Marginal("x"), bf.Marginal("y")]
    public, secret = (bf.Policy(domain, constraints=facts, presence=each) for each in (False, True))
    plan, fewer = (public.plan.hist(["x", "y"], rows=rows) for rows in (50, 49))

    assert (plan.sensitivity, public.plan.hist(["x", "y"]).sensitivity) == (100, 297_910)
    assert Check.of(public, plan, 50).require(plan.measurement, plan.cost) == 1
    assert Check.of(public, fewer, 49).times == 49
    with pytest.raises(UnsoundPlanError):
        Check.of(public, fewer, 50).require(fewer.measurement, fewer.cost)
    with pytest.raises(UnsoundPlanError):
        Check.of(public, plan).require(plan.measurement, plan.cost)
    assert Check.of(secret, secret.plan.hist(["x", "y"]), 50).times > 50


def test_an_untouched_fact_is_looked_at(monkeypatch):
    """If edges were said not to change a fact that they do change, nothing is released."""
    policy = line(bf.full(), constraints=[bf.Count("x < 3")])
    free = checking.bound_moves(line(bf.partition(1), constraints=[bf.Count("x < 3")]))
    monkeypatch.setattr(checking, "bound_moves", lambda policy: free)
    checking.require_untouched.cache_clear()

    with pytest.raises(UnsoundPlanError, match="is public, and an edge changes it"):
        Check.of(policy, policy.plan.hist("x"))


def test_receipts_and_entries_say_what_was_checked():
    """Every edge, or how many of how many; and the ledger holds a receipt to it."""
    frame = pd.DataFrame({"x": [0, 1, 6]}).blowfish.protect(line(NEAR), epsilon=1)

    receipt = frame.blowfish.hist("x", epsilon="0.5").blowfish.receipt

    assert receipt["checked"] == EVERY
    assert frame.blowfish.ledger.verify(receipt)
    with pytest.raises(bf.errors.LedgerTamperedError, match="checked"):
        frame.blowfish.ledger.verify({**receipt, "checked": "nothing"})


def test_a_plan_that_passed_is_remembered(monkeypatch):
    """The same plan at the same charge is not gone through again; another charge is."""
    policy = line(NEAR)
    plan = policy.plan.hist("x", epsilon="0.25")
    check = Check.of(policy, plan)
    lost = check.require(plan.measurement, plan.cost)
    monkeypatch.setattr(Check, "_lost", lambda *_: math.inf)

    assert check.require(plan.measurement, plan.cost) == lost
    assert check.require(plan.measurement, 2 * plan.cost) == math.inf


@pytest.mark.parametrize("step", [1, 1000, 10**6, 2**24, 10**9])
def test_whole_numbers_without_bounds_are_released_whatever_the_step(step):
    """Made-up records are whole numbers that the counter tells apart."""
    policy = bf.Policy(
        Domain((Unbounded("x", "integer", False, Fraction(step)),)), secrets={"x": bf.threshold(10**9)}
    )
    frame = pd.DataFrame({"x": [5, 7, 10**9]}).blowfish.protect(policy, epsilon=1)

    frame.blowfish.sum("x", epsilon=1)

    assert frame.blowfish.budget.remaining == 0


def test_many_columns_are_checked_in_short_time():
    """Blocks are put in order once, not once per block."""
    names = [f"c{number}" for number in range(60)]
    domain = Domain(tuple(integers(name, 0, 9) for name in names))
    policy = bf.Policy(domain, secrets=dict.fromkeys(names, bf.threshold(2)))
    plan = policy.plan.sum(names, epsilon=1)

    lost = Check.of(policy, plan).require(plan.measurement, plan.cost)

    assert Fraction(1, 2) < lost <= 1
    assert Check.of(policy, plan).text.startswith("20,000 drawn of about 10^")


@pytest.mark.parametrize("most", [10**8, 3 * 10**8, 10**9])
def test_squares_of_few_made_up_records_are_compared_where_more_do_not_fit(most):
    """Sums beyond 2^61 are clamped where they are counted, which is no lie."""
    policy = bf.Policy(Domain((integers("x", -most, most),)), secrets={"x": bf.threshold(10)})
    df = pd.DataFrame({"x": [1, 5, -most, most]}).blowfish.protect(policy, epsilon=40)

    for _ in range(10):
        df.blowfish.var("x", epsilon=1)


@pytest.mark.parametrize("text", [None, "region in ['north', 'east']"])
def test_a_strategy_that_passed_is_checked_again_for_another_part(text):
    """What passed as everyone's may not be charged to some, whether it looks at their column or not."""
    df = bf.datasets.patients().blowfish.protect(bf.datasets.patients_policy(), epsilon=10)
    north = df.blowfish.plan.where("region == 'north'").hist("age", epsilon="0.5").part
    asked, planned = (each if text is None else each.where(text) for each in (df.blowfish, df.blowfish.plan))
    asked.hist("age", epsilon="0.5")

    planned.hist("age", epsilon="0.5").__dict__["part"] = north  # the same plan, which lies now
    with pytest.raises(UnsoundPlanError, match="outside the part"):
        asked.hist("age", epsilon="0.5")

    assert df.blowfish.budget.spent == Fraction(1, 2)


def test_changes_of_many_bits_are_compared():
    """Squares of a million steps are too large to be summed up in 64 bits; of several kinds of noise too."""
    policy = line(bf.full(), 4 * 10**6)
    plan = policy.plan.var("x", epsilon=1)
    check = Check.of(policy, plan)

    assert 0 < check.require(plan.measurement, plan.cost) <= 1
    with pytest.raises(UnsoundPlanError):
        check.require(Lying(plan.measurement, Fraction(9, 10)), plan.cost)
