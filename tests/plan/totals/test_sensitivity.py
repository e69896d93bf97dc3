"""What an edge can do to totals, against every edge by definition."""

import random
from fractions import Fraction

import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.errors import SecretError, UnboundedColumnError
from pandas_blowfish.plan.lattice import Total, lattice, ones
from pandas_blowfish.plan.loss import edge_loss
from pandas_blowfish.plan.totals import sensitivity as module
from pandas_blowfish.plan.totals.sensitivity import shifts
from pandas_blowfish.plan.totals.sums import NoisySums, SummedColumn
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.queries.call.scope import Scope


def _largest(policy, tally, total):
    """Return the largest change of a total over the edges that the words of the policy draw."""
    attribute, rows = total.lattice.attribute, shifts(policy, tally, [total])
    column = SummedColumn(attribute, total.lattice, None, None, False)
    index = tally.index
    measured = NoisySums("sum", tally, (total,), (column,), rows, Fraction(1), (Fraction(1), "middle"), index)
    matrix = measured.matrix()
    edges = definition_edges(policy, measured.domain.columns)
    return edge_loss(matrix, [Fraction(1)] * matrix.shape[0], edges).value


def _random(draw, make_full_policy, make_filter, most=4):
    columns = draw.randint(1, 3)
    policy = make_full_policy(draw, columns, most if columns < 3 else 3)
    numbers = [a for a in policy.domain if a.kind not in ("category", "string")]
    if not numbers:
        return None
    attribute = draw.choice(numbers)
    rest = [column for column in policy.domain.columns if column != attribute.name]
    scope = Scope()
    if draw.random() < 0.6:
        scope = scope.where(policy, make_filter(draw, policy.domain), {})
    if rest and draw.random() < 0.5:
        scope = scope.groupby(policy, draw.sample(rest, draw.randint(1, len(rest))))
    return policy, scope.tally(policy, [], None), attribute


@pytest.mark.parametrize("lined", [module.MAX_LINED, 0])
def test_bounds_enumeration(lined, make_full_policy, make_filter, monkeypatch):
    """The bound holds for values and counts; it is attained nearly always where groups are looked at."""
    monkeypatch.setattr(module, "MAX_LINED", lined)
    tight = found = 0
    for number in range(400):
        drawn = _random(random.Random(number), make_full_policy, make_filter)
        if drawn is None:
            continue
        policy, tally, attribute = drawn
        for weights in (lattice(attribute), lattice(attribute, (0, attribute.cells - 1)), ones(attribute)):
            total = Total(tally, weights)
            bound, true = shifts(policy, tally, [total]).loss([Fraction(1)]), _largest(policy, tally, total)
            occupied = tally.sieve.passes.any()

            assert true <= bound
            found += bool(occupied)
            tight += bool(occupied and true == bound)

    assert found > 400
    assert tight / found > (0.97 if lined else 0.85)


def test_unordered_listed_numbers():
    """Weights that do not rise with the cells: thresholds, groups and filters by value, exactly."""
    attribute = from_dict("x", {"type": "integer", "values": [9, 0, 5, 7, 1]})
    other = integers("y", 0, 1)
    for secret in (
        bf.threshold(2),
        bf.threshold(4),
        bf.full(),
        bf.partition([[9, 5], [0, 7, 1]]),
        bf.edges([(9, 1)]),
    ):
        policy = bf.Policy(Domain((attribute, other)), secrets={"x": secret})
        for text in (None, "x in [9, 5, 1]", "x != 7 or y == 1"):
            scope = Scope().where(policy, text, {}) if text else Scope()
            tally = scope.tally(policy, [], None)
            total = Total(tally, lattice(attribute))

            bound = shifts(policy, tally, [total]).loss([Fraction(1)])

            assert bound == _largest(policy, tally, total)


def test_joint_balls_are_exact():
    """Two columns of one ball move together along its offsets, not each by its own furthest."""
    domain = Domain((integers("a", 0, 5), integers("b", 0, 5)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(3, metric="l1")})
    plan = policy.plan.sum(["a", "b"])

    assert plan.sensitivity == 3
    assert list(plan.scales)[:2] == [3, 3]
    assert plan.privacy_loss() == 1


