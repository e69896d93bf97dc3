"""Known answers of public facts are kept by every verb, and make nothing worse."""

import contextlib
import itertools
import random
import zlib

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.kernel.buckets import draw_buckets
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.plan.given import Given
from pandas_blowfish.plan.line.dawa import Dawa
from pandas_blowfish.plan.line.question import STRATEGIES as LINE_STRATEGIES
from pandas_blowfish.plan.tables.question import Marginals
from pandas_blowfish.policy.domain import Domain, from_dict, integers

LINES = ("auto", *[each.name for each in LINE_STRATEGIES])


def counts_of(measured, domain, cells):
    """Return the counts of all of a measurement's tables, one after another, from those of all cells."""
    names, found = list(domain.columns), []
    codes = np.unravel_index(np.arange(domain.size), domain.shape)
    for tally in measured.tallies:
        flat = np.zeros(domain.size, dtype=np.int64)
        for attribute in tally.domain:
            flat = flat * attribute.size + codes[names.index(attribute.name)]
        labels = tally.labels()[flat]
        found.append(np.bincount(labels[labels >= 0], cells[labels >= 0], tally.size).astype(np.int64))
    return np.concatenate(found)


def with_noise(measured, exact):
    """Return measured values with the noise of their scales."""
    if isinstance(measured, Dawa):
        return draw_buckets(measured, exact)
    found = exact.copy()
    for code, scale in enumerate(measured.scales.values):
        rows = np.flatnonzero(measured.scales.codes == code)
        if scale and len(rows):
            found[rows] += discrete_laplace(scale, len(rows))
    return found


def asked_rows(measured, domain):
    """Return answers x cells: what one row in each cell adds, where nothing is noisy."""
    ones = np.eye(domain.size, dtype=np.int64)
    values = [measured.apply(counts_of(measured, domain, one)) for one in ones]
    rows = [measured.solve(each, post=False).answers for each in values]
    return np.rint(np.column_stack(rows))


def _scoped(draw, policy, names, make_filter):
    """Return the planner, perhaps filtered and grouped, and the columns that are left."""
    planner, groups = policy.plan, []
    if draw.random() < 0.4:
        planner = planner.where(make_filter(draw, policy.domain))
    if len(names) > 1 and draw.random() < 0.35:
        groups = names[: draw.randint(1, len(names) - 1)]
        planner = planner.groupby(groups)
    return planner, [name for name in names if name not in groups]


def _asked(draw, policy, verb, make_filter, make_bins, make_boxes):
    """Return the plan of a random question of a kind."""
    domain = policy.domain
    planner, rest = _scoped(draw, policy, draw.sample(domain.columns, len(domain.columns)), make_filter)
    some, spend = rest[: draw.randint(1, len(rest))], draw.choice(["1/5", "1", "3"])
    ordered = [domain[name] for name in rest if domain[name].ordered]
    if verb == "count":
        return planner.count(epsilon=spend)
    if verb == "hist":
        bins = {name: made for name in some if (made := make_bins(draw, domain[name])) is not None}
        return planner.hist(some, bins=bins or None, epsilon=spend, strategy=draw.choice(LINES))
    if verb == "marginal":
        way = draw.choice(["auto", "residual", "identity"])
        return planner.marginal(some, epsilon=spend, strategy=way)
    if verb == "marginals":
        sets = [list(c) for n in range(1, len(rest) + 1) for c in itertools.combinations(rest, n)]
        tables = draw.sample(sets, min(len(sets), draw.randint(2, 4)))
        return planner.marginal(tables, epsilon=spend, strategy=draw.choice(["auto", "even", "joint"]))
    if verb == "workload":
        size = int(np.prod([domain[name].size for name in some]))
        matrix = [[draw.choice([0, 0, 1, 1, -1, 2]) for _ in range(size)] for _ in range(draw.randint(1, 5))]
        way = draw.choice(["auto", "identity", "direct", "optimised"])
        return planner.workload(matrix, some, epsilon=spend, strategy=way)
    if verb == "cumhist":
        return planner.cumhist(ordered[0].name, epsilon=spend, strategy=draw.choice(LINES))
    boxes = make_boxes(draw, ordered[: 1 + (verb == "boxes")], draw.randint(1, 4))
    if verb == "range":
        ranges = [box[0] for box in boxes] if draw.random() < 0.8 else "all"
        return planner.range(ordered[0].name, ranges, epsilon=spend, strategy=draw.choice(LINES))
    names = [attribute.name for attribute in ordered[:2]]
    return planner.range(names, boxes, epsilon=spend, strategy=draw.choice(["auto", "identity"]))


