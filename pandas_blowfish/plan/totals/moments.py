"""Variances and covariances: sums, squares and products of weights, measured together. Never sees rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_blowfish.errors import UnboundedColumnError
from pandas_blowfish.exact.arrays import Floats, Ints
from pandas_blowfish.exact.number import plain
from pandas_blowfish.markup import digits, span_words
from pandas_blowfish.plan.lattice import InUnits, Lattice, Total, extremes, lattice, ones, rounding
from pandas_blowfish.plan.protocol import Question, Strategy
from pandas_blowfish.plan.tally import Tally
from pandas_blowfish.plan.totals.products import product_shifts, require_small
from pandas_blowfish.plan.totals.scaled_totals import WeighedTotals
from pandas_blowfish.plan.totals.sensitivity import Shifts
from pandas_blowfish.plan.totals.sum_boxes import SumBox, offer_boxes, read_boxes
from pandas_blowfish.policy.attribute import Attribute
from pandas_blowfish.policy.policy import Policy

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved

NAME = "moments"
STATISTICS = ("count", "size", "sum", "mean", "var", "std")  # of one column
SHARES = tuple(Fraction(text) for text in ("1/8", "1/4", "1/2", "1", "3/2", "2", "3", "5", "8", "12"))
COUNTED = ("count", "size")
CROSSED = ("cov", "corr")  # asked of pairs of columns
SEVERAL = "agg"  # asked of each column, several statistics
BITS = 2**22  # what weights stay below where a coarser cut of the step does that: squares of many rows fit
PROOF = (
    "Sums of whole weights (each value less an origin, over a unit), of their squares and products, and row "
    "counts: squares are taken of the weights of cells, before any noise. A neighbouring table moves one row "
    "along one edge of the policy. The edge that loses most changes the rows by at most {sensitivity} in L1 "
    "and, with the scales {scales}, loses at most epsilon = {epsilon}. Rows of scale 0 are the same in all "
    "neighbouring tables and cost nothing."
)
PROOF_EXACT = (
    "No edge of the policy changes any of these sums, squares or products: they are the same in all "
    "neighbouring tables, so they are released exactly and cost nothing."
)
Key = tuple[tuple[str, ...], tuple[str, ...]]  # columns that are multiplied, others that must be present


@dataclass(frozen=True)
class Pair:
    """Two columns, or one twice, and which totals their variance or covariance is read off.

    Attributes:
        columns: The numbers of the columns.
        count: Of the total that counts rows in which both are present.
        sums: Of their weights over these rows.
        squares: Of the squares of these; the same as `product` twice for one column.
        product: Of the products. What is not asked for is -1.
    """

    columns: tuple[int, int]
    count: int
    sums: tuple[int, int]
    squares: tuple[int, int]
    product: int

    @property
    def alone(self) -> bool:
        """Return whether it is one column."""
        return self.columns[0] == self.columns[1]

    @property
    def used(self) -> tuple[int, ...]:
        """Return all totals that are read, each once."""
        found = (self.count, *self.sums, self.product, *self.squares)
        return tuple(dict.fromkeys(number for number in found if number >= 0))


@dataclass(frozen=True, eq=False)
class NoisyMoments(WeighedTotals):
    """Noisy sums, squares and products per group, and row counts that they are divided by.

    Attributes:
        tally: The groups and the filter.
        totals: What is added up.
        degrees: How many weights each total multiplies: 0 counts rows.
        lattices: What rows of each column weigh.
        bounds: Of each column the least and the greatest weight that can be counted.
        pairs: What pairs of columns are read off which totals.
        reads: Of each answer, in order: the number of its pair, and which statistic it is.
        ddof: What is taken off the number of rows before it divides.
        moved: What one edge can do to the totals.
        epsilon: What may be lost.
        shares: How much more noise counts, and sums, get than squares, for what an edge changes them.
        index: The index of the answers.
        rows: The number of rows, where it is known.
        boxes: Which totals draw their noise together.

    Proof note:
        Requires: no touched facts; `product_shifts` as its note says.
        Ensures:  privacy loss <= epsilon over every edge.
        Because:  that of `WeighedTotals`. Which shares are taken, and where weights begin, follows from
                  declared bounds alone.
        Checked:  tests/privacy/test_moment_loss.py::test_loss_of_random_instances
    """

    tally: Tally
    totals: tuple[Total | Tally, ...]
    degrees: tuple[int, ...]
    lattices: tuple[Lattice, ...]
    bounds: tuple[tuple[int, int], ...]
    pairs: tuple[Pair, ...]
    reads: tuple[tuple[int, str], ...]
    ddof: int
    moved: Shifts
    epsilon: Fraction
    shares: tuple[Fraction, Fraction]
    index: pd.Index[Any]
    rows: int | None = None
    boxes: tuple[SumBox, ...] = ()

    name = NAME

    @property
    def weighed(self) -> tuple[Attribute, ...]:
        return tuple(each.attribute for each in self.lattices)

    @property
    def form(self) -> dict[str, Any]:
        found: dict[str, Any] = {"counts": str(self.shares[0]), "sums": str(self.shares[1])}
        return found | ({"boxes": [each.form for each in self.boxes]} if self.boxes else {})

    @property
    def weights(self) -> tuple[Fraction, ...]:
        shares = (*self.shares, Fraction(1))
        return tuple(shares[degree] for degree in self.degrees)

    @property
    def proof(self) -> str:
        if self.sensitivity == 0:
            return PROOF_EXACT
        scales = ", ".join(str(scale) for scale in self.total_scales)
        said = PROOF.format(sensitivity=self.sensitivity, scales=scales, epsilon=self.epsilon)
        return said + self.box_proof

    @cached_property
    def noise(self) -> tuple[float, ...]:
        """Return the variance of each total's noise."""
        return tuple(law.variance for law in self.laws)

    @cached_property
    def variances(self) -> Floats:
        """Return at most the variance of each answer; NaN where it depends on the rows."""
        found = np.zeros((self.tally.size, len(self.reads)))
        found[self.occupied] = [self._variance(self.pairs[number], of) for number, of in self.reads]
        return found.ravel()

    def _variance(self, pair: Pair, of: str) -> float:
        unit, origin = (float(getattr(self.lattices[pair.columns[0]], key)) for key in ("unit", "origin"))
        if of in COUNTED:
            return self.noise[pair.count]
        if of == "sum":
            return unit**2 * self.noise[pair.sums[0]] + origin**2 * self.noise[pair.count]
        if not any(self.noise[number] for number in pair.used) or (of == "corr" and pair.alone):
            return 0.0
        known = not self.total_scales[pair.count] and isinstance(self.totals[pair.count], Tally)
        if of in ("std", "corr") or not known or self.tally.binnings or not self.rows:
            return np.nan
        if of == "mean":
            return unit**2 * self.noise[pair.sums[0]] / self.rows**2
        if self.rows <= self.ddof:
            return np.nan
        half = [max(abs(end) for end in self.bounds[column]) for column in pair.columns]
        return self._error(pair, [each**2 for each in half]) / (self.rows - self.ddof) ** 2

    def _error(self, pair: Pair, squares: list[float]) -> float:
        """Return the variance of products less those of sums, whose means have such squares, in own units."""
        one, two = (self.noise[number] for number in pair.sums)
        off = 4 * squares[0] * one if pair.alone else squares[1] * one + squares[0] * two
        units = [float(self.lattices[column].unit) for column in pair.columns]
        return (self.noise[pair.product] + off) * (units[0] * units[1]) ** 2

    @property
    def guess(self) -> float:
        """Return how wrong answers are, compared with other shares, on average over the declared bounds."""
        middles = [float(low * low + low * high + high * high) / 3 for low, high in self.bounds]
        found = 0.0
        for number, of in self.reads:
            pair = self.pairs[number]
            squares = [max(middles[column], 1.0) for column in pair.columns]
            if of in ("sum", "mean"):
                found += self.noise[pair.sums[0]] / squares[0] + self.noise[pair.count]
            elif of not in COUNTED and pair.product >= 0:
                units = [float(self.lattices[column].unit) for column in pair.columns]
                error = self._error(pair, squares) / (units[0] * units[1]) ** 2
                if of == "corr":
                    error += sum(self.noise[each] for each in pair.squares) / 2
                found += error / (squares[0] * squares[1]) + self.noise[pair.count]
        return found

    @property
    def rounding(self) -> tuple[Fraction, ...]:
        """Return, column by column, the most by which a value differs from what it is added up as."""
        return tuple(map(rounding, self.lattices))

    def notes(self, query: Mapping[str, Any], *, rows_public: bool) -> dict[str, str]:
        """Return how far values are from what they are read as, and how wrong even values would be."""
        del query, rows_public
        said = self.box_notes
        if any(self.rounding):
            far = [
                f"{span_words(float(most)) if each.kind == 'datetime' else plain(most)} ({each.name})"
                for each, most in zip(self.weighed, self.rounding, strict=True)
                if most
            ]
            said["values"] = f"read as the middle of their cell: off by up to {', '.join(far)} each"
        known = self.rows and not self.tally.binnings
        spreads = [self.pairs[number] for number, of in self.reads if of == "std"]
        if known and spreads and not any(self.total_scales[pair.count] for pair in spreads):
            said["std of evenly spread values"] = ", ".join(map(self._even_text, spreads))
        return said

    def _even_text(self, pair: Pair) -> str:
        """Return the error of a standard deviation where values are spread evenly over the bounds."""
        low, high = self.bounds[pair.columns[0]]
        own = self.lattices[pair.columns[0]]
        assert self.rows
        wide = float(own.unit) * (high - low) / 12**0.5
        error = self._error(pair, [((low + high) / 2) ** 2] * 2) ** 0.5 / self.rows
        text = error / (2 * wide) if wide else 0.0
        shown = span_words(text) if own.attribute.kind == "datetime" else digits(text, 3)
        return f"+-{shown}" + (f" ({own.attribute.name})" if len(self.lattices) > 1 else "")

    def in_units(self) -> tuple[InUnits, ...]:
        """Return each total in the units of what it adds up."""
        if not self.occupied.any():
            return ()
        found = []
        for total, peak, law in zip(self.totals, self.moved.peaks, self.laws, strict=True):
            step = Fraction(1)
            names: list[str] = []
            factors = total.factors if isinstance(total, Total) else ()
            for each in factors:
                step *= each.unit
                names += [each.attribute.name] if each in self.lattices else []
            name = f"{names[0]}^2" if len(names) == 2 and names[0] == names[1] else " * ".join(names)
            rest = list(dict.fromkeys(each.attribute.name for each in factors if each not in self.lattices))
            name = (name or "rows") + f" where {' and '.join(rest)} is present" * bool(rest)
            if peak:
                found.append(InUnits(name, step, step * peak, step * law.size, np.nan, "number"))
        return tuple(found)

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        from pandas_blowfish.plan.totals.moment_solve import solve_moments  # here: solving needs strategies

        del known  # rows are divided by as they were measured
        return solve_moments(self, values, bool(post))


