"""What a release will measure, what it costs and how wrong it will be: no data, no spend.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish import markup
from pandas_blowfish.errors import UnsoundPlanError
from pandas_blowfish.exact.number import epsilon_of
from pandas_blowfish.plan.call_text import call_text
from pandas_blowfish.plan.goal import epsilon_for
from pandas_blowfish.plan.lattice import InUnits
from pandas_blowfish.plan.linear.bound import MAX_BINS, QUICK
from pandas_blowfish.plan.price import Price, describe_missing
from pandas_blowfish.plan.protocol import Question, Strategy, law_of
from pandas_blowfish.plan.query_rows import find_seen
from pandas_blowfish.plan.scales import Scales, variance
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.graph.part import EVERYONE, Part, Side, split_blocks
from pandas_blowfish.policy.policy import Policy

MOST_NAMED = 1_000  # components of a block that a part names; of more the whole block is looked at
MAX_SHOWN = 8  # scales that a plan spells out
MAX_DATED = 10_000  # ranges of dates of which some are spelt out
FAR = 10.0  # times the best possible beyond which a bound tells nothing
NEARLY = 1.01  # times the best possible up to which it is called that
ANSWERS = {"sum": "per sum", "mean": "per mean", "kmeans": "per size", "logsum": "per sum of logarithms"}
MEANS = ("mean", "geomean")  # read off a noisy sum
ANSWERS |= {"geomean": "per geometric mean, as a share of it"}
ANSWERS |= {"var": "per variance at most", "cov": "per covariance at most"}


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """One release, before it is made.

    Attributes:
        policy: The promise it keeps.
        epsilon: What it was asked to cost; `cost` is what it will, 0 when it is exact.
        measurement: The strategy: query rows, scales, answers.
        query: The question as plain data.
        considered: Makes every measurement that may be the best.
        asked: The question, in one or several ways that have the same answers.
        way: Which of these the measurement answers.
        price: What public facts cost: what one moved record may do, and how many move.
        again: Plans the same question at another epsilon, or for a public number of rows besides.
    """

    policy: Policy
    epsilon: Fraction
    measurement: Strategy
    query: Mapping[str, Any]
    considered: Callable[[], list[Strategy]]
    asked: tuple[Question, ...]
    way: int
    price: Price
    again: Callable[..., Plan]

    @classmethod
    def require(cls, policy: Policy) -> None:
        """Refuse a policy whose promise needs another kind of plan."""
        if policy.chain is not None or policy.aggregates:
            raise UnsoundPlanError("this policy promises more than a plan of this kind keeps")

    @staticmethod
    def rate(policy: Policy, epsilon: Fraction) -> Fraction:
        """Return the epsilon at which one record's move is measured: all of it."""
        del policy
        return epsilon

    @property
    def strategy(self) -> str:
        """Return the name of what is measured; "exact" when nothing needs noise."""
        return self.measurement.name if self.sensitivity else "exact"

    @property
    def sensitivity(self) -> Fraction:
        """Return the largest L1 change of the noisy query rows between neighbours, or a bound for it."""
        return self.price.moved * self.measurement.sensitivity

    @property
    def cost(self) -> Fraction:
        """Return what will be charged: epsilon, or 0 for an exact answer."""
        return self.epsilon if self.sensitivity else Fraction(0)

    @property
    def scale(self) -> Fraction:
        """Return the largest noise scale."""
        return max(self.scales.values, default=Fraction(0))

    @property
    def scales(self) -> Scales:
        """Return the noise scale of every query row; 0 for what is exact and costs nothing."""
        return self.measurement.scales

    @cached_property
    def call(self) -> str:
        """Return the question as the call that asks it; `parse_call` reads it back."""
        return call_text(self.query, self.epsilon, self.asked[self.way].stated_matrix())

    @property
    def domain(self) -> Domain:
        """Return the columns the release looks at, and their cells."""
        return self.measurement.domain

    @property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers."""
        return self.measurement.index

    @property
    def proof(self) -> str:
        """Return the privacy argument in one paragraph."""
        return self.price.proof + self.measurement.proof

    @property
    def guarantee(self) -> tuple[str, ...]:
        """Return what is promised besides the policy's edges, in sentences; nothing for most policies."""
        return ()

    @property
    def values(self) -> int | None:
        """Return how many noisy values the kernel hands out: one per query row, or per cell of a mesh.

        None where that depends on noisy values of earlier rounds.
        """
        return self.measurement.values

    @property
    def noise_map(self) -> Any:
        """Return what the noise adds to the query rows, rows x noise, where it is not one each; else None.

        A mesh measures `matrix()` with noise that is mapped by this; `scales` are those of the noise.
        """
        return self.measurement.noise_map()

    def matrix(self) -> Any:
        """Return the query rows x cells of `domain` (scipy sparse), up to 10^6 non-zeros."""
        return self.measurement.matrix()

    @cached_property
    def std(self) -> NDArray[np.float64]:
        """Return the standard error of each answer, before shape constraints."""
        std = np.sqrt(self.measurement.variances)
        std[std < 1e-75] = 0.0  # noise so small that floats know no better
        std.setflags(write=False)
        return std

    @cached_property
    def mse(self) -> float:
        """Return the expected squared error, mean over the answers, before shape constraints."""
        return self.measurement.mse

    @cached_property
    def bound(self) -> float:
        """Return a mean squared error, over the same answers as `mse`, that no private method goes below.

        However a method answers this question under the policy and epsilon, there are tables, of enough
        rows, on which its mean squared error is at least this, but for as little as one likes: the best
        possible lies between `bound` and `mse`. NaN where that is not known: for clusterings, selections,
        quantiles and statistics, where an edge touches a public fact, and for more than 1,024 counts.

        Examples:
            >>> import pandas_blowfish as bf
            >>> plan = bf.datasets.patients_policy().plan.hist("age", strategy="identity")
            >>> round(plan.bound, 1), round(plan.mse, 1)
            (3.5, 7.8)
        """
        return self._bound(MAX_BINS)

    def _bound(self, most: int) -> float:
        if not self.sensitivity:
            return 0.0
        price, policy = self.price, self.policy
        beyond = policy.chain is not None or policy.aggregates or price.per_person or price.touched
        stated = [fact.answer for fact in policy.facts if fact.answer is not None]
        if beyond or "q" in self.query or not all(answer.all() for answer in stated):
            return math.nan  # "q": read off what is counted; 0 rows: no table has enough
        spread = policy.max_rows**2 * variance(1 / self.epsilon)  # all rows of a person may move alike
        forced = self.asked[self.way].forced_error(price.policy, most)
        return forced * spread / len(self.index)

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """Return every strategy that was considered, with its expected squared error, best first."""
        moved = self.price.moved
        tried = self.considered()
        rows = [
            {"strategy": each.name, "sensitivity": moved * each.sensitivity, **each.figures()}
            for each in tried
        ]
        table = pd.DataFrame(rows)
        least = table.columns[-1]  # what candidates are compared by
        return table.sort_values(least, kind="stable").drop_duplicates("strategy", ignore_index=True)

    @property
    def distortion(self) -> float | None:
        """Return what a clustering is expected to add to the least sum of squared distances, as its share.

        None for other questions.
        """
        return self.measurement.figures().get("distortion")

    @property
    def grid(self) -> str | None:
        """Return what a clustering counts, in words; None for other questions."""
        return self.measurement.notes(self.query, rows_public=self.policy.rows_public).get("synopsis")

    @cached_property
    def part(self) -> Part:
        """Return which components of blocks of columns a release looks at; of blocks left out all."""
        return find_part(self)

    @property
    def members(self) -> tuple[Plan, ...]:
        """Return the plans that this one is made of, where it answers several questions; else nothing."""
        pairs = zip(self.asked[self.way].asked_together, self.measurement.members, strict=True)
        return tuple(
            replace(self, measurement=each, query=query, asked=(question,), way=0)
            for (query, question), each in pairs
        )

    def at(self, epsilon: Any) -> Plan:
        """Return the plan of the same question at another epsilon; `auto` may choose otherwise there."""
        return self.again(epsilon_of(epsilon))

    def with_rows(self, rows: int | None) -> Plan:
        """Return the plan for a table of so many rows, a public number: facts move no more records."""
        return self if self.price.cap(rows) is self.price else self.again(self.epsilon, rows=rows)

    def epsilon_for(self, rmse: Any = None, *, std: Any = None, distortion: Any = None) -> Fraction:
        """Return the smallest short decimal epsilon at which this question is planned accurately enough.

        Give one goal, or several that all must be met. Nothing is read or spent: the question is planned
        again at a few epsilons, with `auto` free to choose another strategy at each. An exact answer costs
        nothing whatever epsilon says: the plan's own is returned.

        Args:
            rmse: The most that the root mean squared error over all answers, `mse ** 0.5`, may be: of counts,
                sums or means, of the cumulative counts that quantiles are read off, of the sizes of clusters
                (not of where they lie). A timedelta for means of instants.
            std: The most that the standard error of any one answer may be.
            distortion: Of a `kmeans`: the most that `distortion` may be.

        Returns:
            An exact fraction of at most three significant digits, to be passed as `epsilon=`.

        Raises:
            ArgumentError: No epsilon meets the goal, or the error is not known before the release ("dawa", a
                mean over an unknown number of rows).

        Examples:
            >>> import pandas_blowfish as bf
            >>> plan = bf.datasets.patients_policy().plan.hist("age")
            >>> plan.epsilon_for(rmse=10)
            Fraction(141, 500)
            >>> plan.at("0.282").mse ** 0.5 <= 10 < plan.at("0.281").mse ** 0.5
            True
        """
        return epsilon_for(self, rmse=rmse, std=std, distortion=distortion)

    def privacy_loss(self) -> Fraction | float:
        """Return the exact largest loss over the policy's edges, by enumeration (at most epsilon).

        With public facts that an edge touches it is that of one moved record, between any cells that agree
        on the public columns, times how many may move. What measures as the rows suggest has no matrix to
        enumerate: its proven bound is returned.
        """
        graph = self.price.policy.graph
        loss = self.measurement.loss_over(lambda: graph.project(self.domain.columns).edges())
        return self.cost if loss is None else self.price.moved * loss

    @property
    def in_units(self) -> tuple[InUnits, ...]:
        """Return sensitivity, scale and error of each sum in its column's own units; nothing for counts.

        `sensitivity`, `scales` and `matrix()` are in whole steps of the columns' lattices.

        Examples:
            >>> import pandas_blowfish as bf
            >>> income = bf.datasets.patients_policy().plan.sum("income", epsilon=1).in_units[0]
            >>> income.name, income.sensitivity, income.scale
            ('income', Fraction(10000, 1), Fraction(10000, 1))
        """
        return tuple(
            replace(each, sensitivity=self.price.moved * each.sensitivity)
            for each in self.measurement.in_units()
        )

    def facts(self) -> dict[str, str]:
        """Return what an analyst reads before spending: decimals, in the columns' own units."""
        noisy, own, rows = self.sensitivity > 0, self.in_units, self.policy.max_rows
        return {
            "query": markup.show_call(self.call),
            "answers": self._answers(),
            **self._ends(),
            "strategy": self.strategy,
            "costs": f"epsilon {markup.decimal(self.cost)}" if noisy else f"nothing: {self._why_free()}",
            "sensitivity": self._own("sensitivity") or markup.decimal(self.sensitivity),
            "noise": f"{law_of(self.measurement)}, {self._noise()}" if noisy else "none, the answer is exact",
            "typical error": self._typical(),
            **({"compared": words} if (words := self._compared()) else {}),
            "exact, costs nothing": self._free(),
            **self.measurement.notes(self.query, rows_public=self.policy.rows_public),
            **({"lattice": self._lattice()} if noisy and any(one.step != 1 for one in own) else {}),
            **({"missing values": lost} if (lost := describe_missing(self)) else {}),
            **({"public facts": self.price.describe()} if self.policy.constraints else {}),
            **({"protects": f"a person with up to {rows:,} rows"} if rows > 1 else {}),
        }

    def _why_free(self) -> str:
        if self.price.touched and not self.price.found.count:
            return self.price.rule
        return "no edge of the policy changes the answer"

    def _answers(self) -> str:
        if self.members:
            many = len(self.index)
            return f"statistics, read off {many:,} total{'s' * (many > 1)}, counts or picked values"
        if "q" not in self.query:
            return f"{len(self.index):,}"
        each = " per group" if self.query.get("groupby") else ""
        return f"{len(self.query['q']):,}{each}, read off {len(self.index):,} cumulative counts"

    def _ends(self) -> dict[str, str]:
        """Return what ranges of dates end with, so that nobody need know the rule; nothing for others."""
        if self.query["verb"] != "range" or len(self.index) > MAX_DATED:
            return {}
        cells = self.index.get_level_values(-1).unique()
        if not isinstance(cells, pd.IntervalIndex) or cells.left.dtype.kind != "M":
            return {}
        names = [
            f"{name}, last day included" if " to " in name else name
            for name in map(markup.cell_name, cells[:3])
        ]
        return {"ranges": "; ".join([*names, *(["..."] if len(cells) > 3 else [])])}

    def _own(self, what: str) -> str:
        """Return an amount of each sum in its own units, named where there are several; "" for counts."""
        own = self.in_units
        shown = [f"{f'{one.name} ' * (len(own) > 1)}{one.show(getattr(one, what))}" for one in own]
        logs = " in natural logarithms" * any(one.kind == "logarithm" for one in own)
        return ", ".join(shown) + logs + " (of the sum)" * (bool(own) and self.query["verb"] in MEANS)

    def _noise(self) -> str:
        if text := self._own("scale"):
            return f"scale{'s' * (', ' in text)} {text}"
        used = sorted({scale for scale in self.scales.values if scale})
        if len(used) > MAX_SHOWN:
            return f"{len(used)} scales from {_plain(used[0])} to {_plain(used[-1])}"
        return f"scale{'s' * (len(used) > 1)} {', '.join(map(_plain, used))}"

    def _typical(self) -> str:
        if self.members:  # in units of their own
            return "; ".join(
                f"{_statistics(each.query)}: {each.facts()['typical error']}" for each in self.members
            )
        each = ANSWERS.get(self.query["verb"], "per count")
        own = [one for one in self.in_units if not np.isnan(one.error)]
        if not own and np.isnan(self.mse):
            return "depends on the rows: not known before the release"
        errors = [f"{f'{one.name} ' * (len(own) > 1)}+-{one.show(one.error)}" for one in own]
        text = ", ".join(errors) or f"+-{markup.digits(self.mse**0.5, 3)}"
        return f"{text} {each} (root mean squared, before shape constraints)"

    def _compared(self) -> str:
        """Return how far from the best possible the typical error may be; "" where that takes time."""
        bound = self.bound if "bound" in self.__dict__ else self._quick_bound
        if not bound > 0 or not np.isfinite(self.mse):
            return ""
        times = max(self.mse / bound, 1.0) ** 0.5
        if times > FAR:  # at a large epsilon a bound may be far below what can be done
            return ""
        if times <= NEARLY:
            return "the best possible, within 1%"
        return f"at most {markup.digits(math.ceil(100 * times) / 100, 15)} times the best possible"

    @cached_property
    def _quick_bound(self) -> float:
        return self._bound(QUICK)

    def _lattice(self) -> str:
        """Return in one line what the whole numbers of the matrix and of its scales are steps of."""
        own = [one for one in self.in_units if one.name != "rows" or one.step != 1]
        steps = [f"{f'{one.name} ' * (len(own) > 1)}{one.show(one.step)}" for one in own]
        used = sorted({scale for scale in self.scales.values if scale})
        scales = f"scale{'s' * (len(used) > 1)} {', '.join(map(_plain, used))}"
        return f"in steps of {', '.join(steps)}: sensitivity {_plain(self.sensitivity)}, {scales}"

    def _free(self) -> str:
        free = [code for code, scale in enumerate(self.scales.values) if not scale]
        exact = int(np.isin(self.scales.codes, free).sum()) if self.sensitivity else len(self.index)
        return f"{exact:,} count{'s' * (exact > 1)} or total{'s' * (exact > 1)}" if exact else "nothing"

    def __repr__(self) -> str:
        return markup.text_facts(self.facts(), "Plan")

    def _repr_html_(self) -> str:
        proof = markup.fold("Why this keeps the promise", markup.paragraph(self.proof))
        return markup.card("Plan", markup.facts_table(self.facts()), proof)