def _told(facts, rows):
    """Return (x, y) with facts' @ x = rows' @ y, all of them spanned by these."""
    both = np.concatenate([facts, -rows]).T.astype(float)
    _, sizes, right = np.linalg.svd(both)
    kernel = right[int((sizes > 1e-9 * max(sizes.max(initial=0.0), 1.0)).sum()) :]
    return kernel[:, : len(facts)], kernel[:, len(facts) :]


VERBS = ("count", "hist", "cumhist", "range", "boxes", "marginal", "marginals", "workload")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("seed", range(30))
def test_results_agree_with_every_fact_they_can_tell(
    seed, verb, make_policy, make_facts, facts_by_cells, make_filter, make_bins, make_boxes
):
    """Whatever sum of facts is a sum of answers comes out exactly; shapes and exact answers are kept."""
    draw, plan = random.Random(zlib.crc32(f"{verb} {seed}".encode())), None
    while plan is None:  # not every column can be asked everything
        domain = make_policy(draw, draw.randint(1 + (verb in ("boxes", "marginals")), 3), 3).domain
        cells = np.array([draw.choice([0, 0, 1, 3, 20]) for _ in range(domain.size)])
        facts = make_facts(draw, domain, cells, draw.randint(1, 3))
        secrets = {name: draw.choice([bf.full(), bf.full(), bf.public()]) for name in domain.columns}
        stated = bf.Policy(domain, secrets=secrets, constraints=facts)
        asked = stated if draw.random() < 0.5 else bf.Policy(domain, secrets=secrets, presence=seed % 4 == 0)
        with contextlib.suppress(BlowfishError, IndexError):
            plan = _asked(draw, asked, verb, make_filter, make_bins, make_boxes)
    made, rows, known = plan.measurement, asked_rows(plan.measurement, domain), facts_by_cells(stated)
    exact = made.apply(counts_of(made, domain, cells))
    with bf.testing.replay(seed):
        values = with_noise(made, exact)
    question, near = plan.asked[plan.way], 1e-9 * max(1, int(cells.sum()))
    parts = [np.arange(len(rows))]
    if isinstance(question, Marginals):
        parts = np.split(parts[0], np.cumsum(question.answers)[:-1])

    for post in (True, False, "signed") if verb == "marginals" else (True, False):
        solved = made.solve(values, post=post, known=Given.of(stated))

        found = solved.answers
        alone = [np.array([each]) for each in range(len(rows))]  # boxes are cut to counts one by one
        for part in alone if verb == "boxes" and post else parts:
            sums, answers = _told(known, rows[part])
            assert np.allclose(answers @ found[part], sums @ (known @ cells), rtol=0, atol=5 * near)
        still = plan.std == 0
        assert np.allclose(found[still], (rows @ cells)[still], rtol=0, atol=near)
        if post is True and verb != "workload":
            assert found.min(initial=0) >= -1e-7
        if post and verb == "cumhist":
            lines = found.reshape(-1, domain[plan.query["columns"][0]].cells)
            assert np.diff(lines, axis=1).min(initial=0) >= -1e-7
        assert np.allclose(solved.unshaped[still], (rows @ cells)[still], rtol=0, atol=near)
        if not isinstance(made, Dawa):  # what is true already stays
            clean = made.solve(exact, post=post, known=Given.of(stated)).answers
            assert np.allclose(clean, rows @ cells, rtol=0, atol=1e3 * near)
            if not post:  # linear in the noise, so unbiased
                other = made.solve(2 * exact - values, post=post, known=Given.of(stated)).answers
                assert np.allclose(found + other, 2 * rows @ cells, rtol=0, atol=1e3 * near)


