"""Absolute and relative errors are kept: by enumeration of statements, priors and outputs."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pandera.pandas as pa
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import (
    ArgumentError,
    ArgumentTypeError,
    DomainTooLargeError,
    SchemaError,
    SecretError,
)
from pandas_blowfish.exact.logarithm import log_cell
from pandas_blowfish.policy.attribute import Grid, Unbounded, Values
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.margin import as_threshold, ratio_ball
from pandas_blowfish.policy.secret import absolute_error, relative_error
from pandas_blowfish.queries.call.call_reader import parse_call

RATE = Fraction(1, 2)  # exp(-1 / scale) of the noise: a fraction, so that every law is exact
BITS = 200  # 2^(BITS - |z|) is the probability of noise z, but for a factor that all share


def _laws(cells):
    """Return laws of one record, in whole weights: two ends, two neighbours, some rare, and all alike."""
    ends, pair = {cells[0]: 1, cells[-1]: 1}, dict.fromkeys(cells[:2], 1)
    rare = dict.fromkeys(cells[1:], 1) | {cells[0]: 1000}
    return [ends, pair, dict.fromkeys(cells, 1), rare]


def _likely(side, other, cells, output):
    """Return how likely an output is when one record has one law and another an independent one."""
    found = 0
    for (x, p), (y, q) in itertools.product(side.items(), other.items()):
        found += p * q << (BITS - abs(output - cells[x] - cells[y]))
    return Fraction(found, sum(side.values()))


def _worst(cells, intervals, laws):
    """Return the largest ratio of an output's odds between two statements about the first of two records."""
    worst, others = Fraction(0), [{next(iter(cells)): 1}, *laws[:2]]
    for (first, second), law in itertools.product(intervals, laws):
        sides = [{value: law[value] for value in law if value in side} for side in (first, second)]
        if not all(sides):
            continue
        ends = [cells[value] for side in sides for value in side]
        for other, output in itertools.product(
            others, (min(ends) - 1, sum(ends) // len(ends), max(ends) + 40)
        ):
            odds = [_likely(side, other, cells, output) for side in sides]
            worst = max(worst, odds[0] / odds[1], odds[1] / odds[0])
    return worst


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("fine", [4, 20])
def test_absolute_error_by_enumeration(k, fine):
    """[x - k, x + k) against [x + k, x + 3 k): threshold 4 k is enough, and less is not in fine cells."""
    step = Fraction(k, fine)
    values = [step * cell for cell in range(4 * fine + 4)]
    intervals = [
        ([v for v in values if x - k <= v < x + k], [v for v in values if x + k <= v < x + 3 * k])
        for x in values
    ]
    far = {values[0]: 1, values[4 * fine - 1]: 1}

    worst = _worst({value: cell for cell, value in enumerate(values)}, intervals, [*_laws(values), far])

    policy = bf.Policy(Domain((Unbounded("x", "float", False, step),)), secrets={"x": absolute_error(k)})
    sensitivity = policy.plan.sum("x").sensitivity
    assert sensitivity == 4 * fine
    assert worst == RATE ** -(sensitivity - 1)  # intervals are half-open: less than 4 k by one step


@pytest.mark.parametrize(("c", "step"), [("0.9", "0.01"), ("0.5", "0.1")])
def test_relative_error_by_enumeration(c, step):
    """[c y, y / c) against [y / c, y / c^3), on cells of logarithms: enough, and hardly more than needed."""
    factor, ratio = Fraction(c), Fraction(round(float(1 / Fraction(c)) ** 0.1 * 10**4), 10**4)
    values = [ratio**power for power in range(46)]
    cells = {value: log_cell(value, Fraction(step)) for value in values}
    intervals = [
        (
            [v for v in values if factor * y <= v < y / factor],
            [v for v in values if y / factor <= v < y / factor**3],
        )
        for y in values
    ]
    laws = [dict.fromkeys((values[0], value), 1) for value in values[36:42]]

    worst = _worst(cells, intervals, [*_laws(values), *laws])

    policy = bf.Policy(Domain((Unbounded("x", "float", False),)), secrets={"x": relative_error(c, step=step)})
    sensitivity = policy.plan.logsum("x").sensitivity
    assert sensitivity == math.ceil(4 * math.log(1 / factor) / Fraction(step))
    assert RATE ** -math.floor(sensitivity * 0.95) <= worst <= RATE**-sensitivity


@pytest.mark.parametrize("seed", range(60))
def test_ratio_ball_matches_enumeration(seed):
    """Cells with values that near are joined, ends and all, and cells that are clearly not are not."""
    draw = random.Random(seed)
    c = Fraction(draw.choice(["0.9", "0.99", "0.5", "0.2", "2/3", "0.999"]))
    low = Fraction(draw.choice(["1", "0.25", "3", "1/3", "17"]))
    step, kind = Fraction(draw.choice(["1", "0.5", "1/7", "3"])), draw.choice(["float", "integer"])
    if kind == "integer":
        low, step = Fraction(math.ceil(low)), Fraction(math.ceil(step))
    high = low + step * draw.randint(1, 60) - (draw.random() < 0.5) * (kind == "float") * step / 3
    grid = from_dict("x", {"type": kind, "min": str(low), "max": str(high), "step": str(step)})
    assert isinstance(grid, Grid)
    graph = ratio_ball({"secret": "relative_error", "c": str(c)}, grid)

    for a, b in itertools.combinations(range(grid.cells), 2):
        end = min(low + (a + 1) * step - (kind == "integer"), high)
        start = low + b * step
        inside = float(end) if kind == "integer" else math.nextafter(float(end), 0)
        near = start * c**4 < end if kind == "float" else start * c**4 <= end
        near |= Fraction(float(start)) * c**4 <= Fraction(inside)
        assert graph.adjacent(a, b) or not near
        assert not graph.adjacent(a, b) or start * c**4 <= end * (1 + Fraction(1, 10**9))


def test_listed_numbers_are_compared_exactly():
    """In any order; a factor that is just c^-4 is protected, the next number is not."""
    c = Fraction(9, 10)
    values = [Fraction(10_000), Fraction(6_561), Fraction(6_560), Fraction(1)]
    column = Values("x", "integer", False, tuple(int(value) for value in values))

    graph = ratio_ball({"secret": "relative_error", "c": "0.9"}, column)

    joined = {(a, b) for a, b in itertools.combinations(range(4), 2) if graph.adjacent(a, b)}
    wanted = [
        (a, b) for a, b in itertools.combinations(range(4), 2) if c**4 <= values[a] / values[b] <= c**-4
    ]
    assert joined == set(wanted) == {(0, 1), (1, 2)}


@pytest.mark.parametrize(("kind", "top", "step"), [("float", 1_000, "0.5"), ("integer", 500, "1")])
def test_bounded_columns_take_all_verbs(kind, top, step):
    """A sum's noise is that of U (1 - c^4), give or take a cell; counts work too."""
    column = from_dict("x", {"type": kind, "min": 1, "max": top, "step": step})
    policy = bf.Policy(Domain((column,)), secrets={"x": relative_error("0.9")})
    sums = policy.plan.sum("x", epsilon="1/2")
    unit = sums.measurement.summed[0].lattice.unit

    wanted = top * (1 - Fraction("0.9") ** 4)
    assert wanted - 2 * Fraction(step) <= sums.sensitivity * unit <= wanted + 2 * Fraction(step)
    assert sums.privacy_loss() == Fraction(1, 2)
    assert policy.plan.hist("x").privacy_loss() == 1
    assert policy.plan.cumhist("x").sensitivity > 0
    assert policy.distance({"x": 10}, {"x": 12}) == 1
    assert policy.distance({"x": 10}, {"x": 20}) == 2
    assert "independent" in {each.kind for each in policy.lint()}


def test_a_million_cells_need_no_loop():
    """Closed form, also where the factor is beyond all floats."""
    column = from_dict("x", {"type": "float", "min": 1, "max": 10**6, "step": "0.5"})
    graph = ratio_ball({"secret": "relative_error", "c": "0.9"}, column)

    upper = graph.upper
    assert (np.diff(upper) >= 0).all()
    assert (upper >= np.arange(column.cells)).all()
    wide = ratio_ball({"secret": "relative_error", "c": "1e-200"}, column)
    assert (wide.upper == column.cells - 1).all()


def test_an_absolute_error_is_its_threshold():
    """On numbers, whole numbers, instants and listed values, with and without bounds."""
    columns = {
        "a": {"type": "integer", "min": 0, "max": 99},
        "b": {"type": "float", "min": 0, "max": 9, "step": "0.5"},
        "t": {"type": "datetime", "min": "2020-01-01", "max": "2020-03-01", "step": "1D"},
        "v": {"type": "integer", "values": [1, 5, 9, 40]},
        "u": {"type": "float"},
    }
    domain = Domain(tuple(from_dict(name, spec) for name, spec in columns.items()))
    errors = {"a": 3, "b": "0.25", "t": "1D", "v": 2, "u": 10}
    thetas = {"a": 12, "b": 1, "t": "4D", "v": 8, "u": 40}

    stated = bf.Policy(domain, secrets={name: absolute_error(k) for name, k in errors.items()})
    plain = bf.Policy(domain, secrets={name: bf.threshold(theta) for name, theta in thetas.items()})

    assert stated.reduced == plain != stated
    assert plain.reduced is plain
    assert stated.implies(plain)
    assert plain.implies(stated)
    assert not stated.implies(bf.Policy(domain, secrets={**dict(plain.secrets), ("u",): bf.threshold(41)}))
    for query in ("hist('a')", "cumhist('b')", "sum('u')", "mean('t')", "hist('v')", "kmeans(['a', 'b'], 2)"):
        one, two = (parse_call(query).on(policy.plan) for policy in (stated, plain))
        assert (one.scale, one.sensitivity, one.strategy) == (two.scale, two.sensitivity, two.strategy)


def test_policies_keep_their_own_words():
    """To plain data, YAML and back, by one spelling of numbers; names and errors in words."""
    schema = pa.DataFrameSchema(
        {
            "income": pa.Column(float, metadata=absolute_error(1000, step=1)),
            "price": pa.Column(float, pa.Check.gt(0), metadata=relative_error("0.9")),
            "units": pa.Column(int, nullable=True, metadata=relative_error(0.5, "0.001", missing="public")),
            "size": pa.Column(float, pa.Check.in_range(1, 9), metadata=relative_error(0.9, step=0.5)),
        }
    )
    policy = bf.Policy(schema)

    assert bf.Policy.from_yaml(policy.to_yaml()) == policy == bf.Policy.from_dict(policy.to_dict())
    assert policy.to_dict()["columns"]["income"] == {
        "type": "float",
        "secret": {"secret": "absolute_error", "k": 1000},
    }
    assert policy.domain["price"] == Unbounded("price", "float", False, Fraction(1, 10**7), log=True)
    assert policy.domain["units"].step == Fraction(1, 1000)
    assert policy.with_facts([]) == policy
    assert "absolute_error(k=1000) on any number" in repr(policy)
    assert "relative_error(c=0.9) on any positive number" in repr(policy)
    assert "to better than +-1000" in policy._repr_html_()
    assert "to better than a factor 0.9" in policy._repr_html_()
    other = bf.Policy(schema, secrets={"price": bf.threshold(3)})
    assert not other.domain["price"].log
    short = bf.Policy.from_yaml(
        "blowfish: 1\ncolumns: {p: {type: float, secret: {secret: relative_error, c: 0.9}}}"
    )
    assert short.domain["p"].step == Fraction(1, 10**7)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: absolute_error(0), ArgumentError),
        (lambda: absolute_error(None), ArgumentTypeError),
        (lambda: relative_error(1), ArgumentError),
        (lambda: relative_error(0), ArgumentError),
        (lambda: relative_error(-0.5), ArgumentError),
        (lambda: relative_error("ten"), ArgumentError),
        (lambda: relative_error(0.9, missing=["no"]), ArgumentError),
    ],
)
def test_bad_errors_are_refused(make, error):
    """When they are written."""
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("spec", "secret", "error", "match"),
    [
        ({"type": "float"}, {"secret": "relative_error"}, SecretError, "c cannot be read"),
        ({"type": "float"}, {"secret": "relative_error", "c": 2}, SecretError, "within 10% is c=0.9"),
        ({"type": "float"}, {"secret": "absolute_error", "k": "-1"}, SecretError, "not positive"),
        ({"type": "float"}, {"secret": "absolute_error", "k": "1D"}, SecretError, "k cannot be read"),
        ({"type": "float"}, {"secret": "absolute_error", "k": 1, "c": 2}, SecretError, "takes no c"),
        ({"type": "float"}, relative_error(0.9, step=1), SecretError, "wider than what is protected"),
        ({"type": "float"}, relative_error(0.9, step="1e-12"), SecretError, "finer than"),
        ({"type": "datetime"}, relative_error(0.9), SecretError, "instants"),
        ({"type": "string", "values": ["a"]}, relative_error(0.9), SecretError, "no numbers"),
        ({"type": "integer", "values": [0, 1]}, relative_error(0.9), SecretError, "0 and negative"),
        ({"type": "integer", "min": 0, "max": 9}, relative_error(0.9), SecretError, "0 and negative"),
        ({"type": "integer", "min": 1, "max": 10**9}, relative_error(0.9), DomainTooLargeError, "step"),
        ({"type": "string", "values": ["a"]}, absolute_error(1), SecretError, "no distances"),
    ],
)
def test_what_does_not_fit_is_refused(spec, secret, error, match):
    """When a policy is made, with the column's name and a fix."""
    with pytest.raises(error, match=match):
        bf.Policy(Domain((from_dict("x", spec),)), secrets={"x": secret})


