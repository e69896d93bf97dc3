"""Random questions to random policies, with the neighbouring tables that a release must not tell apart.

Neighbours come from the definition alone: single moved records along `definition_edges`, and with public
facts the pairs of tables of `neighbours`. Secrets of the Pufferfish kinds are first written as what they
promise, pair by pair of values.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import pandas_blowfish as bf
from oracle.definition import definition_edges
from oracle.neighbours import fact_cells, neighbours
from oracle.policies import (
    random_attribute,
    random_bins,
    random_boxes,
    random_facts,
    random_filter,
    random_joint,
    random_numbers,
    random_secret,
    value_of,
    values_of,
)
from oracle.tap import Steps, ask, said
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.exact.number import exact
from pandas_blowfish.plan.line.question import STRATEGIES as LINE_STRATEGIES
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.domain import Domain, from_dict

EPSILONS = [Fraction(1, 10**6), Fraction(1, 40), Fraction(1, 3), Fraction(1, 2), 1, 1, 2, Fraction(17, 5), 30]
MAX_TABLES = 20  # of single moved records, for one question
MAX_ENUMERATED = 60  # tables of a few rows that satisfy public facts
MAX_PAIRS = 20_000  # of tables that are compared for one policy with facts
VERBS = [
    *["hist", "hist", "cumhist", "quantile", "range", "boxes", "marginal", "marginals", "order"],
    *["kmeans", "kmeans", "aligned", "sum", "mean", "count", "workload"],
]


PICKED = "select"  # quantiles that are picked have a law of their own (tests/privacy/test_quantile_loss.py)
SUMMARIES = ["var", "std", "cov", "corr", "describe", "agg"]


@dataclass(frozen=True)
class Case:
    """A question to a policy, and tables of which some are neighbours.

    Attributes:
        policy: The promise.
        steps: The question.
        plan: What is planned for it; asked for its name, and whether it is measured in rounds.
        tables: Each a list of records, a record the cells of all columns.
        pairs: Which of these are neighbours.
    """

    policy: bf.Policy
    steps: Steps
    plan: Plan
    tables: list[list[tuple[int, ...]]]
    pairs: list[tuple[int, int]]

    def frames(self) -> list[pd.DataFrame]:
        """Return the tables as frames."""
        return [frame_of(self.policy.domain, table) for table in self.tables]

    def __str__(self) -> str:
        sizes = sorted({len(table) for table in self.tables})
        return f"{said(self.steps)} by {self.plan.strategy}, {sizes} rows\n{self.policy.to_yaml()}"


def frame_of(domain: Domain, records: Sequence[tuple[int, ...]]) -> pd.DataFrame:
    """Return records as a frame: the first value of each cell, missing where the cell is the missing one."""
    columns = {}
    for place, attribute in enumerate(domain):
        cells = np.array([record[place] for record in records], dtype=np.int64)
        values = [*values_of(attribute), *([None] if attribute.nullable else [])]
        kind = {"integer": "Int64", "float": "float64", "bool": "boolean"}.get(attribute.kind, "object")
        if attribute.kind == "datetime":
            listed = pd.Series(pd.to_datetime(values))
        else:
            listed = pd.Series(values, dtype=kind)
        columns[attribute.name] = listed.take(cells).reset_index(drop=True)
    return pd.DataFrame(columns)


def in_words(policy: bf.Policy) -> bf.Policy:
    """Return the policy with the pairs that absolute and relative errors promise written out."""
    secrets: dict[Any, Any] = {}
    for block, secret in policy.secrets.items():
        own: dict[str, Any] = dict(secret)
        if own["secret"] in ("absolute_error", "relative_error"):
            axis = policy.domain[block[0]]
            cells = itertools.combinations(range(axis.cells), 2)
            pairs = [(value_of(axis, a), value_of(axis, b)) for a, b in cells if _within(own, axis, a, b)]
            own = bf.edges(pairs, missing=own.get("missing"))["blowfish"]
        secrets[block if len(block) > 1 else block[0]] = {"blowfish": own}
    return bf.Policy(
        policy.domain,
        secrets=secrets,
        neighbors=policy.neighbors,
        presence=policy.presence,
        constraints=policy.constraints,
    )


def _within(secret: dict[str, Any], axis: Attribute, a: int, b: int) -> bool:
    """Tell whether some value of one cell is within 4 k, or a factor of c^-4, of some value of another."""
    (low, low_end), (high, _) = sorted(_ends(axis, cell) for cell in (a, b))
    reached = low == low_end  # a single value; of a bin the end is not reached
    if secret["secret"] == "absolute_error":
        near, most = high - low_end, 4 * exact(secret["k"])
    else:
        near, most = high / low_end, 1 / exact(secret["c"]) ** 4
    return near < most or (reached and near == most)


def _ends(axis: Attribute, cell: int) -> tuple[Fraction, Fraction]:
    """Return the first value of a cell, and the end of its bin; twice the same where it has one value."""
    if not isinstance(axis, Grid):
        value = Fraction(str(value_of(axis, cell)))
        return value, value
    low = axis.low + cell * axis.step
    if axis.kind == "integer":
        return low, min(low + axis.step - 1, axis.high)
    return low, low + axis.step


def random_case(draw: random.Random) -> Case | None:
    """Return a case of any kind; None where what was drawn cannot be asked."""
    verb = draw.choice(VERBS)
    if verb == "aligned":
        return _aligned(draw)
    small = draw.random() < 0.3
    policy = _policy(draw, verb, small)
    if policy is None:
        return None
    try:
        steps, plan = _question(draw, policy, verb)
    except BlowfishError as error:  # bins, bounds or strategies that do not fit what was drawn
        if type(error).__name__ == "UnsoundPlanError":
            raise
        return None
    found = _by_facts(draw, policy) if policy.constraints else _by_edges(draw, policy)
    if found is None:
        return None
    return Case(policy, steps, plan, *found)


def _aligned(draw: random.Random) -> Case | None:
    """Return clusters of a column in even groups, among rows whose number no edge changes.

    Whether bins of some width change along an edge depends on how many rows there are: of a few policies one
    is preferred that a plan for as many rows as it takes for usual would answer exactly.
    """
    for _ in range(4):
        width, groups = draw.randint(2, 10), draw.choice([8, 16, 36, 60, 120, 1000])
        missing = draw.choice([None, "public", "public"])
        axis = {"type": "integer", "min": 0, "max": width * groups - 1, "nullable": missing is not None}
        domain = Domain((from_dict("u", axis), from_dict("r", {"type": "category", "values": ["n", "s"]})))
        secrets = {"u": bf.partition(width, missing=missing), "r": bf.public()}
        policy = bf.Policy(domain, secrets=secrets, presence=draw.random() < 0.1)
        scope = [("where", ("r == 'n'",), {})] if missing is None or draw.random() < 0.5 else []
        strategy = draw.choice(["auto", "auto", "grid", "grid", "adaptive"])
        named = {"epsilon": draw.choice(EPSILONS), "strategy": strategy}
        steps: Steps = (*scope, ("kmeans", ("u", draw.randint(1, 3)), named))
        try:
            plan = ask(policy.plan, steps)
        except ArgumentError:
            return None
        if plan.cost == 0:
            break
    share, rows = draw.choice([0.1, 0.5, 0.5]), draw.choice([400, 10_000, 10_000])
    sides = random.Random(draw.random())
    last = domain.shape[0] - 1
    cells = [
        sides.randrange(last + 1) if not missing or sides.random() < share else last for _ in range(rows)
    ]
    base = [(cell, int(sides.random() > share)) for cell in cells]
    starts = [draw.randrange(groups) * width for _ in range(2)]  # pairs of one group each, by its words
    moves = [(start, start + draw.randrange(1, width)) for start in starts]
    tables = [[*base, (cell, 0)] for pair in moves for cell in pair] + [base]
    return Case(policy, steps, plan, tables, [(0, 1), (2, 3), *([(0, 4), (3, 4)] if policy.presence else [])])


def _policy(draw: random.Random, verb: str, small: bool) -> bf.Policy | None:
    """Return a policy of one to three columns; with few cells perhaps public facts."""
    columns = draw.choice([1, 2] if small else [1, 1, 2, 2, 3])
    most = {1: 5, 2: 2, 3: 2}[columns] if small else {1: 7, 2: 4, 3: 3}[columns]
    numbers = verb in ("kmeans", "sum", "mean", *SUMMARIES)
    attributes = []
    for place, name in enumerate("uvw"[:columns]):
        ordered = numbers and (place == 0 or draw.random() < 0.5)
        attributes.append((random_numbers if ordered else random_attribute)(draw, name, most))
    secrets: dict[Any, Any] = {}
    rest = list(attributes)
    if columns > 1 and draw.random() < 0.4:
        block = draw.sample(attributes, draw.randint(2, columns))
        secrets[tuple(each.name for each in block)] = random_joint(draw, block)
        rest = [each for each in attributes if each not in block]
    secrets |= {each.name: _secret(draw, each) for each in rest}
    domain, presence = Domain(tuple(attributes)), draw.random() < 0.2
    neighbors = draw.choice(["record", "record", "attribute", 1, 2])
    facts: list[Any] = []
    if small and draw.random() < 0.8:
        counts = np.array([draw.choice([0, 0, 1, 1, 2]) for _ in range(domain.size)])
        while counts.sum() > 3:
            counts[draw.choice(np.flatnonzero(counts).tolist())] -= 1
        facts = [_open(fact, draw) for fact in random_facts(draw, domain, counts, draw.randint(1, 2))]
    try:
        return bf.Policy(domain, secrets=secrets, neighbors=neighbors, presence=presence, constraints=facts)
    except BlowfishError:  # a joint secret of columns that do not go together
        return None


def _open(fact: Any, draw: random.Random) -> Any:
    """Return a fact, in half the cases without its answer."""
    if draw.random() < 0.5:
        return fact
    if fact.kind == "marginal":
        return bf.Marginal(*fact.columns)
    return bf.Count(fact.detail) if fact.kind == "count" else bf.Box(**dict(fact.detail))


def _secret(draw: random.Random, axis: Attribute) -> Any:
    """Return a secret of any kind that fits the column, the Pufferfish ones and even groups too."""
    missing = draw.choice([None, None, "public"])
    numeric = axis.kind in ("integer", "float") and axis.ordered
    if numeric and draw.random() < 0.35:
        kind = draw.choice(["absolute", "relative", "width"])
        if kind == "absolute":
            return bf.absolute_error(draw.choice(["0.02", "0.3", "0.5", 1]), missing=missing)
        if kind == "relative" and _ends(axis, 0)[0] > 0:
            return bf.relative_error(draw.choice(["0.9", "0.8", "0.6"]), missing=missing)
        if isinstance(axis, Grid):
            return bf.partition(float(axis.step * draw.randint(1, 3)), missing=missing)
    return random_secret(draw, axis)


def _question(draw: random.Random, policy: bf.Policy, verb: str) -> tuple[Steps, Plan]:
    """Return a question, perhaps filtered and by groups, and its plan under any of its strategies."""
    domain, scope = policy.domain, []
    rest = draw.sample(list(domain.columns), len(domain.columns))
    if draw.random() < 0.5:
        scope.append(("where", (random_filter(draw, domain),), {}))
    if len(rest) > 1 and draw.random() < 0.35:
        many = draw.randint(1, len(rest) - 1)
        groups, rest = rest[:many], rest[many:]
        scope.append(group_step(draw, [domain[each] for each in groups]))
    name, given, named = _verb(draw, [domain[each] for each in rest], verb)
    named["epsilon"] = draw.choice(EPSILONS)
    steps: Steps = (*scope, (name, given, named))
    plan = ask(policy.plan, steps)
    names = [each for each in strategies_of(plan) if verb != "quantile" or each != PICKED]
    if draw.random() < 0.7 or (verb == "quantile" and plan.strategy == PICKED):
        wanted = draw.choice([each for each in names if each != "dawa"])
        try:
            other: Steps = (*scope, (name, given, {**named, "strategy": wanted}))
            return other, ask(policy.plan, other)
        except ArgumentError:  # this one needs something else
            pass
    return steps, plan


def group_step(draw: random.Random, groups: list[Attribute]) -> Any:
    """Return how answers are grouped: by each value; another test puts bins of them here."""
    del draw
    return "groupby", ([each.name for each in groups],), {}


def group_by_bins(draw: random.Random, groups: list[Attribute]) -> Any:
    """Return how answers are grouped by bins of some of the columns, gaps among them."""
    bins = {each.name: own for each in groups if (own := random_bins(draw, each)) is not None}
    return "groupby", ([each.name for each in groups],), {"bins": bins} if bins else {}


def strategies_of(plan: Plan) -> Sequence[str]:
    """Return the strategies that may be asked for by name."""
    asked = plan.asked[0]
    return getattr(
        asked,
        "strategies",
        [each.name for each in LINE_STRATEGIES] if isinstance(asked, Spans) else ("identity",),
    )


def _verb(
    draw: random.Random, rest: list[Attribute], verb: str
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return a verb with arguments about some columns; where none fits, a count."""
    some = draw.sample(rest, draw.randint(1, len(rest)))
    names = [each.name for each in some]
    ordered = [each for each in rest if each.ordered]
    numbers = [each for each in rest if each.kind in ("integer", "float") and each.ordered]
    if verb == "top":
        dropna = {} if draw.random() < 0.7 else {"dropna": False}
        return draw.choice([("mode", (names,), dropna), ("top", (draw.randint(1, 3), names), dropna)])
    if verb == "hist":
        bins = {each.name: own for each in some if (own := random_bins(draw, each)) is not None}
        return "hist", (names,), {"bins": bins} if bins else {}
    if verb in ("marginal", "marginals", "order"):
        if verb == "order":
            return "marginal", ([each.name for each in rest],), {"order": draw.randint(1, len(rest))}
        nested = [draw.sample(names, draw.randint(1, len(names))) for _ in range(draw.randint(1, 3))]
        unique = [list(each) for each in {tuple(sorted(own)) for own in nested}]
        return "marginal", (sorted(unique) if verb == "marginals" else names,), {}
    if verb == "workload":
        size = math.prod(each.size for each in some)
        rows = [[draw.choice([-1, 0, 0, 1, 1, 2]) for _ in range(size)] for _ in range(draw.randint(1, 3))]
        return "workload", (rows, names), {}
    if verb in ("cumhist", "quantile", "range") and ordered:
        axis = draw.choice(ordered)
        if verb == "range":
            bounds = [box[0] for box in random_boxes(draw, [axis], draw.randint(1, 3))]
            return "range", (axis.name, draw.choice([bounds, bounds, "all"])), {}
        return verb, (axis.name, *(([0.25, 0.5],) if verb == "quantile" else ())), {}
    if verb == "boxes" and len(ordered) > 1:
        sides = draw.sample(ordered, 2)
        return "range", ([each.name for each in sides], random_boxes(draw, sides, draw.randint(1, 3))), {}
    if verb == "agg" and numbers:
        return "agg", (_functions(draw, rest, numbers),), {}
    if verb in ("sum", "mean", "kmeans", *SUMMARIES) and numbers:
        chosen = [each.name for each in draw.sample(numbers, draw.randint(1, len(numbers)))]
        return verb, (chosen, *((draw.randint(1, 2),) if verb == "kmeans" else ())), {}
    return "count", (), {}


