"""Variances and covariances from noisy totals: unbiased, with errors and intervals that hold."""

import random

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest
from oracle.box_draws import draw_noise

import pandas_blowfish as bf
from pandas_blowfish.count.tally import count_cells
from pandas_blowfish.plan.totals.moment_solve import MomentReader, moment_facts

LEVELS = (0.5, 0.8, 0.95, 0.99)


def schema(step=None, nullable=False):
    """Return two columns of numbers and one to group by; the second cut into bins or not."""
    y = bf.full(step=step) if step else bf.full()
    kind = float if step else int
    return pa.DataFrameSchema(
        {
            "x": pa.Column(
                "Int64" if nullable else int,
                pa.Check.in_range(-5, 15),
                nullable=nullable,
                metadata=bf.threshold(4),
            ),
            "y": pa.Column(kind, pa.Check.in_range(0, 10), metadata=y),
            "g": pa.Column(str, pa.Check.isin(["a", "b"]), metadata=bf.public()),
        }
    )


def rows_of(draw, many, step=None, nullable=False):
    """Return a table whose columns go together a little."""
    random_ = np.random.default_rng(draw.randint(0, 2**30))
    x = random_.integers(-5, 16, many)
    y = np.clip((x + 5) / 2 + random_.normal(0, 2, many), 0, 10)
    found = pd.DataFrame({"x": x, "y": y if step else y.astype(int), "g": random_.choice(["a", "b"], many)})
    if nullable:
        found["x"] = found["x"].astype("Int64").mask(random_.random(many) < 0.3)
    return found


def truth(verb, table, ddof=1):
    """Return what pandas says of the values themselves."""
    own = table[["x", "y"]].astype(float)
    if verb == "corr":
        return own.corr().stack(future_stack=True).to_numpy()
    if verb == "cov":
        return own.cov(ddof=ddof).stack(future_stack=True).to_numpy()
    return getattr(own, verb)(ddof=ddof).to_numpy()


def measured(plan, table, many, seed):
    """Return readers of the totals of many releases, one for each pair, and the pairs' columns."""
    strategy = plan.measurement
    exact = count_cells(table, strategy.tallies, clip=False)
    noise = draw_noise(strategy.scales, many, seed)
    stated = moment_facts(strategy)
    return [
        (strategy.pairs[at].columns, MomentReader(stated, at, of, exact + noise))
        for at, of in dict.fromkeys(strategy.reads)
    ]


@pytest.mark.parametrize("verb", ["var", "std", "cov", "corr"])
@pytest.mark.parametrize("case", ["public rows", "noisy counts", "missing values", "bins"])
def test_intervals_cover(verb, case):
    """At least as often as stated, for small and large noise, of values and not of middles."""
    step, nullable = ("0.5" if case == "bins" else None), case == "missing values"
    for number in range(8):
        draw = random.Random(f"{verb} {case} {number}")
        table = rows_of(draw, draw.choice([12, 60, 400]), step, nullable)
        policy = bf.Policy(schema(step, nullable), presence=case == "noisy counts")
        epsilon = draw.choice(["0.05", "0.5", "5", "100"])
        plan = getattr(policy.plan, verb)(["x", "y"], epsilon=epsilon)
        want = truth(verb, table)
        for columns, reader in measured(plan, table, 400, number):
            true = want[columns[0] * 2 + columns[1] if len(want) == 4 else columns[0]]
            for level in LEVELS:
                low, high = reader.bound(level)
                inside = ((low <= true + 1e-9) & (true - 1e-9 <= high)).mean()

                assert inside >= level - 2.6 * (level * (1 - level) / 400) ** 0.5


