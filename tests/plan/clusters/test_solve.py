"""Centres and sizes from synopses: right where noise is small, and in order whatever it is."""

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.domain import Domain, from_dict, integers

GROUPS = ["F", "M"]
DOMAIN = Domain(
    (integers("x", 0, 63), integers("y", 0, 63), from_dict("sex", {"type": "category", "values": GROUPS}))
)
CLUSTERS = {(10, 12): 300, (50, 20): 200, (30, 55): 100}
SECRETS = {
    "grid": {},
    "soft": {("x", "y"): bf.threshold(4)},
    "adaptive": {},
    "whole": {"x": bf.partition({"width": 4}), "y": bf.partition({"width": 4}), "sex": bf.public()},
}


def rows_of(clusters, seed=0, **more):
    """Return rows spread a little around some centres."""
    draw = np.random.default_rng(seed)
    parts = [np.clip(draw.normal(centre, 2, (many, 2)).round(), 0, 63) for centre, many in clusters.items()]
    return pd.DataFrame(np.concatenate(parts).astype(int), columns=["x", "y"]).assign(**more)


def protected(strategy, frame, **options):
    """Return rows under a policy that suits a strategy, with more budget than anyone needs."""
    policy = bf.Policy(DOMAIN, secrets=SECRETS[strategy], **options)
    return frame.blowfish.protect(policy, epsilon=10**9)


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("strategy", SECRETS)
def test_centres_without_noise(strategy, post):
    """Three clusters, the largest first, at most a bin away from the truth, with their sizes."""
    df = protected(strategy, rows_of(CLUSTERS, sex="F"))

    found = df.blowfish.kmeans(["x", "y"], 3, epsilon=10**4, strategy=strategy, post=post)

    assert found.attrs["blowfish"]["strategy"] == strategy
    assert np.allclose(found[["x", "y"]], list(CLUSTERS), atol=2)
    assert np.allclose(found["size"], list(CLUSTERS.values()), atol=20)
    assert found["size"].sum() == pytest.approx(600, abs=1)
    assert (found["std"] >= 0).all()


@pytest.mark.parametrize("strategy", SECRETS)
def test_groups_have_their_own_clusters(strategy):
    """Each group is clustered by itself, and its sizes fall."""
    one, two = rows_of(CLUSTERS, sex="F"), rows_of({(5, 60): 50, (60, 5): 20, (60, 60): 90}, sex="M")
    df = protected(strategy, pd.concat([one, two], ignore_index=True))

    found = df.blowfish.groupby("sex").kmeans(["x", "y"], 3, epsilon=10**4, strategy=strategy)

    assert np.allclose(found.loc["F", ["x", "y"]], list(CLUSTERS), atol=2.5)
    assert np.allclose(found.loc["M", ["x", "y"]], [(60, 60), (5, 60), (60, 5)], atol=2.5)
    assert np.allclose(found.loc["M", "size"], [90, 50, 20], atol=8)
    assert found.groupby(level=0, observed=True)["size"].is_monotonic_decreasing.all()


@pytest.mark.parametrize("strategy", SECRETS)
@pytest.mark.parametrize("epsilon", ["1/10", 10**4])
def test_empty_tables_and_single_points(strategy, epsilon):
    """No rows, or all in one place: k different centres inside the declared range, sizes that add up."""
    for frame in (rows_of(CLUSTERS, sex="F")[:0], pd.DataFrame({"x": [7] * 50, "y": [9] * 50, "sex": "M"})):
        df = protected(strategy, frame)

        found = df.blowfish.groupby("sex").kmeans(["x", "y"], 4, epsilon=epsilon, strategy=strategy)

        assert len(found) == 8
        assert found[["x", "y"]].ge(0).all().all()
        assert found[["x", "y"]].le(63).all().all()
        assert not found.isna().any().any()
        assert (found["size"] >= 0).all()
        if epsilon == 10**4:
            assert found["size"].sum() == pytest.approx(len(frame), abs=1)
            if len(frame):
                mean = found[["x", "y"]].mul(found["size"], axis=0).sum() / found["size"].sum()
                assert np.allclose(mean, [7, 9], atol=2.5)


@pytest.mark.parametrize("strategy", [*SECRETS, "counted"])
def test_a_name_stands_for_one_answer(strategy, tmp_path):
    """Read again, by name or in another process, the frame is the same, and nothing more is spent."""
    how = "grid" if strategy == "counted" else strategy
    policy = bf.Policy(DOMAIN, secrets=SECRETS[how])
    file, frame = tmp_path / "budget.db", rows_of(CLUSTERS, sex="F")
    asked = {"epsilon": "1/2", "strategy": how, "name": "centres"}

    def ask(post=True):
        df = frame.copy().blowfish.protect(policy, epsilon=1, dataset="colours", ledger=file)
        scope = df.blowfish.where("sex == 'F'") if strategy == "counted" else df.blowfish
        return scope.kmeans(["x", "y"], 3, post=post, **asked), df.blowfish.budget.spent

    (first, spent), (second, again) = ask(), ask()

    pd.testing.assert_frame_equal(first, second)
    assert spent == again == bf.Ledger(file).budget("colours").spent
    assert first.attrs["blowfish"]["hash"] == second.attrs["blowfish"]["hash"]
    assert ask(post=False)[1] == spent


def exact_values(plan, frame):
    """Return what would be measured without noise: by the kernel's own counts."""
    from pandas_blowfish.count.tally import count_cells

    measurement = plan.measurement
    if not measurement.in_rounds:
        return measurement.apply(count_cells(frame, measurement.tallies, clip=False))
    values = []
    while (step := measurement.next_round(values)) is not None:
        values.append(step.apply(count_cells(frame, step.tallies, clip=False)))
    return np.concatenate(values)


@pytest.mark.parametrize("strategy", SECRETS)
def test_answers_are_a_function_of_the_values(strategy):
    """The same values have the same clusters, bit for bit."""
    plan = bf.Policy(DOMAIN, secrets=SECRETS[strategy]).plan.kmeans(
        ["x", "y"], 3, strategy=strategy, rows=600
    )
    values = exact_values(plan, rows_of(CLUSTERS, sex="F"))

    one, two = (plan.measurement.solve(values.copy(), post=True) for _ in range(2))

    assert (one.centres == two.centres).all()
    assert (one.answers == two.answers).all()
    assert np.allclose(one.centres, list(CLUSTERS), atol=4)


@pytest.mark.parametrize("strategy", SECRETS)
def test_unbiased_sizes_add_up_to_what_was_measured(strategy):
    """Without shape, sizes of all clusters together are the number of rows, where that is public."""
    df = protected(strategy, rows_of(CLUSTERS, sex="F"))

    found = df.blowfish.kmeans(["x", "y"], 3, epsilon="1/100", strategy=strategy, post=False)

    assert found["size"].sum() == pytest.approx(600, abs=1e-6)


def test_the_larger_the_noise_the_larger_the_errors():
    """Standard errors of sizes follow epsilon; exact sizes have none."""
    df = protected("grid", rows_of(CLUSTERS, sex="F"))
    whole = protected("whole", rows_of(CLUSTERS, sex="F"))

    wide, near = (df.blowfish.kmeans("x", 3, epsilon=e, strategy="grid")["std"].max() for e in ("1/10", 10))

    assert wide > 20 * near
    assert (whole.blowfish.kmeans(["x", "y"], 3, epsilon=1, strategy="whole")["std"] == 0).all()