def test_attribute_neighbours_pay_for_one_block():
    """Only one column's sum changes, unless a row can change group: then all do."""
    domain = Domain((integers("a", 0, 9), integers("b", 0, 9), integers("g", 0, 1)))
    policy = bf.Policy(domain, neighbors="attribute")

    alone, grouped = policy.plan.sum(["a", "b"]), policy.plan.groupby("g").sum(["a", "b"])

    assert list(alone.scales)[:2] == [9, 9]
    assert not alone.scales.joint  # one column by itself pays once: a box would be worse
    assert grouped.measurement.moved.flows == ((18, 18),)
    assert grouped.measurement.moved.rows == (9, 9)
    assert alone.privacy_loss() == grouped.privacy_loss() == 1


def test_rows_of_a_single_group():
    """What crosses changes one group by half of both; products and counts, values that go missing, too."""
    domain = Domain((integers("a", -3, 9), integers("m", 0, 5, nullable=True), integers("g", 0, 1)))
    plan = bf.Policy(domain).plan

    grouped, filtered = plan.groupby("g"), plan.where("g == 1")

    assert grouped.sum(["a", "m"]).measurement.moved.rows == (12, 5)
    assert grouped.var("a").measurement.moved.rows[0] == 12
    assert filtered.mean(["a", "m"]).measurement.moved.groups == (1,)
    assert grouped.mean(["a", "m"]).measurement.moved.groups == (2,)
    assert plan.var(["a", "m"]).measurement.moved.ends == (0,) * 6


UNBOUNDED = from_dict("r", {"type": "float", "step": "0.5"})
MAYBE = from_dict("r", {"type": "float", "step": "0.5", "nullable": True})
G = integers("g", 0, 1)


@pytest.mark.parametrize(
    ("column", "secrets", "options", "scope", "why"),
    [
        (UNBOUNDED, {}, {}, lambda plan: plan, "its secret is full"),
        (UNBOUNDED, {"r": bf.threshold(1)}, {"presence": True}, lambda plan: plan, "be absent"),
        (UNBOUNDED, {"r": bf.threshold(1)}, {}, lambda plan: plan.where("g == 1"), "leave the filter"),
        (UNBOUNDED, {"r": bf.threshold(1)}, {}, lambda plan: plan.groupby("g"), "change their group"),
        (UNBOUNDED, {"r": bf.public()}, {}, lambda plan: plan.groupby("g"), "change their group"),
        (MAYBE, {"r": bf.threshold(1)}, {}, lambda plan: plan, "missing is secret"),
    ],
)
def test_without_bounds_is_refused_where_a_row_could_change_anything(column, secrets, options, scope, why):
    """Sums and means alike, before anything is charged."""
    policy = bf.Policy(Domain((column, G)), secrets=secrets, **options)

    for verb in ("sum", "mean"):
        with pytest.raises(UnboundedColumnError, match=why):
            getattr(scope(policy.plan), verb)("r")


def test_without_bounds_under_a_threshold():
    """The longest edge is ceil(theta / step) steps; where groups and missing are public it stays so."""
    policy = bf.Policy(
        Domain((MAYBE, G)), secrets={"r": bf.threshold("1.2", missing="public"), "g": bf.public()}
    )
    known = bf.Policy(Domain((UNBOUNDED, G)), secrets={"r": bf.public(), "g": bf.public()})

    assert policy.plan.sum("r").sensitivity == 3
    assert policy.plan.where("g == 1").mean("r").sensitivity == 3
    assert known.plan.groupby("g").sum("r").cost == 0
    with pytest.raises(UnboundedColumnError):
        policy.plan.sum("r").matrix()
    with pytest.raises(UnboundedColumnError):
        policy.plan.sum("r").privacy_loss()


def test_without_bounds_in_a_joint_secret():
    """A ball over a column without cells cannot be priced."""
    domain = Domain((UNBOUNDED, from_dict("s", {"type": "float", "step": 1})))
    policy = bf.Policy(domain, secrets={("r", "s"): bf.threshold(1)})

    with pytest.raises(SecretError):
        policy.plan.sum("r")


def test_huge_domains():
    """10^12 values, or 62 bits, under threshold, full, groups and filters of other columns."""
    wide = Domain((integers("x", 0, 10**12), integers("y", -(2**62), 2**62 - 1), G))
    policy = bf.Policy(wide, secrets={"x": bf.threshold(10), "y": bf.threshold(7)})

    assert policy.plan.sum("x").sensitivity == 10
    assert policy.plan.mean("y").sensitivity == 7
    assert policy.plan.groupby("g").sum("x").sensitivity == 2 * 10**12
    assert policy.plan.where("g == 0").sum("x").sensitivity == 10**12
    assert bf.Policy(wide).plan.sum("x").sensitivity == 10**12
