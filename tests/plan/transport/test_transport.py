"""The strategy: which lines it is offered on, what it measures, how wrong it is, and what is stated of it."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.least_runs import least_runs
from pandas_blowfish.plan.loss import worst_pair
from pandas_blowfish.plan.scales import ANY, CONCAVE
from pandas_blowfish.plan.transport.run_norm import Runs
from pandas_blowfish.plan.worst_case import closure, closure_graph
from pandas_blowfish.policy.domain import Domain, from_dict, integers

TABLE = pd.DataFrame({"x": [0, 1, 1, 2, 3, 5, 5, 6, 7, 7, 7, 9], "g": [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]})


def policy_of(reach, size=10, group=None, **more):
    """Return a policy on a line whose neighbours are at most `reach` apart, and groups that stay."""
    domain = Domain((integers("x", 0, size - 1), integers("g", 0, 1)))
    return bf.Policy(domain, secrets={"x": bf.threshold(reach), "g": group or bf.public()}, **more)


def dense(plan):
    """Return the covariances of the cumulative counts of one segment, over every point of a box."""
    joint = plan.scales.joint[0]
    (cuts,) = set(joint.sizes)
    points = np.array(list(itertools.product(range(-9, 10), repeat=cuts)))
    weight = np.exp(-least_runs(points, np.arange(cuts) == 0, joint.reach) / float(plan.scale))
    found = np.zeros((cuts + 2, cuts + 2))
    found[1:-1, 1:-1] = (points.T * weight) @ points / weight.sum()
    return found


@pytest.mark.parametrize("reach", [2, 3])
def test_errors_are_those_of_all_points(reach):
    """Of counts, cumulative ones, listed ranges and every range, by line."""
    plan = policy_of(reach, 5).plan.groupby("g")
    for made in (
        plan.hist("x", epsilon=3, strategy="transport"),
        plan.cumhist("x", epsilon=3, strategy="transport"),
        plan.range("x", [(1, 3), (0, 4), (2, 2)], epsilon=3, strategy="transport"),
        plan.range("x", "all", epsilon=3, strategy="transport"),
    ):
        starts, stops = made.measurement.asked.ends
        cov = dense(made)

        expected = cov[starts, starts] + cov[stops, stops] - 2 * cov[starts, stops]

        assert made.strategy == "transport"
        assert made.std**2 == pytest.approx(np.tile(expected, 2), abs=1e-4)
        assert made.mse == pytest.approx(expected.mean(), abs=1e-4)


def test_published_figures():
    """All ranges, and cumulative counts, of 4,096 cells: auto picks transport."""
    for reach, ranges, prefixes in ((2, 8.0, 4.0), (4, 17.2, 8.6)):
        plan = policy_of(reach, 4096).plan

        cumulative = plan.cumhist("x", epsilon=1)

        assert cumulative.strategy == "transport"
        assert cumulative.mse == pytest.approx(prefixes, abs=0.05)
        assert cumulative.measurement.law.every_range == pytest.approx(ranges, abs=0.05)
        ordered = plan.cumhist("x", epsilon=1, strategy="ordered_hierarchical").mse
        assert cumulative.mse < ordered / 2


@pytest.mark.parametrize(
    ("policy", "where"),
    [
        (policy_of(1), None),
        (policy_of(9), None),
        (policy_of(2), "x >= 2"),
        (policy_of(2, presence=True), None),
        (policy_of(2, group=bf.full()), None),
    ],
)
def test_lines_that_rows_leave_or_change_have_none(policy, where):
    """Nor neighbours alone, nor longer edges than are offered: refused by name, and never picked."""
    plan = policy.plan.groupby("g")
    plan = plan.where(where) if where else plan

    assert plan.cumhist("x", epsilon=1).strategy != "transport"
    with pytest.raises(ArgumentError, match="no row can leave"):
        plan.cumhist("x", epsilon=1, strategy="transport")


def test_single_counts_under_longer_reaches_have_a_noise_each():
    """Where transport gains hardly anything it must be asked for by name."""
    plan = policy_of(7, 60).plan

    assert plan.cumhist("x", epsilon=1).strategy == "transport"
    assert plan.hist("x", epsilon=1).strategy != "transport"
    assert "transport" not in plan.hist("x", epsilon=1).candidates["strategy"].tolist()
    assert plan.hist("x", epsilon=1, strategy="transport").strategy == "transport"


def test_values_with_gaps_are_lines_of_segments():
    """Each segment has noise of its own, along what its edges reach; a filter's classes that stay, too."""
    gaps = Domain((from_dict("x", {"type": "integer", "values": [0, 1, 2, 5, 6, 7, 8, 12]}),))
    plan = bf.Policy(gaps, secrets={"x": bf.threshold(2)}).plan

    made = plan.cumhist("x", epsilon=1, strategy="transport")

    (joint,) = made.scales.joint.values()
    assert (joint.sizes, joint.reach) == ((2, 3, 0), 2)
    assert made.privacy_loss() == 1
    assert made.std[[2, 6, 7]].tolist() == [0, 0, 0]


