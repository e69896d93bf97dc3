"""A Pufferfish scenario: which databases are possible, believed and to be hidden; never sees rows.

Everything is listed: the databases, the priors over them, and the pairs of statements that a release must not
distinguish. So the promise can be checked of any mechanism whose output probabilities are known, exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from pandas_blowfish.beyond.verdict import Case, Law, Verdict, judge, number_of
from pandas_blowfish.beyond.wasserstein import Wasserstein, wasserstein
from pandas_blowfish.errors import ArgumentError, ArgumentTypeError, DomainTooLargeError
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.markup import card, facts_table, one_line, text_facts
from pandas_blowfish.types import Epsilon

DATABASES = 100_000  # that a scenario lists
RECORDS = 1_000  # that a database may have here
CASES = 1_000_000  # pairs of a prior and a secret

Places: TypeAlias = dict[Any, int]
Weights: TypeAlias = dict[int, int]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Scenario:
    """Which databases are possible, what may be believed of them, and which statements are secret.

    Attributes:
        databases: Every database that some prior holds possible.
        laws: What is believed given a statement: weights of databases, by their places.
        cases: Two laws each, by number: a prior given either statement of a pair.
        skipped: How many pairs of a prior and a secret are left out, as in the definition: the prior gives
            one of the two statements probability 0.

    Examples:
        >>> exam = Scenario(
        ...     databases=[(0, 0), (1, 0), (1, 1)],
        ...     priors={"even": [1, 1, 1]},
        ...     secrets={"the second": (lambda d: d[1] == 0, lambda d: d[1] == 1)},
        ... )
        >>> verdict = exam.check(lambda d: {sum(d): "1/2", "none": "1/2"}, epsilon=1)
        >>> verdict.holds, verdict.ratio, verdict.witness.output
        (False, inf, 2)
    """

    databases: tuple[Any, ...]
    laws: tuple[Law, ...]
    cases: tuple[Case, ...]
    skipped: int

    def __init__(self, databases: Iterable[Any], priors: Any, secrets: Any) -> None:
        """Make a scenario of priors and pairs of statements.

        Args:
            databases: Any values that can be keys; tuples of records are usual.
            priors: Name -> prior, or a list (named by numbers). A prior is a weight for each database, in
                their order, or a dict of database -> weight, others having none; sums need not be 1.
            secrets: Name -> pair, or a list of pairs. Each statement of a pair is a function of a database
                that returns whether it is true, or the collection of the databases of which it is.
        """
        listed = _databases(databases)
        places = {database: place for place, database in enumerate(listed)}
        weights = {name: _weights(prior, places, name) for name, prior in _named(priors, "priors")}
        pairs = {
            name: [_statement(each, places) for each in _pair(pair, name)]
            for name, pair in _named(secrets, "secrets")
        }
        for name, (one, two) in pairs.items():
            if both := one & two:
                problem = f"both statements of {one_line(repr(name), 80)} are true of "
                raise ArgumentError("secrets", problem + one_line(repr(listed[min(both)]), 80))
        self._fill(listed, _conditioned(weights, pairs), len(weights) * len(pairs))

    @classmethod
    def conditional(cls, databases: Iterable[Any], priors: Any) -> Scenario:
        """Make a scenario of laws that are given for each statement, as hedging privacy needs them.

        Args:
            databases: As for a scenario.
            priors: Name -> {name of a pair: (law if the first is true, law if the second is)}, or a list of
                such dicts. A law is written as a prior is.
        """
        listed = _databases(databases)
        places = {database: place for place, database in enumerate(listed)}
        found = [
            (name, secret, *(_law(_weights(law, places, name)) for law in _pair(pair, secret)))
            for name, prior in _named(priors, "priors")
            for secret, pair in _named(prior, f"the prior {one_line(repr(name), 80)}")
        ]
        made = cls.__new__(cls)
        made._fill(listed, found, len(found))
        return made

    @classmethod
    def records(cls, values: Iterable[Any], n: int, priors: Any, secrets: Any = None) -> Scenario:
        """Make the scenario of n independent records: all tables of n values each.

        Args:
            values: What a record may be.
            n: How many records.
            priors: Name -> law, or a list. A law is a weight for each value, in their order, or a dict of
                value -> weight; or a list of n such laws, one per record.
            secrets: As for a scenario, over tuples of n values; by default every pair of values of every
                record.

        Examples:
            >>> fair = Scenario.records([0, 1], 2, {"fair": [0.5, 0.5]})
            >>> fair.check(lambda d: {d[0]: "3/4", 1 - d[0]: "1/4"}).ratio
            Fraction(3, 1)
        """
        kinds = _databases(values, "values")
        size = exact(n, "n")
        if size.denominator != 1 or not 1 <= size <= RECORDS:
            raise ArgumentError("n", "no number of records", allowed=f"1 to {RECORDS}")
        count = int(size)
        if (most := len(kinds) ** count) > DATABASES:
            fix = "take fewer records, or fewer values."
            raise DomainTooLargeError("the list of databases", min(most, 10**30), DATABASES, fix=fix)
        listed = list(itertools.product(kinds, repeat=count))
        known = {value: place for place, value in enumerate(kinds)}
        spread = {}
        for name, given in _named(priors, "priors"):
            each = list(given) if _several(given) else [given] * count
            if len(each) != count:
                raise ArgumentError("priors", f"{len(each)} laws for {count} records")
            laws = [_weights(law, known, name) for law in each]
            chances = ([law.get(place, 0) for place in range(len(kinds))] for law in laws)
            spread[name] = [math.prod(weights) for weights in itertools.product(*chances)]
        return cls(listed, spread, _each_record(kinds, count, listed) if secrets is None else secrets)

    def check(self, table: Any, epsilon: Epsilon | None = None, *, partial: bool = False) -> Verdict:
        """Return the worst odds ratio of a mechanism, and whether it is at most exp(epsilon).

        Args:
            table: The output probabilities: a DataFrame (index: databases, columns: outputs), a dict of
                database -> {output: probability}, or a function from a database to such a dict. Outputs that
                a row does not list have probability 0. Fractions, integers and text are exact, and a float
                means its shortest decimal.
            epsilon: What to compare with; without it only the ratio is found.
            partial: Take rows that sum to less than 1 (by more than 10^-9): what they leave out is not
                checked, and the verdict states how much that is.
        """
        limit = None if epsilon is None else epsilon_of(epsilon)
        parts = (self.databases, self.laws, self.cases)
        return judge(*parts, table, epsilon=limit, partial=partial, skipped=self.skipped)

    def wasserstein(self, answer: Any, epsilon: Epsilon = 1) -> Wasserstein:
        """Return how much noise a whole number needs under this scenario.

        Args:
            answer: A function from a database to a whole number, or a dict of them.
            epsilon: What the release may cost.
        """
        return wasserstein(self.databases, self.laws, self.cases, answer, epsilon_of(epsilon))

    def __repr__(self) -> str:
        return text_facts(self._facts(), "Pufferfish scenario")

    def _repr_html_(self) -> str:
        return card("Pufferfish scenario", facts_table(self._facts()))

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"databases": f"{len(self.databases):,}"}
        for title, place in (("priors", 0), ("pairs", 1)):
            names = dict.fromkeys(case[place] for case in self.cases)
            shown = one_line(", ".join(map(str, itertools.islice(names, 20))), 120)
            facts[title] = f"{len(names):,}: {shown}"
        skipped = f" ({self.skipped:,} have probability 0)" if self.skipped else ""
        return facts | {"compared": f"{len(self.cases):,} of a prior and a pair{skipped}"}

    def _fill(self, databases: list[Any], found: Iterable[tuple[Any, Any, Law, Law]], most: int) -> None:
        """Set all parts: laws that are equal are kept once."""
        if most > CASES:
            raise DomainTooLargeError("the list of cases", most, CASES, fix="give fewer priors or pairs.")
        laws: dict[Law, int] = {}
        cases = [
            Case(prior, secret, *(laws.setdefault(law, len(laws)) for law in pair))
            for prior, secret, *pair in found
        ]
        if not cases:
            fix = "see that some prior holds both statements of some pair possible."
            raise ArgumentError("scenario", "there is no pair to check under any prior", fix=fix)
        parts = {"databases": tuple(databases), "laws": tuple(laws), "cases": tuple(cases)}
        vars(self).update(parts, skipped=most - len(cases))


scenario = Scenario


def _conditioned(
    weights: Mapping[Any, Weights], pairs: Mapping[Any, Sequence[frozenset[int]]]
) -> Iterable[tuple[Any, Any, Law, Law]]:
    """Yield each prior given either statement of each pair, where both have a positive probability."""
    for prior, believed in weights.items():
        given: dict[frozenset[int], Law | None] = {}
        for secret, statements in pairs.items():
            for each in statements:
                if each not in given:
                    kept = {place: weight for place, weight in believed.items() if place in each}
                    given[each] = _law(kept) if kept else None
            one, two = (given[each] for each in statements)
            if one is not None and two is not None:
                yield prior, secret, one, two


def _law(weights: Weights) -> Law:
    common = math.gcd(*weights.values())
    parts = tuple(weight // common for weight in weights.values())
    return Law(tuple(weights), parts, sum(parts))


def _databases(given: Iterable[Any], argument: str = "databases") -> list[Any]:
    """Return a list of different values."""
    if not _listed(given):
        raise ArgumentTypeError(argument, "not a list", allowed="a list of tuples of records, say")
    listed = list(itertools.islice(given, DATABASES + 1))
    if not listed:
        raise ArgumentError(argument, "there are none")
    if len(listed) > DATABASES:
        raise DomainTooLargeError(f"the list of {argument}", len(listed), DATABASES, fix="list fewer.")
    try:
        different = len(set(listed))
    except TypeError:
        raise ArgumentTypeError(argument, "one cannot be a key", fix="write lists as tuples.") from None
    if different < len(listed):
        raise ArgumentError(argument, "one is listed twice")
    return listed


def _named(given: Any, argument: str) -> list[tuple[Any, Any]]:
    """Return the items of a dict, or of a list by number."""
    items = given.items() if isinstance(given, Mapping) else enumerate(given if _listed(given) else ())
    found = list(items)
    if not found or any(isinstance(each, (int, float, str, Fraction)) for _, each in found):
        allowed = "a dict of name -> one, or a list of them, also where there is one only"
        raise ArgumentTypeError(argument, "neither a dict nor a list of what is meant", allowed=allowed)
    return found


def _listed(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


def _several(given: Any) -> bool:
    """Return whether a law of records is one for each record."""
    return not isinstance(given, Mapping) and _listed(given) and all(_listed(each) for each in given)


def _weights(given: Any, places: Places, name: Any) -> Weights:
    """Return the positive weights of a law in whole numbers, by place."""
    argument = f"prior {one_line(repr(name), 80)}"
    if hasattr(given, "items"):
        if unknown := [value for value, _ in given.items() if value not in places]:
            raise ArgumentError(argument, f"{one_line(repr(unknown[0]), 80)} is not listed")
        read = {places[value]: number_of(weight, argument) for value, weight in given.items()}
    elif not _listed(given) or len(listed := list(given)) != len(places):
        raise ArgumentError(argument, "not one weight for each", allowed=f"{len(places)} weights, or a dict")
    else:
        read = {place: number_of(weight, argument) for place, weight in enumerate(listed)}
    if any(weight < 0 for weight in read.values()) or not any(read.values()):
        raise ArgumentError(argument, "weights are below 0, or all 0", allowed="weights of 0 or more")
    whole = math.lcm(*(weight.denominator for weight in read.values()))
    return {place: int(weight * whole) for place, weight in sorted(read.items()) if weight}


def _pair(given: Any, name: Any) -> tuple[Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ArgumentTypeError("secrets", f"{one_line(repr(name), 80)} is not a pair", allowed="(one, two)")
    return given[0], given[1]


def _statement(given: Any, places: Places) -> frozenset[int]:
    """Return the places of the databases of which a statement is true."""
    if callable(given):
        try:
            return frozenset(place for database, place in places.items() if given(database))
        except Exception as error:
            problem = f"a statement raised {type(error).__name__} of a database"
            raise ArgumentError("secrets", problem, fix="let it be a function of each of them.") from error
    if not _listed(given):
        allowed = "a function of a database, or a collection of databases"
        raise ArgumentTypeError("secrets", f"a {type(given).__name__} is no statement", allowed=allowed)
    listed = list(given)
    if unknown := [each for each in listed if each not in places]:
        raise ArgumentError("secrets", f"the database {one_line(repr(unknown[0]), 80)} is not listed")
    return frozenset(places[each] for each in listed)


def _each_record(kinds: Sequence[Any], count: int, listed: Sequence[Any]) -> dict[str, Any]:
    """Return every pair of values of every record, by name."""
    true = {
        (place, value): [each for each in listed if each[place] == value]
        for place in range(count)
        for value in kinds
    }
    return {
        f"record {place}: {one} or {two}": (true[place, one], true[place, two])
        for place in range(count)
        for one, two in itertools.combinations(kinds, 2)
    }
