"""People with several rows: all rows of one move, each along an edge, and lose at most the charge.

Neighbours come from the definition: the rows of one person, up to `max_rows`, each move along an edge of the
policy's words, or come or go where presence is secret. Rows are protected, planned, charged and counted for
real, with the noise in our hands.
"""

import itertools
import random
from fractions import Fraction

import pytest
from oracle import cases
from oracle.audit import loss_in_rounds
from oracle.cases import frame_of, in_words
from oracle.definition import definition_edges
from oracle.losses import in_one_round
from oracle.tap import tables

import pandas_blowfish as bf
from pandas_blowfish.errors import ArgumentError, BlowfishError, PolicyMismatchError, UnsoundPlanError
from pandas_blowfish.kernel import check
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.plan.price import Price
from pandas_blowfish.plan.totals.people import PeopleCount
from pandas_blowfish.policy.domain import Domain, from_dict, integers

TABLES = 10  # pairs of neighbouring tables of one question


def random_question(draw, rows):
    """Return a policy for people with several rows, a question and its plan; None where there is none."""
    verb = draw.choice([each for each in cases.VERBS if each != "aligned"])
    policy = cases._policy(draw, verb, draw.random() < 0.2)
    if policy is None:
        return None
    try:
        policy = policy.with_max_rows(rows)
        steps, plan = cases._question(draw, policy, verb)
    except UnsoundPlanError:
        raise
    except BlowfishError:  # facts that an edge changes, or what does not fit
        return None
    given = any(each.answer is not None for each in policy.facts) or plan.price.touched
    return None if plan.strategy == "dawa" or given else (policy, steps, plan)


def people(draw, policy, rows):
    """Return tables with the rows of one person at the end, in pairs of neighbours."""
    records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
    edges = definition_edges(in_words(policy), policy.domain.columns).tolist()
    others = [draw.choice(records) for _ in range(draw.choice([0, 1, 5]))]
    absent, found = len(records), []
    for number in range(TABLES if edges else 0):
        same = draw.choice(edges)  # all rows alike lose most; others are drawn too
        moves = [same if number % 2 else draw.choice(edges) for _ in range(rows)]
        for end in range(2):
            own = [move[end] for move in moves if move[end] != absent]
            found.append(others + [records[cell] for cell in own])
    frames = []
    for table in found:
        frame = frame_of(policy.domain, table)
        who = [*range(len(others)), *["the person"] * (len(table) - len(others))]
        frames.append(frame.assign(who=who))
    return frames


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize(("rows", "chunk"), [*itertools.product([1, 2, 3], range(3)), (2, "bins")])
def test_no_person_loses_more_than_is_charged(rows, chunk, monkeypatch):
    """Every verb, filters, groups, presence, and facts that no edge changes: never more, mostly as much."""
    if chunk == "bins":  # groups of several values
        monkeypatch.setattr(cases, "group_step", cases.group_by_bins)
        chunk = 5
    seen, tight, noisy = set(), 0, 0
    for seed in range(chunk * 16, chunk * 16 + 16):
        draw = random.Random(f"{rows} {seed}")
        asked = random_question(draw, rows)
        frames = people(draw, asked[0], rows) if asked is not None else []
        if not frames:
            continue
        policy, steps, plan = asked

        releases = tables(frames, policy, steps, unit="who" if rows > 1 else None)
        pairs = [(at, at + 1) for at in range(0, len(frames), 2)]
        try:
            if plan.measurement.in_rounds:
                loss, charge, _ = loss_in_rounds(releases, pairs, draw)
            else:
                loss, _ = in_one_round(releases, pairs)
                charge = releases[0](()).charged
        except OverflowError:  # a mesh of very many noises
            continue

        assert loss <= charge, f"seed {seed}: loses {loss}, charged {charge}: {steps} {policy.to_yaml()}"
        seen |= {name for name, _, _ in steps}
        noisy += charge > 0
        tight += charge > 0 and loss > charge * (1 - Fraction(1, 10**6))

    assert noisy > 3
    assert tight > noisy / 4
    assert len(seen) > 3


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("chunk", range(2))
def test_people_are_counted_within_the_charge(rows, chunk):
    """However many rows one person has: counted or not; free just where nobody can be led in or out."""
    tight, noisy = 0, 0
    for seed in range(chunk * 20, chunk * 20 + 20):
        draw = random.Random(f"people {rows} {seed}")
        policy = cases._policy(draw, "count", draw.random() < 0.1)
        if policy is None or policy.constraints:
            continue
        policy = policy.with_max_rows(rows)
        scope = (("where", (cases.random_filter(draw, policy.domain),), {}),) if draw.random() < 0.8 else ()
        if draw.random() < 0.5:
            scope = (*scope, ("groupby", (draw.sample(policy.domain.columns, 1),), {}))
        steps = (*scope, ("count", (), {"epsilon": draw.choice(cases.EPSILONS), "units": True}))
        frames = people(draw, policy, rows)
        if not frames:
            continue

        releases = tables(frames, policy, steps, unit="who")
        loss, found = in_one_round(releases, [(at, at + 1) for at in range(0, len(frames), 2)])

        assert loss <= found.charged, f"seed {seed}: {steps} {policy.to_yaml()}"
        noisy += found.noisy
        tight += found.noisy and loss == found.charged

    assert noisy > 3
    assert tight > 1


