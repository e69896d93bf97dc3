"""Secrets of the whole table: three deltas are enough, and needed; nothing else is taken."""

import itertools
import pickle
from fractions import Fraction

import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.beyond.aggregate import Aggregate
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    BlowfishError,
    SchemaError,
    SecretError,
    UndeclaredColumnError,
)
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.secret import relative_error

RATE = Fraction(1, 2)  # exp(-1 / scale) of the noise
SALES = integers("sales", 0, 9)


def _laws():
    """Return laws of one record over 0..3: a dense grid, its corners and nearly its corners."""
    grid = [law for law in itertools.product(range(3), repeat=4) if sum(law) in (1, 2)]
    grid += [(1, 1, 1, 1), (998, 1, 1, 1), (1, 0, 0, 998), (998, 0, 0, 1)]
    return [[Fraction(part, sum(law)) for part in law] for law in grid]


def _totals(laws):
    """Return the law of the total of independent records."""
    found = {0: Fraction(1)}
    for law in laws:
        longer: dict[int, Fraction] = {}
        for (total, p), (value, q) in itertools.product(found.items(), enumerate(law)):
            if q:
                longer[total + value] = longer.get(total + value, Fraction(0)) + p * q
        found = longer
    return found


def _worst(rows, delta):
    """Return the largest ratio of an output's odds between two statements, over laws of the table."""
    laws, worst = _laws(), Fraction(0)
    for chosen in itertools.combinations_with_replacement(laws if rows < 3 else laws[::4], rows):
        totals = _totals(chosen)
        for x in range(3 * rows + 1):
            sides = [
                {t: p for t, p in totals.items() if abs(t - x) <= delta},
                {t: p for t, p in totals.items() if delta < abs(t - x) <= 2 * delta},
            ]
            if not all(sides):
                continue
            for output in (-1, *range(3 * rows + 2)):
                odds = [
                    sum(p * RATE ** abs(output - t) for t, p in side.items()) / sum(side.values())
                    for side in sides
                ]
                worst = max(worst, odds[0] / odds[1], odds[1] / odds[0])
    return worst


@pytest.mark.parametrize(("rows", "delta"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_three_deltas_by_enumeration(rows, delta):
    """Values 0..3, all products of a grid of laws: at most what 3 delta allow, and more than 2.9 do.

    Points would do: an output's odds are mixtures over totals, whose ratio is largest at points.
    """
    worst = _worst(rows, delta)

    distance = Aggregate("sales.sum()", delta).distance(Fraction(1))
    assert distance == 3 * delta
    assert worst <= RATE**-distance
    if (rows, delta) != (3, 2):  # there the grid is thinner
        assert worst**10 > RATE ** (-29 * delta)


@pytest.mark.parametrize(
    ("delta", "unit", "wanted"), [(1, 1, 3), ("1/2", 1, 2), ("0.001", 1, 1), (50_000, "1/2", 300_000)]
)
def test_distances_are_rounded_up(delta, unit, wanted):
    """In whole units, one at least."""
    assert Aggregate("sales.sum()", delta).distance(Fraction(unit)) == wanted


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("sales.sum()", "sales"),
        (" sales . sum ( ) ", "sales"),
        ("`net sales`.sum()", "net sales"),
        ('["net sales"].sum()', "net sales"),
        ("df['net sales'].sum()", "net sales"),
        ('["a\'b"].sum()', "a'b"),
        ("größe.sum()", "größe"),
    ],
)
def test_text_is_read(text, column):
    """The name of a column and its sum, in any of the usual spellings, and back."""
    found = Aggregate(text, delta="2.5")

    assert found.column == column
    assert Aggregate.from_dict(found.to_dict()) == found == eval(repr(found))


@pytest.mark.parametrize(
    "text",
    [
        *("sales", "sales.sum", "sales.sum(1)", "sales.sum(axis=0)", "sum(sales)", "sales.max()", "", "("),
        *("`a`.sum().sum()", "[1].sum()", "['a', 'b'].sum()", "df[0].sum()", "a.b.sum()", "(a + b).sum()"),
        *("__import__('os').sum()", "x\0.sum()", "(" * 5_000),
    ],
)
def test_other_text_is_refused(text):
    """Typed; nothing is evaluated."""
    with pytest.raises(ArgumentError, match="such as"):
        Aggregate(text, delta=1)