def test_interleaved_parts_have_none():
    """Where a component is no run of cells, runs of sums are no edges."""
    mixed = bf.partition({"a": [0, 2, 4, 6], "b": [1, 3, 5, 7]})
    plan = bf.Policy(Domain((integers("x", 0, 7),)), secrets={"x": mixed}).plan

    with pytest.raises(ArgumentError):
        plan.cumhist("x", epsilon=1, strategy="transport")


def test_columns_and_changes_are_those_of_the_counter():
    """Without noise the exact counts come back, for each line, and edges change runs of sums."""
    plan = policy_of(3).plan.groupby("g").hist("x", epsilon=2, strategy="transport")
    matrix, counts = plan.matrix().toarray(), np.random.default_rng(3).integers(0, 9, 20)

    values = plan.measurement.apply(counts)

    cells = np.arange(20).reshape(10, 2).T.ravel()  # by column of the domain: x, then g
    assert len(values) == len(plan.scales) == 20
    assert (matrix.shape[0], int((plan.scales.codes == 0).sum())) == (20, 18)
    assert plan.measurement.solve(values, post=False).answers.tolist() == counts.tolist()
    assert sorted(cells.tolist()) == list(range(20))


def test_a_release_is_what_its_plan_states():
    """Unbiased, as wrong as stated, with intervals that cover; totals exact, counts in order."""
    truth = np.bincount(TABLE["x"], minlength=10).cumsum()
    rows = TABLE.blowfish.protect(policy_of(2), epsilon=10**6)
    found, inside = [], []
    with bf.testing.replay(4):
        for _ in range(300):
            release = rows.blowfish.cumhist("x", epsilon=1, strategy="transport", post=False)
            bounds = release.blowfish.interval(0.8)
            found.append(release["count"].to_numpy() - truth)
            inside.append((bounds["low"].to_numpy() <= truth) & (truth <= bounds["high"].to_numpy()))
        shaped = rows.blowfish.cumhist("x", epsilon=1, strategy="transport")

    errors, std = np.array(found), release["std"].to_numpy()
    assert (errors[:, -1] == 0).all()
    assert (np.abs(errors.mean(axis=0)) <= 4.5 * std / np.sqrt(300)).all()
    assert (errors**2).mean(axis=0)[:-1] == pytest.approx(std[:-1] ** 2, rel=0.35)
    assert (np.array(inside).mean(axis=0) >= 0.8).all()
    assert (np.diff(shaped["count"]) >= 0).all()
    assert shaped["count"].iloc[-1] == len(TABLE)


def test_later_questions_know_their_errors():
    """Ranges, coarser bins, cumulative counts, means and quantiles of a release, for nothing."""
    policy = policy_of(2)
    rows = TABLE.blowfish.protect(policy, epsilon=10)
    with bf.testing.replay(3):
        release = rows.blowfish.hist("x", epsilon=1, strategy="transport")

    technical = release.attrs["blowfish"]["technical"]
    assert technical["noise_terms"] == CONCAVE
    assert technical["covariance"]["of"] == "transport"
    every = policy.plan.range("x", "all", epsilon=1, strategy="transport")
    for free, asked in (
        (release.blowfish.cumhist(), policy.plan.cumhist("x", epsilon=1, strategy="transport")),
        (release.blowfish.range("all"), every),
    ):
        assert free["std"].to_numpy() == pytest.approx(asked.std)
        assert free.attrs["blowfish"]["technical"]["noise_terms"] == CONCAVE
        bounds = free.blowfish.interval(0.9)
        assert (bounds["low"] <= bounds["high"]).all()
    bins = release.blowfish.hist(bins=5)
    assert bins.blowfish.cumhist()["std"].to_numpy() == pytest.approx(every.std[[1, 3, 5, 7, 9]])
    assert np.isfinite(release.blowfish.mean()["std"]).all()
    assert np.isfinite(release.blowfish.median()["std"]).all()
    assert release.blowfish.marginal("x")["std"].to_numpy() == pytest.approx(release["std"].to_numpy())