def find_part(plan: Plan) -> Part:
    """Return which components of blocks of columns a release looks at; of blocks left out all.

    All people see a release wherever public facts, secret totals or chains tie different parts together.

    Examples:
        >>> import pandas_blowfish as bf
        >>> plan = bf.datasets.patients_policy().plan
        >>> plan.where("region in ['north', 'west']").hist("age").part.form
        {'region': [0, 3]}
        >>> plan.hist("age").part.form
        {}

    Proof note:
        Requires: no fact is touched, nothing is promised about more than one record.
        Ensures:  a record outside the part changes no query row, wherever an edge moves it, and where
                  presence is secret also by coming or going.
        Because:  an edge stays in one component of each block (of a product of graphs these are the
                  products), and cells of components that are not listed have columns of zeros: the filter
                  leaves them out, or every query row does.
        Checked:  tests/kernel/test_check.py::test_nobody_outside_a_part_changes_a_query_row,
                  tests/privacy/test_parts_loss.py::test_no_neighbours_lose_more_than_is_spent
    """
    tied = plan.price.touched or plan.policy.aggregates or plan.policy.chain is not None
    tied = tied or plan.price.per_person  # who has rows in several parts is counted in each of them
    if tied or not plan.cost or not plan.measurement.own_noise:
        return EVERYONE
    sides = []
    for key, block, components in split_blocks(plan.price.policy.graph, plan.domain.columns):
        many = int(components.max()) + 1
        seen = np.bincount(components[find_seen(plan.measurement, block)], minlength=many) > 0
        if 0 < seen.sum() <= min(many - 1, MOST_NAMED):
            sides.append(Side(key, block, components, seen))
    return Part(tuple(sides))


def _statistics(query: Mapping[str, Any]) -> str:
    """Return what one of several questions is about."""
    if "q" in query:
        return f"quantiles of {', '.join(query['columns'])}"
    return ", ".join(dict.fromkeys(name for names in query["statistics"] for name in names))


def _plain(number: Fraction) -> str:
    return markup.decimal(number).removeprefix("about ")
