"""Tables 3 and 4: sums without bounds, and sums that are secret themselves; not run by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from pufferfish_laws import Found, Moments, Size, geometric, number, percent, root, same, verdict
from ranges import progress, table

import pandas_blowfish as bf
from pandas_blowfish.kernel.noise import discrete_laplace
from pandas_blowfish.policy.attribute import Grid, Unbounded
from pandas_blowfish.policy.domain import integers

SLOW = 10  # draws for one release through the accessor
ROWS, MOST, LOW = 10_000, 10**6, 10**5  # incomes, a bound that holds, and one that does not

NOTES = {
    "sum": """A bound is a guess: one that is too low cuts incomes (the error is then mostly bias), a high one
costs noise. Without a bound a value is hidden to within what is stated only, which is weaker: a threshold of
4 k on values, of 4 ln(1 / c) on logarithms. The error of a geometric mean is a share of it.""",
    "total": """This promise is stronger than that of the rows alone: the total is hidden besides. It is for
one release of a dataset.""",
}


@dataclass(frozen=True)
class Asked:
    """Incomes, what is protected of them, and by how much their sum is off without any noise."""

    policy: bf.Policy
    frame: pd.DataFrame
    bias: float = 0.0


def incomes() -> np.ndarray:
    """Return made-up incomes, in whole numbers."""
    return np.rint(np.random.default_rng(3).lognormal(10.3, 0.7, ROWS)).astype(np.int64)


def unbounded(secret: Any, kind: str = "integer", **more: Any) -> bf.Policy:
    """Return a policy of incomes without bounds."""
    return bf.Policy(bf.Domain((Unbounded("income", kind, False),)), secrets={"income": secret}, **more)


def bounded(most: int, secret: Any = None) -> bf.Policy:
    """Return a policy of incomes from 1 to a bound."""
    return bf.Policy(
        bf.Domain((integers("income", 1, most),)), secrets={} if secret is None else {"income": secret}
    )


def released(asked: Asked, verb: str, epsilon: str, runs: int) -> tuple[np.ndarray, Fraction, Fraction]:
    """Return the answers of some releases through the accessor, the scale of the noise, and its unit."""
    outside = "clip" if asked.bias else "error"
    rows = asked.frame.blowfish.protect(asked.policy, epsilon=10**9, outside=outside)
    ask = getattr(rows.blowfish, verb)
    values = [ask("income", epsilon=epsilon, post=False)["value"].iloc[0] for _ in range(runs)]
    plan = getattr(asked.policy.plan, verb)("income", epsilon=epsilon)
    return np.array(values), plan.scale, plan.measurement.summed[0].lattice.unit


def off_by(exact: Moments, unit: float, bias: float) -> Moments:
    """Return the moments of an error of some units of noise and a bias."""
    second, fourth = exact.second * unit**2, exact.fourth * unit**4
    return Moments(0.0, second + bias**2, fourth + 6 * second * bias**2 + bias**4)


def margins(size: Size) -> list[Found]:
    """Print table 3: sums and sums of logarithms, without bounds."""
    runs, values = max(2, size.runs // SLOW), incomes()
    whole, cut = pd.DataFrame({"income": values}), float((np.minimum(values, LOW) - values).sum())
    sums = {
        f"any value, bound {MOST:,}": Asked(bounded(MOST), whole),
        f"any value, bound {LOW:,}, others cut": Asked(bounded(LOW), whole, cut),
        f"within a factor 0.9, bound {MOST:,}": Asked(bounded(MOST, bf.relative_error("0.9")), whole),
    }
    for k in size.some((100, 1_000, 10_000, 100_000), (1_000, 100_000)):
        sums[f"to within +-{k:,}, no bound"] = Asked(unbounded(bf.absolute_error(k)), whole)
    top, fine = Fraction(math.ceil(math.log(MOST) * 1_000), 1_000), Fraction(1, 10_000)
    line = Grid("income", "float", False, Fraction(0), top, fine, open_high=True)
    logs = {f"any value, bound {MOST:,}": Asked(bf.Policy(bf.Domain((line,))), np.log(whole))}
    for c in size.some(("0.99", "0.9", "0.5"), ("0.9",)):
        real = unbounded(bf.relative_error(c), "float")
        logs[f"within a factor {c}, no bound"] = Asked(real, whole.astype(float))
    every: list[Found] = []
    heads = ["protected", "epsilon", "scale", "error", "expected"]
    rows = _sums(sums, "sum", values.sum(), size, runs, every)
    print(f"\n### 3. Sums of {ROWS:,} incomes, {runs:,} releases through the accessor\n")
    table([*heads, "of the mean", "/ first"], rows)
    rows = _sums(logs, "logsum", np.log(values).sum(), size, runs, every)
    print(f"\nSums of the natural logarithms of the same incomes, {runs:,} releases\n")
    table([*heads, "of the geometric mean", "/ first"], rows)
    print(NOTES["sum"])
    print(verdict(every), flush=True)
    return every


def _sums(
    asked: Mapping[str, Asked], verb: str, truth: float, size: Size, runs: int, every: list[Found]
) -> list[list[str]]:
    """Return the rows of a table of sums, and add what was found to a list."""
    rows: list[list[str]] = []
    first: dict[str, Found] = {}
    settings = [(epsilon, name) for epsilon in size.some(("0.1", "1"), ("1",)) for name in asked]
    for epsilon, name in progress(settings, verb):
        one = asked[name]
        own = "sum" if one.policy.domain["income"].bounded else verb  # of logarithms that are the values
        answers, scale, unit = released(one, own, epsilon, runs)
        found = Found.of(answers - truth, off_by(geometric(scale), float(unit), one.bias))
        every.append(found)
        base, mean = first.setdefault(epsilon, found), found.rmse / ROWS
        row = [name, epsilon, number(float(scale * unit)), str(found), root(found.expected)]
        row.append(number(mean) if verb == "sum" else percent(math.expm1(mean)))
        rows.append([*row, root(found.expected / base.expected)])
    return rows


def totals(size: Size) -> list[Found]:
    """Print table 4: what it costs to protect the total too."""
    frame, every, rows, pairs = pd.DataFrame({"income": incomes()}), [], [], []
    own, total = bf.absolute_error(1_000), int(incomes().sum())
    deltas = size.some((100, 1_000, 10_000, 100_000, 1_000_000), (1_000, 100_000))
    for epsilon, delta in progress(itertools.product(size.some(("0.1", "1"), ("1",)), deltas), "totals"):
        policy = unbounded(own, aggregates=[bf.Aggregate("income.sum()", delta=delta)])
        alone = unbounded(own).plan.sum("income", epsilon=epsilon).scale
        plan = policy.plan.sum("income", epsilon=epsilon)
        found = Found.of(discrete_laplace(plan.scale, size.runs), geometric(plan.scale))
        every.append(found)
        secret = frame.blowfish.protect(policy, epsilon=1)  # one release each
        with bf.testing.replay(len(every)):
            answer = secret.blowfish.sum("income", epsilon=epsilon, post=False)["value"].iloc[0]
        with bf.testing.replay(len(every)):
            pairs.append((answer - total, discrete_laplace(max(alone, 3 * delta / Fraction(epsilon)))[0]))
        row = [f"+-{delta:,}", epsilon, number(float(alone)), number(float(plan.scale)), str(found)]
        row += [root(found.expected), percent(found.rmse / total)]
        rows.append([*row, root(found.expected / geometric(alone).second)])
    print(f"\n### 4. A secret total: sum of {ROWS:,} incomes, each protected to within 1,000\n")
    heads = ["total protected to within", "epsilon", "scale for rows alone", "scale", "error", "expected"]
    table([*heads, "of the total", "/ rows alone"], rows)
    print(NOTES["total"])
    print(f"{verdict(every)}\n{same(pairs)}", flush=True)
    return every