def _survey(rows=4_000):
    draws = np.random.default_rng(7)
    age = np.minimum(draws.geometric(0.15, rows) - 1, 19)
    return pd.DataFrame({"age": age, "sex": draws.integers(0, 2, rows), "town": draws.integers(0, 4, rows)})


DOMAIN = Domain((integers("age", 0, 19), integers("sex", 0, 1), integers("town", 0, 3)))


def _protected(frame, *facts, **options):
    policy = bf.Policy(DOMAIN, secrets={"town": bf.public()}, constraints=facts, **options)
    return frame.blowfish.protect(policy, epsilon=10_000)


def _facts(frame):
    return (
        bf.Marginal("sex", answer=frame["sex"].value_counts().to_dict()),
        bf.Count("age < 5", answer=int((frame["age"] < 5).sum())),
    )


@pytest.mark.parametrize("post", [True, False])
def test_verbs_on_a_frame(post):
    """Every verb agrees with a marginal and a count, whatever else is asked along."""
    frame = _survey()
    df = _protected(frame, *_facts(frame)).blowfish
    sexes, young = frame["sex"].value_counts(), int((frame["age"] < 5).sum())

    table = df.hist(["sex", "age"], epsilon=1, post=post)["count"]
    rises = df.cumhist("age", epsilon=1, post=post)["count"]
    ranges = df.range("age", [(0, 4), (5, None), (2, 9)], epsilon=1, post=post)["count"]
    boxes = df.range(["age", "sex"], [((0, 4), (0, 1)), ((0, 19), (1, 1))], epsilon=1, post=post)["count"]
    tables = df.marginal(["age", "sex", "town"], order=2, epsilon=1, post=post)
    queries = df.workload([[1] * 5 + [0] * 15, [2] * 5 + [1] * 15], "age", epsilon=1, post=post)["count"]
    binned = df.hist("age", bins=[0, 5, 10, 19], epsilon=1, post=post)["count"]

    assert np.allclose(table.groupby(level="sex").sum(), sexes.sort_index(), atol=1e-6)
    assert np.isclose(table.groupby(level="age").sum().iloc[:5].sum(), young, atol=1e-6)
    assert (rises.iloc[4], rises.iloc[-1]) == (young, len(frame))
    assert ranges.tolist()[:2] == [young, len(frame) - young]
    assert boxes.tolist() == [young, sexes[1]]
    for names, each in tables.items():
        if "sex" in names:
            assert np.allclose(each["count"].groupby(level="sex").sum(), sexes.sort_index(), atol=1e-6)
        if "age" in names:
            told = each["count"].groupby(level="age").sum()
            assert np.isclose(told.iloc[:5].sum(), young, atol=1e-6)
    assert queries.tolist() == [young, len(frame) + young]
    assert binned.iloc[0] == young
    if post:
        assert min(table.min(), binned.min()) >= 0
        assert (np.diff(rises) >= 0).all()


def test_counts_that_are_known():
    """The rows of a filter that is a fact, or the rest of one, are told exactly."""
    frame = _survey()
    df = _protected(frame, *_facts(frame), presence=True).blowfish

    assert df.count(epsilon=1)["count"].tolist() == [len(frame)]
    assert df.where("age < 5").count(epsilon=1)["count"].tolist() == [(frame["age"] < 5).sum()]
    assert df.where("not age < 5").count(epsilon=1)["count"].tolist() == [(frame["age"] >= 5).sum()]
    by_sex = df.groupby("sex").count(epsilon=1)["count"]
    assert by_sex.tolist() == frame["sex"].value_counts().sort_index().tolist()