def _functions(draw: random.Random, rest: list[Attribute], numbers: list[Attribute]) -> dict[str, list[str]]:
    """Return statistics of some columns; of categories how many there are."""
    asked = {}
    for each in draw.sample(rest, draw.randint(1, len(rest))):
        names = ["count", "size"]
        names += ["sum", "mean", "var", "std", "median"] if each in numbers else []
        asked[each.name] = draw.sample(names, draw.randint(1, len(names)))
    return asked


def _by_edges(
    draw: random.Random, policy: bf.Policy, base: list[tuple[int, ...]] | None = None
) -> tuple[list[Any], list[Any]]:
    """Return tables that differ in one record, and which of them one move of that record joins."""
    records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
    edges = definition_edges(in_words(policy), policy.domain.columns).tolist()
    if base is None:
        base = [draw.choice(records) for _ in range(draw.choice([0, 1, 4, 9]))]
    draw.shuffle(edges)
    cells: dict[int, int] = {}
    pairs = []
    for a, b in edges:
        if len({*cells, a, b}) <= MAX_TABLES:
            pairs.append(tuple(cells.setdefault(cell, len(cells)) for cell in (a, b)))
    if not cells:
        cells = {draw.randrange(len(records)): 0}
    absent = len(records)
    return [base + ([] if cell == absent else [records[cell]]) for cell in cells], pairs