@dataclass(frozen=True, eq=False)
class Moments(Question):
    """Variances, standard deviations, covariances or correlations in each group of rows that pass a filter.

    Attributes:
        verb: "var", "std", "cov" or "corr"; "agg" where `wanted` states what is asked of each column.
        tally: The groups and the filter.
        attributes: The columns.
        listed: Whether answers are indexed by column, innermost.
        ddof: What is taken off the number of rows before it divides.
        rows: The number of rows, where it is known.
        wanted: Of "agg": for each column its statistics out of `STATISTICS`.
    """

    verb: str
    tally: Tally
    attributes: tuple[Attribute, ...]
    listed: bool
    ddof: int = 1
    rows: int | None = None
    wanted: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        names = (*self.tally.domain.columns, *(attribute.name for attribute in self.attributes))
        return tuple(dict.fromkeys(names))

    @property
    def strategies(self) -> tuple[str, ...]:
        return (NAME,)

    def candidates(
        self, policy: Policy, epsilon: Fraction, strategy: str, *, every: bool
    ) -> Iterator[Strategy]:
        """Yield the one way there is, with the noise that should do best: independent, or drawn together."""
        del strategy, every
        even = Fraction(1), Fraction(1)
        first = self._build(policy, epsilon, even)
        noisy = any(first.total_scales[pair.count] for pair in first.pairs)
        ways = list(itertools.product(SHARES if noisy else SHARES[3:4], SHARES))
        tried = [self._build(policy, epsilon, way) for way in ways]
        for boxes, split in offer_boxes(policy, first.moved, int(first.occupied.sum()), first.degrees):
            some = [self._build(policy, epsilon, way, boxes) for way in (ways if split else [even])]
            tried.append(min(some, key=lambda each: each.guess).cut_finely())
        yield min((each for each in tried if each.is_drawable), key=lambda each: each.guess)

    def reread(
        self, policy: Policy, epsilon: Fraction, strategy: str, form: Mapping[str, Any]
    ) -> NoisyMoments:
        del strategy
        shares = Fraction(form["counts"]), Fraction(form["sums"])
        return self._build(policy, epsilon, shares, read_boxes(form))

    @cached_property
    def index(self) -> pd.Index[Any]:
        """Return the index of the answers: groups, then columns, of pairs both."""
        names: pd.Index[Any] = pd.Index([each.name for each in self.attributes], name="column")
        groups = [binning.index for binning in self.tally.binnings[: self.tally.shown]]
        if self.verb in CROSSED:
            return pd.MultiIndex.from_product([*groups, names, names.rename("other")])
        if self.verb == SEVERAL:
            some = [f"{each.name} {of}" for each, own in self._wanted() for of in own]
            return pd.MultiIndex.from_product([*groups, pd.Index(some, name="statistic")])
        if not groups:
            return names
        return pd.MultiIndex.from_product([*groups, names]) if self.listed else self.tally.index

    def _wanted(self) -> Iterator[tuple[Attribute, tuple[str, ...]]]:
        return zip(self.attributes, self.wanted, strict=True)

    def _build(
        self,
        policy: Policy,
        epsilon: Fraction,
        shares: tuple[Fraction, Fraction],
        boxes: tuple[SumBox, ...] = (),
    ) -> NoisyMoments:
        totals, degrees, lattices, bounds, pairs, reads, moved = self._found(policy)
        asked = (totals, degrees, lattices, bounds, pairs, reads, self.ddof, moved, epsilon, shares)
        return NoisyMoments(self.tally, *asked, self.index, self.rows, boxes)

    def _found(self, policy: Policy) -> Any:
        """Return what is added up, how answers are read off it, and what edges do to it."""
        kept = self.__dict__.setdefault("_kept", {})
        if policy.fingerprint not in kept:
            lattices, bounds = zip(*(self._weights(each) for each in self.attributes), strict=True)
            keys: dict[Key, int] = {}
            pairs: list[Pair] = []
            reads = tuple(self._read(pairs, keys))
            totals = tuple(self._total(key, lattices) for key in keys)
            for total in totals:
                if isinstance(total, Total):
                    require_small(total)
            degrees = tuple(len(names) for names, _ in keys)
            moved = product_shifts(policy, self.tally, totals)
            kept[policy.fingerprint] = (totals, degrees, lattices, bounds, tuple(pairs), reads, moved)
        return kept[policy.fingerprint]

    def _read(self, pairs: list[Pair], keys: dict[Key, int]) -> Iterator[tuple[int, str]]:
        """Yield of each answer the number of its pair and its statistic, adding pairs and totals."""
        every = range(len(self.attributes))
        if self.verb in CROSSED:
            places = {}
            for two in itertools.combinations_with_replacement(every, 2):
                places[two] = len(pairs)
                pairs.append(self._pair(*two, keys, (self.verb,)))
            for one, other in itertools.product(every, repeat=2):
                yield places[min(one, other), max(one, other)], self.verb
            return
        wanted = self.wanted or ((self.verb,),) * len(self.attributes)
        for column, own in enumerate(wanted):
            for some in ([of for of in own if of != "size"], [of for of in own if of == "size"]):
                if some:
                    pairs.append(self._pair(column, column, keys, tuple(some)))
            numbers = {of: len(pairs) - 1 - (of != "size" and "size" in own) for of in own}
            yield from ((numbers[of], of) for of in own)

    def _pair(self, one: int, two: int, keys: dict[Key, int], asked: tuple[str, ...]) -> Pair:
        """Return what a pair is read off, adding what is not measured yet."""
        names = [self.attributes[one].name, self.attributes[two].name]
        present = {self.attributes[each].name for each in (one, two) if self.attributes[each].nullable}
        present = set() if asked == ("size",) else present

        def find(*some: str) -> int:
            key = (tuple(sorted(some)), tuple(sorted(present - set(some))))
            return keys.setdefault(key, len(keys))

        sums, product, squares = (-1, -1), -1, (-1, -1)
        if asked == ("corr",) and one == two:  # is 1, whatever the values
            return Pair((one, two), find(), sums, squares, product)
        if set(asked) - set(COUNTED):
            sums = (find(names[0]), find(names[1]))
        if set(asked) - {*COUNTED, "sum", "mean"}:
            product = find(*names)
            if "corr" in asked or one == two:
                squares = (find(names[0], names[0]), find(names[1], names[1]))
        return Pair((one, two), find(), sums, squares, product)

    def _total(self, key: Key, lattices: tuple[Lattice, ...]) -> Total | Tally:
        own = {each.attribute.name: each for each in lattices}
        factors = [*(own[name] for name in key[0]), *(ones(own[name].attribute) for name in key[1])]
        return Total(self.tally, factors[0], tuple(factors[1:])) if factors else self.tally

    def _weights(self, attribute: Attribute) -> tuple[Lattice, tuple[int, int]]:
        """Return a column's lattice from the middle of what can be counted, and the ends of its weights."""
        if not attribute.bounded:
            raise UnboundedColumnError(attribute.name, "so one row could change its square without limit")
        seen = self.tally.domain.columns
        some = self.tally.find_passing(seen.index(attribute.name)) if attribute.name in seen else None
        ends = extremes(attribute, some)
        own = lattice(attribute, ends, BITS)
        low, high = own.weights_at(np.array(ends)).tolist()
        return own, (min(low, high), max(low, high))