LIES = ["none", "less noise", "free", "rows", "in one part", "by groups", "one row by groups"]


@pytest.mark.parametrize("lie", LIES)
def test_the_kernel_finds_lies_about_people(lie, monkeypatch):
    """Less noise than one person needs, rows in the place of people, or a charge to some people alone."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1), (1, 3, 0)]).assign(who=["a", "a", "b"])
    frame = frame.blowfish.protect(policy, epsilon=1, unit="who")
    asked = frame.blowfish.where(f"age < {3 + LIES.index(lie)}")  # plans that passed are not tried again
    if lie in ("less noise", "free"):
        monkeypatch.setattr(PeopleCount, "scale", Fraction(1, 2) if lie == "less noise" else Fraction(0))
    if lie == "rows":
        true = check.count_cells
        monkeypatch.setattr(check, "count_cells", lambda *given, **named: true(*given, **named) + 1)
    if lie == "in one part":
        part = policy.plan.where("place == 'n'").hist("ill").part
        monkeypatch.setattr(Plan, "part", part)
    if "by groups" in lie:
        asked = asked.groupby("age")
    if lie == "one row by groups":  # each of three rows may leave a group and enter another
        monkeypatch.setattr(PeopleCount, "scale", Fraction(5))

    if lie in ("none", "by groups"):
        assert len(asked.count(epsilon=1, units=True)) == (1 if lie == "none" else 10)
        return
    with pytest.raises(UnsoundPlanError):
        asked.count(epsilon=1, units=True)
    assert frame.blowfish.budget.spent == 0


def test_people_in_several_parts_are_charged_in_each():
    """Counts of people add up over parts; they are exact where the filter is about public columns alone."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1), (1, 3, 0)]).assign(who=["a", "a", "b"])
    frame = frame.blowfish.protect(policy, epsilon=1, unit="who")
    asked = frame.blowfish.where("place == 's'")

    for place in "ns":
        frame.blowfish.where(f"place == '{place}' and age < 3").count(epsilon="1/4", units=True)
    exact = asked.count(epsilon="1/4", units=True)

    assert frame.blowfish.budget.spent == Fraction(1, 2)
    assert exact["count"].tolist() == [2]
    assert frame.blowfish.groupby("place").count(epsilon="1/4", units=True)["count"].tolist() == [1, 2]
    assert frame.blowfish.count(epsilon="1/4", units=True)["count"].tolist() == [2]
    assert asked.plan.count(units=True).strategy == "exact"
    assert policy.plan.where("age < 3").count(units=True).sensitivity == 1
    assert policy.plan.where("age < 3").count(units=True, epsilon="1/2").privacy_loss() == Fraction(1, 2)
    assert "units=True" in exact.blowfish.receipt["query"]
    assert frame.blowfish.ledger.verify(exact.blowfish.receipt)


