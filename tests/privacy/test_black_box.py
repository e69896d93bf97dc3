"""The black-box audit: real noise, many releases of two neighbouring tables, and a bound on what they lose.

For every kind of release no event tells two neighbours apart better than the charge allows, with confidence;
with half the noise one does.
"""

import numpy as np
import pandas as pd
import pytest
from oracle.black_box import bound, lowest_loss, outputs

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers

RUNS = 1_600
X, Y = integers("x", 0, 3), integers("y", 0, 1)
LINE = bf.Policy(Domain((X,)), secrets={"x": bf.threshold(1)})
BOTH = bf.Policy(Domain((X, Y)))
GROUPED = bf.Policy(Domain((X, Y)), secrets={"x": bf.threshold(1), "y": bf.full()})
THERE = bf.Policy(Domain((X,)), presence=True)
KNOWN = bf.Policy(Domain((X,)), constraints=[bf.Count("x in [0, 1]")])
MISSING = bf.Policy(Domain((from_dict("x", {"type": "integer", "min": 0, "max": 3, "nullable": True}),)))
LONG = bf.Policy(Domain((integers("x", 0, 7),)), secrets={"x": bf.threshold(1)})


def verb(name, *given, **named):
    """Return one step of a question."""
    return name, given, named


CASES = {
    "hist": (BOTH, (verb("hist", "x", epsilon=1, strategy="identity"),), {"x": 0, "y": 0}, {"x": 3, "y": 0}),
    "cumhist": (LINE, (verb("cumhist", "x", epsilon=1),), {"x": 1}, {"x": 2}),
    "sum": (BOTH, (verb("sum", "x", epsilon=1),), {"x": 0, "y": 0}, {"x": 3, "y": 1}),
    "mean": (MISSING, (verb("mean", "x", epsilon=3),), {"x": 3}, {"x": None}),
    "filter": (LINE, (verb("where", "x >= 2"), verb("hist", "x", epsilon=1)), {"x": 1}, {"x": 2}),
    "groups": (
        GROUPED,
        (verb("groupby", "y"), verb("cumhist", "x", epsilon=2)),
        {"x": 1, "y": 0},
        {"x": 1, "y": 1},
    ),
    "marginal": (
        BOTH,
        (verb("marginal", [["x"], ["y"]], epsilon=2),),
        {"x": 0, "y": 0},
        {"x": 3, "y": 1},
    ),
    "presence": (THERE, (verb("hist", "x", epsilon=1),), {"x": 2}, None),
    "facts": (KNOWN, (verb("hist", "x", epsilon=2, strategy="identity"),), {"x": [0, 3]}, {"x": [1, 2]}),
    "dawa": (LONG, (verb("cumhist", "x", epsilon=2, strategy="dawa"),), {"x": 3}, {"x": 4}),
    "clusters": (BOTH, (verb("kmeans", "x", 2, epsilon=1),), {"x": 0, "y": 0}, {"x": 3, "y": 0}),
    "clusters in rounds": (
        BOTH,
        (verb("where", "x >= 1"), verb("kmeans", "x", 1, epsilon=3, strategy="grid")),
        {"x": 0, "y": 0},
        {"x": 3, "y": 0},
    ),
    "mode": (THERE, (verb("mode", "x", epsilon=2, strategy="select"),), {"x": [0, 1, 1]}, {"x": [0, 2, 2]}),
    "halved boxes": (
        LONG,
        (verb("kmeans", "x", 2, epsilon=2, strategy="adaptive"),),
        {"x": 3},
        {"x": 4},
    ),
}


def neighbours(policy, one, other):
    """Return two tables that differ in what is given; None is absent."""
    rest = {name: [1, 2] if name == "x" else [0, 1] for name in policy.domain.columns}
    frames = []
    for own in (one, other):
        more = {} if own is None else {name: np.atleast_1d(value).tolist() for name, value in own.items()}
        columns = {name: rest[name] + more.get(name, []) for name in rest}
        frames.append(
            pd.DataFrame({name: pd.array(values, dtype="Int64") for name, values in columns.items()})
        )
    return frames


def lost(case, less=1, runs=RUNS):
    """Return what is lost at least, and what was charged."""
    policy, steps, one, other = CASES[case]
    found = []
    with bf.testing.replay(11):
        for frame in neighbours(policy, one, other):
            found.append(outputs(frame, policy, steps, runs, less))
    (first, charged), (second, again) = found

    assert charged == again
    return lowest_loss(first, second), float(charged)


@pytest.mark.parametrize("case", CASES)
def test_no_event_tells_neighbours_apart_better_than_was_charged(case):
    """With real noise; and half of it would be noticed."""
    least, charged = lost(case)
    caught, _ = lost(case, less=2)

    assert charged > 0
    assert least <= charged
    assert caught > charged


def test_whole_releases_lose_no_more():
    """The numbers of released frames, made non-negative and consistent, say no more than the values do."""
    runs, found = 300, []
    with bf.testing.replay(5):
        for frame in neighbours(THERE, {"x": 2}, None):
            own = frame.blowfish.protect(THERE, epsilon=10**6)
            found.append([own.blowfish.count(epsilon=1)["count"].to_numpy() for _ in range(runs)])

    assert lowest_loss(*found) <= 1


def test_the_bound_is_that_of_clopper_and_pearson():
    """Half against an eighth of very many is a ratio of four; of few it is less; of none nothing follows."""
    assert bound(500_000, 125_000, 10**6) == pytest.approx(np.log(4), abs=0.02)
    assert bound(50, 12, 100) < np.log(4) - 0.5
    assert bound(0, 5, 100) == -np.inf
    assert bound(5, 100, 100) < 0