def _by_facts(draw: random.Random, policy: bf.Policy) -> tuple[list[Any], list[Any]] | None:
    """Return all tables of a few rows that satisfy the facts, and which of them are neighbours."""
    worded = in_words(policy)
    records = list(itertools.product(*(range(size) for size in policy.domain.shape)))
    held, answers = fact_cells(worded)
    for rows in (3, 2, 1):
        size = len(records) + policy.presence
        if math.comb(size + rows - 1, rows) > MAX_ENUMERATED or size ** (2 * rows) > 50 * MAX_PAIRS:
            continue
        tables = list(_multisets(len(records), rows, policy.presence))
        given = [n for n, answer in enumerate(answers) if answer is not None]
        wanted = [answers[n] for n in given]
        kept = [table for table in tables if [int(held[n, list(table)].sum()) for n in given] == wanted]
        if not kept:
            continue
        counts = {
            tuple(np.bincount(table, minlength=len(records)).tolist()): n for n, table in enumerate(kept)
        }
        pairs = []
        for change in {change.counts for change in neighbours(worded, rows)}:
            for own, number in counts.items():
                other = counts.get(tuple(a + b for a, b in zip(own, change, strict=True)))
                if other is not None:
                    pairs.append((number, other))
        return [[records[cell] for cell in table] for table in kept], pairs
    return None


def _multisets(cells: int, rows: int, presence: bool) -> Iterator[tuple[int, ...]]:
    for many in range(0 if presence else rows, rows + 1):
        yield from itertools.combinations_with_replacement(range(cells), many)