def test_people_are_asked_for_in_one_way():
    """Not without a unit; with one row each they are rows."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1)])

    with pytest.raises(ArgumentError, match="units"):
        policy.plan.count(units="yes")
    with pytest.raises(ArgumentError, match="who they are about"):
        frame.blowfish.protect(visits(1), epsilon=1).blowfish.count(units=True, epsilon=1)
    with pytest.raises(ArgumentError, match="no matrix"):
        policy.plan.where("age < 3").count(units=True).matrix()

    single = frame.assign(who=[1, 2]).blowfish.protect(visits(1), epsilon=1, unit="who")
    assert single.blowfish.count(units=True, epsilon=1)["count"].tolist() == [2]
    assert visits(1).plan.where("age < 3").count(units=True).strategy == "identity"


def visits(max_rows=3, **stated):
    """Return a policy of visits: where, at what age, and why."""
    place = from_dict("place", {"type": "category", "values": ["n", "s"]})
    domain = Domain((place, integers("age", 0, 9), from_dict("ill", {"type": "bool"})))
    secrets = {"place": bf.public(), "age": bf.threshold(2), "ill": bf.full()}
    return bf.Policy(domain, secrets=secrets, max_rows=max_rows, **stated)


def test_the_kernel_counts_a_persons_rows_by_itself(monkeypatch):
    """A plan made as if everyone had one row is refused before it is charged."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1), (1, 3, 0)]).assign(who=["a", "a", "b"])
    frame = frame.blowfish.protect(policy, epsilon=1, unit="who")

    monkeypatch.setattr(Price, "moved", 1)
    with pytest.raises(UnsoundPlanError, match="loses 3"):
        frame.blowfish.where("age < 5").hist("ill", epsilon=1)

    assert frame.blowfish.budget.spent == 0


def test_what_is_not_proved_is_refused():
    """Facts that an edge changes, secret totals, chains, weaker promises: each says why."""
    touched = visits(constraints=[bf.Count("age < 5")])
    total = {"aggregates": [bf.Aggregate("age.sum()", delta=5)]}
    chain = bf.Markov("ill", [[0.9, 0.1], [0.2, 0.8]], values=[False, True], length=9)

    with pytest.raises(ArgumentError, match="public fact is changed by an edge"):
        touched.plan.hist("ill")
    with pytest.raises(ArgumentError, match="several rows"):
        touched.odds({"age": 1}, {"age": 2}, 1)
    with pytest.raises(ArgumentError, match="public fact is changed by an edge"):
        frame_of(touched.domain, []).assign(who=[]).blowfish.protect(touched, epsilon=1, unit="who")
    with pytest.raises(UnsoundPlanError, match="public fact"):
        check.Check.of(touched, visits().plan.hist("ill"))
    with pytest.raises(ArgumentError, match="secret total or a chain"):
        visits(**total)
    with pytest.raises(ArgumentError, match="secret total or a chain"):
        bf.Policy(visits().domain, secrets={"ill": bf.full()}, chain=chain, max_rows=2)
    with pytest.raises(ArgumentError, match="people with several"):
        visits().plan.hist("ill", strategy="single_prior", prior=[0.5, 0.5], rows=9)