@pytest.mark.parametrize("verb", ["var", "cov"])
def test_unshaped_answers_are_unbiased_and_as_wrong_as_stated(verb):
    """The mean of many unshaped answers is the truth, their spread the stated error."""
    table = rows_of(random.Random(5), 300)
    want = truth(verb, table)
    plan = getattr(bf.Policy(schema()).plan, verb)(["x", "y"], epsilon="0.5", rows=300)
    for columns, reader in measured(plan, table, 20_000, 3):
        found, stated = reader.estimate(False)
        place = columns[0] * 2 + columns[1] if len(want) == 4 else columns[0]

        assert abs(found.mean() - want[place]) < 4 * found.std() / 20_000**0.5
        assert found.std() == pytest.approx(stated.mean(), rel=0.05)
        assert found.std() < 1.05 * plan.std[place]


@pytest.mark.parametrize("verb", ["std", "corr"])
def test_first_order_errors_of_deviations_and_correlations(verb):
    """Where noise is small the stated errors are those that are found."""
    table = rows_of(random.Random(6), 2_000)
    want = truth(verb, table)
    plan = getattr(bf.Policy(schema(), presence=True).plan, verb)(["x", "y"], epsilon=2)
    for columns, reader in measured(plan, table, 20_000, 4):
        found, stated = reader.estimate(True)
        place = columns[0] * 2 + columns[1] if len(want) == 4 else columns[0]

        assert found.std() == pytest.approx(stated.mean(), rel=0.05, abs=1e-12)
        assert found.mean() == pytest.approx(want[place], rel=0.01)


def test_answers_keep_their_shape():
    """Variances are not negative, deviations neither; correlations within [-1, 1], matrices symmetric."""
    table = rows_of(random.Random(7), 20)
    frame = table.blowfish.protect(bf.Policy(schema()), epsilon=10**6, dataset="shape")
    with bf.testing.replay(9):
        for _ in range(10):
            variances = frame.blowfish.var(["x", "y"], epsilon="0.05")["value"]
            cov = frame.blowfish.cov(["x", "y"], epsilon="0.05")["value"]
            corr = frame.blowfish.corr(["x", "y"], epsilon="0.05")["value"].stack().dropna()

            assert (variances >= 0).all()
            assert np.array_equal(cov, cov.T)
            assert corr.between(-1, 1).all()


def test_exact_answers_are_those_of_pandas():
    """Of public columns nothing is noisy; groups, ddof and rows left out are those of pandas."""
    table = rows_of(random.Random(8), 50, nullable=True)
    public = {name: bf.public() for name in ("x", "y", "g")}
    frame = table.blowfish.protect(
        bf.Policy(schema(nullable=True), secrets=public), epsilon=1, dataset="public columns"
    )
    own = table.astype({"x": float, "y": float})

    for verb in ("var", "std", "cov", "corr"):
        release = getattr(frame.blowfish, verb)(["x", "y"], epsilon=1)
        assert np.allclose(np.ravel(release["value"]), truth(verb, table))
        assert np.allclose(np.ravel(release.blowfish.interval()["low"]), truth(verb, table))
    grouped = frame.blowfish.where("y > 2").groupby("g").std("x", epsilon=1, ddof=0)
    assert np.allclose(grouped["value"], own[own.y > 2].groupby("g")["x"].std(ddof=0))


def test_groups_without_rows_have_no_mean():
    """A group that is surely empty, noise or not, has no mean, deviation or interval, as in pandas."""
    table = rows_of(random.Random(8), 50, nullable=True)
    table.loc[table["g"] == table["g"].iloc[0], "x"] = None
    frame = table.blowfish.protect(bf.Policy(schema(nullable=True)), epsilon=10**6, dataset="empty")
    asked = frame.blowfish.groupby("g")

    for release in (asked.mean("x", epsilon=10_000), asked.agg({"x": ["mean", "std"]}, epsilon=10_000)):
        groups = release.index.get_level_values("g")
        empty = np.asarray(groups == table["g"].iloc[0])

        assert release["value"].isna().tolist() == empty.tolist()
        assert release.blowfish.interval()["low"].isna().tolist() == empty.tolist()