def test_quantiles_are_read_off_with_wider_bands():
    """The cells that stay possible hold the median as often as stated."""
    rows = TABLE.blowfish.protect(policy_of(2), epsilon=10**6)
    inside = []
    with bf.testing.replay(8):
        for _ in range(60):
            median = rows.blowfish.quantile("x", 0.5, epsilon=2, strategy="transport")
            bounds = median.blowfish.interval(0.8)
            inside.append(bool((bounds["low"] <= 5).all() and (bounds["high"] >= 5).all()))

    assert np.mean(inside) >= 0.8


def test_answers_that_agree_with_facts_are_of_no_known_law():
    """Where a public total moves them, just their variance is known."""
    policy = policy_of(2).with_facts([bf.Count("g == 0", answer=int((TABLE["g"] == 0).sum()))])
    rows = TABLE.blowfish.protect(policy, epsilon=10)

    with bf.testing.replay(3):
        release = rows.blowfish.hist("x", epsilon=1, strategy="transport")

    assert release.attrs["blowfish"]["technical"]["noise_terms"] == ANY
    noisy = release[release["std"] > 0]
    wide = np.diff(release.blowfish.interval(0.75), axis=1).ravel()[release["std"] > 0]
    assert (wide <= 4 * noisy["std"] + 1).all()


def test_sums_of_cells_are_log_concave():
    """The odds of each value of a sum of cells' errors, squared, are at least its neighbours' product."""
    for reach, cuts in ((2, 3), (3, 4), (4, 4)):
        most = 9 if cuts == 3 else 6
        points = np.array(list(itertools.product(range(-most, most + 1), repeat=cuts)))
        weight = np.exp(-2.0 * least_runs(points, np.arange(cuts) == 0, reach))
        cells = np.diff(np.pad(points, ((0, 0), (1, 1))), axis=1)
        for chosen in itertools.product((0, 1), repeat=cuts):
            total = cells @ np.array([*chosen, 0])
            law = np.bincount(total - total.min(), weight)[-total.min() - 4 : -total.min() + 5]
            assert (law[1:-1] ** 2 >= law[:-2] * law[2:] * (1 - 1e-3)).all(), (reach, chosen)


def test_closure_is_the_loss_of_the_longest_moves():
    """If records could move anywhere: as many edges as lead from end to end, by closed form and by pairs."""
    for size, reach in ((4, 2), (5, 2), (9, 3), (2_000, 3)):
        plan = policy_of(reach, size).plan.cumhist("x", epsilon=3, strategy="transport")

        assert closure(plan).loss == 3 * -(-(size - 1) // reach)
    short = policy_of(2, 9).plan.cumhist("x", epsilon=3, strategy="transport")
    graph = closure_graph(short.policy, short.domain)
    assert worst_pair(short.matrix, short.scales, graph).loss == closure(short).loss == 12


def test_what_was_measured_is_read_again():
    """An answer that is kept under a name comes back, from an empty form."""
    rows = TABLE.blowfish.protect(policy_of(2), epsilon=10)

    first = rows.blowfish.cumhist("x", epsilon=1, strategy="transport", name="kept")
    again = rows.blowfish.cumhist("x", epsilon=1, strategy="transport", name="kept")

    assert first["count"].tolist() == again["count"].tolist()
    assert isinstance(policy_of(2).plan.hist("x", epsilon=1, strategy="transport").scales.joint[0], Runs)
    assert Fraction(first.attrs["blowfish"]["scale"]) == 1