def test_a_fact_that_an_edge_changes_closes_the_dataset():
    """What was lost is not known then, and raising the total does not open it."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1)]).assign(who=["a", "a"])
    frame = frame.blowfish.protect(policy, epsilon=1, unit="who")
    frame.blowfish.hist("ill", epsilon="1/2")
    ledger, name = frame.blowfish.ledger, frame.attrs["blowfish"]["dataset"]

    ledger.record_exact(name, bf.Count("place == 'n'"))
    still_open = frame.blowfish.budget.closed
    ledger.record_exact(name, bf.Count("age < 5"))

    assert still_open is None
    assert "several rows" in frame.blowfish.budget.closed
    with pytest.raises(BlowfishError, match="several rows"):
        frame.blowfish.where("place == 'n'").hist("ill", epsilon="1/4")
    with pytest.raises(BlowfishError):
        ledger.raise_budget(name, 100, reason="more")
    assert ledger.verify()


def test_parts_of_people_with_several_rows_cost_once():
    """A person with rows in both places loses the shares of both, which is no more than one charge."""
    policy = visits(2)
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1)]).assign(who=["a", "a"])
    frame = frame.blowfish.protect(policy, epsilon=1, unit="who")

    for place in "ns":
        frame.blowfish.where(f"place == '{place}'").hist("ill", epsilon=1)

    assert frame.blowfish.budget.spent == 1


def test_words_speak_of_the_person():
    """Policy, plan, odds, lint and receipt state how many rows a person may have."""
    policy = visits()
    frame = frame_of(policy.domain, [(0, 1, 0), (1, 2, 1)]).assign(who=["a", "a"])
    release = frame.blowfish.protect(policy, epsilon=1, unit="who").blowfish.hist("ill", epsilon=1)

    assert "a person with up to 3 rows" in policy.describe()
    assert "a person with up to 3 rows" in policy._repr_html_()
    assert "a person with up to 3 rows" in str(policy.plan.hist("ill"))
    assert "A person has up to 3 rows" in policy.plan.hist("ill").proof
    assert "each row of a person with up to 3 rows" in str(policy.odds({"age": 1}, {"age": 2}, 1))
    assert "max-rows" in [each.kind for each in policy.lint()]
    assert release.blowfish.receipt["max_rows"] == 3
    assert release.blowfish.receipt["unit"] == "who"
    assert policy.plan.hist("ill").sensitivity == 3 * visits(1).plan.hist("ill").sensitivity


def test_a_policy_keeps_its_rows():
    """In YAML and pickles; it implies fewer rows, never more; without them nothing is written."""
    import pickle

    policy = visits()

    assert bf.Policy.from_yaml(policy.to_yaml()) == policy == pickle.loads(pickle.dumps(policy))
    assert policy.with_facts([]).max_rows == policy.reduced.max_rows == 3
    assert policy.implies(visits(2))
    assert not visits(2).implies(policy)
    assert "max_rows" not in visits(1).to_dict()
    assert visits(1).fingerprint != policy.fingerprint
    for wrong in (0, -1, 2.5, True, "3", None):
        with pytest.raises(ArgumentError, match="max_rows"):
            visits(wrong)


def test_protect_states_rows_once():
    """With the policy's own number, or one for a policy that states none; then the name is bound to it."""
    policy, frame = visits(), frame_of(visits().domain, [(0, 1, 0), (1, 2, 1)]).assign(who=["a", "a"])

    with pytest.raises(ArgumentError, match="the policy states 3"):
        frame.blowfish.protect(policy, epsilon=1, unit="who", max_rows=2)
    with pytest.raises(ArgumentError, match="who they are about"):
        frame.blowfish.protect(policy, epsilon=1)
    with pytest.raises(ArgumentError, match="max_rows"):
        frame.blowfish.protect(policy, epsilon=1, unit="who", max_rows="many")
    bound = frame.blowfish.protect(visits(1), epsilon=1, unit="who", max_rows=2, dataset="visits")
    with pytest.raises(PolicyMismatchError, match="max_rows"):
        bound.blowfish.protect(visits(1), epsilon=1, unit="who", max_rows=3)

    assert bound.blowfish.policy == visits(2)
    assert bound.blowfish.protect(visits(2), epsilon=1, unit="who").blowfish.budget.spent == 0