def test_bad_arguments_are_refused():
    """Means with the way out, deltas that are none, and what is no aggregate."""
    with pytest.raises(ArgumentError, match="number of rows"):
        Aggregate("sales.mean()", delta=1)
    for delta in (0, -1, "x", float("inf")):
        with pytest.raises(ArgumentError):
            Aggregate("sales.sum()", delta=delta)
    with pytest.raises(ArgumentTypeError):
        Aggregate(3, delta=1)
    with pytest.raises(ArgumentError):
        Aggregate.from_dict({"total": "sales.sum()"})
    for given in (Aggregate("sales.sum()", 1), "sales.sum()", 3, ["sales.sum()"], {"sales": 1}):
        with pytest.raises(ArgumentTypeError):
            bf.Policy(Domain((SALES,)), aggregates=given)


REFUSED = {
    "two of them": (SALES, {"aggregates": [Aggregate("sales.sum()", 1)] * 2}, ArgumentError),
    "presence": (SALES, {"presence": True}, ArgumentError),
    "facts": (SALES, {"constraints": [bf.Count("sales > 3")]}, ArgumentError),
    "public": (SALES, {"secrets": {"sales": bf.public()}}, SecretError),
    "missing": (integers("sales", 0, 9, nullable=True), {}, SecretError),
    "undeclared": (integers("other", 0, 9), {}, UndeclaredColumnError),
    "text": (from_dict("sales", {"type": "string", "values": ["a"]}), {}, SecretError),
    "bool": (from_dict("sales", {"type": "bool"}), {}, SecretError),
    "logs": (from_dict("sales", {"type": "float"}), {"secrets": {"sales": relative_error(0.9)}}, SecretError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proved_is_refused(case):
    """When the policy is made."""
    column, more, error = REFUSED[case]
    with pytest.raises(error):
        bf.Policy(Domain((column,)), **{"aggregates": [Aggregate("sales.sum()", 1)], **more})


def test_policies_keep_them():
    """In plain data, YAML, pickles and words; a policy without any is written as before."""
    secret = Aggregate("sales.sum()", delta="2.5")
    bare, policy = bf.Policy(Domain((SALES,))), bf.Policy(Domain((SALES,)), aggregates=[secret])

    assert "aggregates" not in bare.to_dict()
    assert policy.to_dict()["aggregates"] == [{"total": "sales.sum()", "delta": "2.5"}]
    assert bf.Policy.from_yaml(policy.to_yaml()) == policy != bare
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert pickle.loads(pickle.dumps(policy)).aggregates == (secret,)
    assert policy.with_facts([]) == policy == policy.reduced
    assert bare.single_release is None
    assert "sales.sum()" in policy.single_release
    assert "secret total: sales.sum() to within +-2.5" in repr(policy)
    assert "Secret total" in policy._repr_html_()
    assert "aggregate" in {each.kind for each in policy.lint()}
    with pytest.raises(BlowfishError):
        policy.with_facts([bf.Count("sales > 3")])
    state = {key: value for key, value in bare.__getstate__().items() if key != "aggregates"}
    old = object.__new__(bf.Policy)
    old.__setstate__(state)  # a pickle of before there were any
    assert old == bare


def test_more_implies_less():
    """A policy with a secret total implies the one without, and one with a smaller delta; never back."""
    bare, one, two = (
        bf.Policy(Domain((SALES,)), aggregates=[Aggregate("sales.sum()", d)] if d else ()) for d in (0, 1, 2)
    )

    assert two.implies(one)
    assert one.implies(bare)
    assert not one.implies(two)
    assert not bare.implies(one)


def test_attached_policies_take_no_more():
    """A schema that carries a policy is given alone."""
    schema = pa.DataFrameSchema({"sales": pa.Column(int, pa.Check.in_range(0, 9))})
    marked = bf.attach(schema, bf.Policy(schema, aggregates=[Aggregate("sales.sum()", 1)]))

    assert bf.Policy(marked).aggregates == (Aggregate("sales.sum()", 1),)
    with pytest.raises(SchemaError):
        bf.Policy(marked, aggregates=[Aggregate("sales.sum()", 1)])


def test_a_total_among_the_facts_is_a_secret():
    """Wherever it is listed it is the same policy."""
    secret = Aggregate("sales.sum()", 5)
    schema = pa.DataFrameSchema({"sales": pa.Column(int, pa.Check.in_range(0, 9))})

    assert bf.Policy(schema, constraints=[secret]) == bf.Policy(schema, aggregates=[secret])