@pytest.mark.parametrize("nullable", [True, False])
def test_means_are_over_known_rows(nullable):
    """Where facts tell in how many rows a value is not missing, the noisy count does not matter."""
    age = from_dict("age", {"type": "integer", "min": 0, "max": 4, "nullable": nullable})
    domain = Domain((age, integers("sex", 0, 1)))
    cells = np.random.default_rng(6).poisson(20.0, domain.shape)
    fact = bf.Marginal("age", "sex", answer=cells.tolist())
    part = bf.Count("age in [0, 1, 2, 3, 4] and sex == 0", answer=int(cells[:5, 0].sum()))
    made = bf.Policy(domain, presence=True).plan.groupby("sex").mean("age", epsilon=2).measurement
    unit, origin = (float(getattr(made.summed[0].lattice, name)) for name in ("unit", "origin"))
    sums = np.array([140, 95])

    for facts, known in (([fact], [True, True]), ([part], [True, False])):
        given = Given.of(bf.Policy(domain, constraints=facts))
        for counts in ([7, 300], [80, 110]):
            values = np.concatenate([sums, counts])
            found = made.solve(values, post=False, known=given).answers
            rows = np.where(known, cells[:5].sum(axis=0), counts)
            assert found == pytest.approx(origin + unit * sums / rows)


def test_sums_are_within_what_known_rows_allow():
    """A sum of values from 0 to 4 over known rows is at most four times these, however large the noise."""
    frame = _survey()
    df = _protected(frame, *_facts(frame), presence=True).blowfish
    young = int((frame["age"] < 5).sum())

    with bf.testing.replay(1):
        found = [df.where("age < 5").sum("age", epsilon="1/100000")["value"].iloc[0] for _ in range(8)]
        free = df.where("age < 5").sum("age", epsilon="1/100000", post=False)["value"]

    assert all(0 <= each <= 4 * young for each in found)
    assert 4 * young in found
    assert abs(free.iloc[0]) > 4 * young


def test_known_answers_do_not_make_histograms_worse():
    """Over seventy-five noises, the squared error with and without what is known."""
    frame = _survey(400)
    cells = np.zeros(DOMAIN.shape, dtype=np.int64)
    np.add.at(cells, tuple(frame[name].to_numpy() for name in DOMAIN.columns), 1)
    stated = bf.Policy(DOMAIN, constraints=_facts(frame))
    given = Given.of(stated)
    for ask in (
        lambda plan: plan.hist("age"),
        lambda plan: plan.hist(["sex", "age"]),
        lambda plan: plan.groupby("sex").cumhist("age"),
        lambda plan: plan.range("age", "all"),
    ):
        made = ask(bf.Policy(DOMAIN).plan).measurement
        exact = made.apply(counts_of(made, DOMAIN, cells.ravel()))
        truth = made.solve(exact, post=False).answers
        for post in (True, False):
            with bf.testing.replay(2):
                noisy = [with_noise(made, exact) for _ in range(75)]
            with_facts = [made.solve(each, post=post, known=given).answers for each in noisy]
            without = [made.solve(each, post=post).answers for each in noisy]

            errors = [((np.array(each) - truth) ** 2).mean() for each in (with_facts, without)]
            assert errors[0] < errors[1]


@pytest.mark.parametrize("post", [True, False])
def test_intervals_cover_and_hold_what_is_released(post):
    """At least the share promised, with a margin for chance, of sixty releases."""
    frame = _survey(300)
    df = _protected(frame, *_facts(frame)).blowfish
    counts = frame["age"].value_counts().reindex(range(20), fill_value=0).sort_index()
    asks = {
        "hist": (lambda: df.hist("age", epsilon=1, post=post), counts.to_numpy()),
        "cumhist": (lambda: df.cumhist("age", epsilon=1, post=post), counts.cumsum().to_numpy()),
        "range": (
            lambda: df.range("age", [(0, 4), (3, 8), (9, 19)], epsilon=1, post=post),
            np.array([counts[:5].sum(), counts[3:9].sum(), counts[9:].sum()]),
        ),
    }
    for ask, truth in asks.values():
        inside = []
        with bf.testing.replay(4):
            for _ in range(60):
                release = ask()
                bounds = release.blowfish.interval(0.9)
                low, high = bounds["low"].to_numpy(), bounds["high"].to_numpy()
                assert ((low <= release["count"] + 1e-9) & (release["count"] <= high + 1e-9)).all()
                inside.append((low <= truth + 1e-9) & (truth <= high + 1e-9))

        assert np.mean(inside, axis=0).min() >= 0.9 - 3 * np.sqrt(0.09 / 60)