def test_several_columns_do_not_share_one():
    """Typed, and so are bounds without a step."""
    domain = Domain((integers("a", 1, 9), integers("b", 1, 9)))
    for secret in (absolute_error(1), relative_error(0.9)):
        with pytest.raises(SecretError, match="several columns cannot share it"):
            bf.Policy(domain, secrets={("a", "b"): secret})
    schema = pa.DataFrameSchema(
        {"x": pa.Column(float, pa.Check.in_range(1, 9), metadata=relative_error(0.9))}
    )
    with pytest.raises(SchemaError, match="relative_error"):
        bf.Policy(schema)


def test_thresholds_of_logarithms_are_whole_cells():
    """The threshold that stands for a relative error is as many cells as its reach."""
    column = Unbounded("x", "float", False, Fraction(1, 1000), log=True)

    found = as_threshold({"secret": "relative_error", "c": "0.9", "missing": "public"}, column)

    assert found == {"secret": "threshold", "theta": "0.422", "missing": "public"}


def test_cells_wider_than_the_error_are_refused():
    """A float without a step has cells of 1, which would say nothing of an error of 0.05."""
    for k, step in (("0.05", None), ("0.5", "0.6")):
        schema = pa.DataFrameSchema({"p": pa.Column(float, metadata=bf.absolute_error(k, step=step))})
        with pytest.raises(SecretError, match="wider than the error"):
            bf.Policy(schema)
    fine = pa.DataFrameSchema({"p": pa.Column(float, metadata=bf.absolute_error("0.05", step="0.01"))})
    assert bf.Policy(fine).plan.sum("p").sensitivity > 0


def test_logarithms_belong_to_a_relative_error():
    """Cells of logarithms under another secret would be another promise with the same form: refused."""
    schema = pa.DataFrameSchema(
        {
            "p": pa.Column(float, metadata=bf.relative_error("0.9", step="0.001")),
            "q": pa.Column(float, metadata=bf.threshold(5)),
        }
    )
    policy = bf.Policy(schema)

    with pytest.raises(SecretError, match="logarithms"):
        bf.Policy(policy.domain, secrets={"p": bf.threshold("0.5")})
    with pytest.raises(SecretError, match="logarithms"):
        bf.Policy(policy.domain)
    assert bf.Policy(schema, secrets={"p": bf.threshold(5)}).domain["p"].log is False
    again = bf.Policy.from_dict(policy.to_dict())
    assert (again, again.domain) == (policy, policy.domain)
    plain = bf.Policy(schema, secrets={"p": policy.reduced.secrets[("p",)]})
    assert policy.reduced.fingerprint != plain.fingerprint
    assert policy.reduced.domain["p"].log
