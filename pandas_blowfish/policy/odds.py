"""What a policy promises about two records, as odds and in words. Never sees rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pandas_blowfish.errors import ArgumentError
from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import epsilon_of, exact
from pandas_blowfish.markup import cell_name, data_table, one_line, paragraph, short
from pandas_blowfish.policy.attribute import Unbounded, cell_of
from pandas_blowfish.policy.margin import INDEPENDENT, MARGINS, as_threshold
from pandas_blowfish.policy.secret import joins_all, stand_in

if TYPE_CHECKING:
    import pandas as pd

    from pandas_blowfish.facts.move_bound import MoveBound
    from pandas_blowfish.policy.policy import Policy


def steps_between(attribute: Unbounded, secret: Mapping[str, Any], a: Any, b: Any) -> int | float:
    """Return how many edges of a column's secret separate two of its values, infinite when none lead there.

    Examples:
        >>> income = Unbounded("income", "float", False)
        >>> steps_between(income, {"secret": "absolute_error", "k": 1000}, 50_000, 59_000)
        3

    Proof note:
        Requires: the secret is one of this column alone.
        Ensures:  the graph distance of the two values' cells, where cells are joined up to
                  ceil(theta / step) apart.
        Because:  each step leads that far at most, and as far as that where the gap allows it; by way of a
                  missing value, where that is joined to all, it is two. A missing value with a stand-in is as
                  far from others as that, and one step from it.
        Checked:  tests/policy/test_odds_endless.py::test_steps_match_a_long_bounded_column
    """
    secret = as_threshold(secret, attribute)
    one, two = (cell_of(attribute, value) for value in (a, b))
    if one == two:
        return 0
    kind = secret["secret"]
    hidden = attribute.nullable and joins_all(secret)
    if one is None or two is None:
        if (like := stand_in(secret, attribute)) is None:
            return 1 if hidden else math.inf
        one, two = (like if each is None else each for each in (one, two))
        if one == two:
            return 1
    if kind in ("full", "public"):
        return 1 if kind == "full" else math.inf
    theta = span_ns(secret["theta"], "theta") if attribute.kind == "datetime" else exact(secret["theta"])
    theta /= exact((secret.get("scale") or {}).get(attribute.name, 1))
    steps = -(-abs(one - two) // math.ceil(theta / attribute.step))
    return min(steps, 2) if hidden else steps


Record = Mapping[str, Any] | None
START = "Seeing everything released, someone's odds"
FOR = "for anyone who does not infer {} from others"
REST = "for anyone who does not infer the one or the other from the rest of {}, or from other rows"


@dataclass(frozen=True, repr=False)
class Odds:
    """How far releases can move someone's odds between two records.

    Attributes:
        first: One record, as column -> value; None for not being in the table.
        second: The other.
        epsilon: What all releases together may lose.
        distance: How many edges of the policy separate them; infinity when none lead there.
        tied: The rule by which public facts tie this row to others; None where they do not.
        part: Whether the records leave out columns that are not public, which are taken to be the same.
        note: What else the bound takes for granted.
        rows: How many rows the person may have, all of which are the one record or the other.
        prior: The probability that someone gave the first before, against the second; None where not asked.

    Examples:
        >>> odds = Odds({"age": 34}, {"age": 37}, Fraction(1, 10), 1)
        >>> odds.against, odds.factor_text
        ('34 against 37', '1.11')
        >>> print(str(odds)[:95])
        Seeing everything released, someone's odds that this person's row has age 34 rather than 37 can
    """

    first: Record
    second: Record
    epsilon: Fraction
    distance: int | float
    tied: MoveBound | None = None
    part: bool = False
    note: str = ""
    rows: int = 1
    prior: Fraction | None = None

    @property
    def loss(self) -> Fraction | float:
        """Return epsilon times the distance."""
        return math.inf if math.isinf(self.distance) else self.epsilon * int(self.distance)

    @property
    def factor(self) -> float:
        """Return the largest factor between the odds before and after, exp(loss)."""
        return math.exp(self.loss) if self.loss < 700 else math.inf

    @property
    def posterior(self) -> float | None:
        """Return the largest probability of the first record after all releases; None without a prior.

        Examples:
            >>> odds = Odds({"age": 34}, {"age": 37}, Fraction(1), 1, prior=Fraction(1, 100))
            >>> round(odds.posterior, 6)
            0.026724
        """
        if self.prior is None:
            return None
        if not self.distance or (self.tied is not None and self.tied.known):
            return float(self.prior)
        before = self.prior / (1 - self.prior)
        after = math.inf if math.isinf(self.factor) else float(before) * self.factor
        return 1.0 if math.isinf(after) else after / (1 + after)

    @property
    def factor_text(self) -> str:
        """Return the factor in three digits, rounded up."""
        if math.isinf(self.distance):
            return "unlimited"
        return _rounded_up(self.factor) if math.isfinite(self.factor) else f"exp({math.ceil(self.loss):,})"

    @property
    def against(self) -> str:
        """Return the two records in a few words, such as "34 against 71"."""
        one, two = _apart(self.first, self.second)
        return f"{one} against {two}"

    @property
    def caveat(self) -> str:
        """Return whose odds these are, and of what: never more than is proved."""
        if self.tied is None:
            return f"{REST if self.part else FOR}.".format("these rows" if self.rows > 1 else "this row")
        bounded = self.tied.records < self.tied.limit and self.tied.rule != "kernel"
        return (
            "for tables that agree with all public columns and facts, which tie this row to others, and "
            f"differ in as few records as these allow{f' (up to {self.tied.records:,})' if bounded else ''}."
        )

    def __str__(self) -> str:
        whose = (
            f"each row of a person with up to {self.rows:,} rows" if self.rows > 1 else "this person's row"
        )
        start = f"{START} that {whose} {_rather(self.first, self.second)}"
        if not self.distance:
            return f"{start} do not change at all: both are the same cell, and a release sees no more of it."
        if self.tied is not None and self.tied.known:
            return f"{start} do not change at all: {self.tied.why}."
        if math.isinf(self.distance):
            return (
                f"{start} are not protected at all: no chain of the policy's edges leads from one to the "
                "other, so a release may distinguish them with certainty."
            )
        if self.tied is not None:
            one, two = (_state(record) for record in (self.first, self.second))
            start = (
                f"{START} between two tables, one where this person {one} and one where this person {two},"
            )
        steps = f"{self.distance} step{'s' if self.distance > 1 else ''} apart"
        bound = f"can change by at most a factor {self.factor_text} (epsilon {short(self.epsilon)}, {steps})"
        more = f" {self.note}." if self.note else ""
        return f"{start} {bound}, {self.caveat}{more}{self._believed()}"

    def _believed(self) -> str:
        """Return the largest probability after, in words; "" without a prior."""
        if self.prior is None or self.posterior is None:
            return ""
        one, two = _apart(self.first, self.second)
        before, after = (_percent(float(each)) for each in (self.prior, self.posterior))
        return (
            f" Who gave {one} a probability of {before} before, and {two} the rest, gives it {after} at most."
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return paragraph(str(self))


class OddsTable(tuple[Odds, ...]):
    """One record against several: a sentence for the first, and a line for each other."""

    __slots__ = ()

    @property
    def table(self) -> pd.DataFrame:
        """Return the distance, the loss and the factor of each, by the two records in words."""
        import pandas as pd

        rows = [(each.distance, float(each.loss), each.factor, each.posterior) for each in self]
        index = pd.Index([each.against for each in self], name="odds of")
        found = pd.DataFrame(rows, index=index, columns=["distance", "loss", "factor", "posterior"])
        return found if any(each.prior for each in self) else found.drop(columns="posterior")

    def __repr__(self) -> str:
        lines = [str(each) for each in self[:1]]
        for each in self[1:]:
            bare = each.caveat in "".join(lines) or not 0 < each.distance < math.inf
            lines.append(f"{each.against}: {_line(each)}{'' if bare else f', {each.caveat}'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self:
            return ""
        rows = [(each.against, _line(each), each.distance) for each in self]
        caption = f"How far odds can change, seeing everything released (epsilon {short(self[0].epsilon)})"
        more = " ".join(dict.fromkeys(f"Factors hold {each.caveat}" for each in self))
        return data_table(("odds of", "at most a factor", "steps apart"), rows, caption, more=more)


def odds_between(policy: Policy, a: Any, b: Any, epsilon: Any, prior: Any = None) -> Odds | OddsTable:
    """Return how far releases can move someone's odds between two records, or one and several.

    Proof note:
        Requires: all releases together lose at most epsilon between neighbours of the policy.
        Ensures:  whoever believes of the other rows, and of the columns left out, the same whichever of the
                  two records this row is, and knows the public facts, changes their odds by a factor of at
                  most exp(epsilon * distance); if these columns distinguish the two, it may be more.
                  A probability p of the first, against the second, becomes at most p f / (p f + 1 - p), where
                  f is that factor. With a touched fact about the columns that differ that is claimed of
                  tables that agree with all public columns and facts and differ in as few records as
                  these allow.
        Because:  the odds after are those before times the ratio of two mixtures over the rest, of the same
                  weights, each part of which is at most exp(epsilon) an edge. Counts that facts know are
                  linear, so the fewest changes that lead from one such table to another have no part that
                  leaves all of these as they are: `bound_moves` and `price` bound such a pair by one epsilon
                  whatever the edges (by two, the way through "absent", where a public column differs).
                  Of a person with several rows each row is one record or the other: each goes the same way,
                  one edge of each at a time.
        Checked:  tests/policy/test_odds.py::test_odds_hold_on_real_outputs,
                  tests/policy/test_odds.py::test_odds_hold_under_facts,
                  tests/privacy/test_fact_oracle.py::test_never_below_the_truth
    """
    spend, before = epsilon_of(epsilon), None if prior is None else exact(prior, "prior")
    if before is not None and not 0 < before < 1:
        raise ArgumentError("prior", f"{prior} is not between 0 and 1", allowed="a probability, such as 0.01")
    first = record_of(a)
    if b is None or isinstance(b, Mapping) or not isinstance(b, (list, tuple)):
        return _odds(policy, first, record_of(b), spend, before)
    if not b:
        raise ArgumentError("records", "none to compare with", allowed="a record, or a list of them")
    return OddsTable(_odds(policy, first, record_of(each), spend, before) for each in b)


def distance_between(policy: Policy, a: Record, b: Record) -> int | float:
    """Return how many edges separate two records, or a record and not being in the table (None)."""
    if a is None or b is None:
        return _absent(policy, a, b)
    if set(a) != set(b):
        raise ArgumentError("records", "they name different columns", fix="give both the same columns.")
    beside = [
        steps_between(column, policy.secrets[column.name,], a[column.name], b[column.name])
        for column in (policy.domain[name] for name in a)
        if isinstance(column, Unbounded) and (column.name,) in policy.secrets
    ]
    kept = [name for name in a if _cells(policy, name) or (name,) not in policy.secrets]
    named = policy.domain.select(kept)
    start, end = ({column.name: column.cell(record[column.name]) for column in named} for record in (a, b))
    for columns, secret in policy.secrets.items():  # in a joint block a column left out stays too
        left = [column for column in columns if column not in start]
        if left and len(left) < len(columns):
            if secret["secret"] == "edges":
                fix = f"name all of {', '.join(columns)}."
                raise ArgumentError("records", "they name part of a joint secret's edges", fix=fix)
            start, end = ({**ends, **dict.fromkeys(left, 0)} for ends in (start, end))
    return policy.graph.project(list(start)).distance(list(start.values()), list(end.values()), beside)


def record_of(record: Any) -> dict[str, Any] | None:
    """Return a record given as a dict, or as a row of a frame; None for not being in the table."""
    if record is None:
        return None
    if not isinstance(record, Mapping) and hasattr(record, "to_dict") and getattr(record, "ndim", 1) == 1:
        record = record.to_dict()
    if not isinstance(record, Mapping):
        allowed = "a dict of column -> value; None for not being in the table"
        raise ArgumentError("records", "not a record", allowed=allowed)
    return dict(record)


def _absent(policy: Policy, a: Record, b: Record) -> int:
    """Return the one edge between a record and "absent", where there is one."""
    there = a if b is None else b
    if there is None:
        raise ArgumentError("records", "both are None", fix="give one record.")
    if not policy.presence:
        raise ArgumentError(
            "records",
            "None is not being in the table, and the policy does not hide who is: its row count is public",
            fix="bf.Policy(..., presence=True) if that is a secret.",
        )
    for column in map(policy.domain.__getitem__, there):
        value = there[column.name]
        _ = cell_of(column, value) if isinstance(column, Unbounded) else column.cell(value)
    return 1


def _odds(policy: Policy, first: Record, second: Record, epsilon: Fraction, prior: Fraction | None) -> Odds:
    if first is not None and second is not None and not (first or second):
        raise ArgumentError("records", "they name no column", allowed="a dict of column -> value")
    distance = distance_between(policy, first, second)
    part = bool(set(policy.domain.columns) - policy.public_columns - set(first or second or {}))
    part = part and first is not None and second is not None  # being there or not is one edge for all
    stated = any(secret["secret"] in MARGINS for secret in policy.secrets.values()) or policy.aggregates
    note = INDEPENDENT[0].upper() + INDEPENDENT[1:] if stated else ""
    if policy.chain is not None:
        note = "It holds too for whoever believes that rows follow each other by the stated chain"
    tied = _tied(policy, first, second)
    if tied is not None and policy.max_rows > 1:
        why = "nothing is proved of people with several rows where an edge changes a public fact"
        raise ArgumentError("max_rows", why, fix="max_rows=1, or a policy without that fact.")
    return Odds(first, second, epsilon, distance, tied, part, note, policy.max_rows, prior)


def _tied(policy: Policy, first: Record, second: Record) -> MoveBound | None:
    """Return the rule by which public facts tie a row that changes like this to others."""
    if not policy.constraints or (found := policy.move_bound).free:
        return None
    if first is None or second is None or found.known:
        return found
    apart = {
        name
        for name in first
        if _cells(policy, name)
        and policy.domain[name].cell(first[name]) != policy.domain[name].cell(second[name])
    }
    return found if any(apart & set(fact.columns) for fact in policy.facts) else None


def _cells(policy: Policy, name: str) -> bool:
    return not isinstance(policy.domain[name], Unbounded)


def _state(record: Record) -> str:
    """Return what a person has in a table."""
    if record is None:
        return "is not in it"
    return f"has {_words(record)}" if record else "is in it"


def _rather(first: Record, second: Record) -> str:
    """Return what a row has rather than what."""
    if first is None or second is None:
        there = _words(first or second or {})
        found = f" with {there}" if there else ""
        if second is None:
            return f"is in the table{found} rather than not at all"
        return f"is not in the table rather than in it{found}"
    if len(first) == 1:
        ((name, value),) = first.items()
        return f"has {one_line(name, 40)} {_value(value)} rather than {_value(second[name])}"
    return f"has {_words(first)} rather than {_words(second)}"


def _apart(first: Record, second: Record) -> tuple[str, str]:
    """Return two records in as few words as distinguish them."""
    if first is not None and second is not None and len(first) == 1:
        return (_value(*first.values()), _value(*second.values()))
    one, two = ("absent" if each is None else _words(each) or "present" for each in (first, second))
    return one, two


def _line(odds: Odds) -> str:
    if math.isinf(odds.distance):
        return "not protected"
    if not odds.distance:
        return "the same cell"
    after = "" if odds.posterior is None else f" (at most {_percent(odds.posterior)} after)"
    return f"{odds.factor_text}{after}"


def _words(record: Mapping[str, Any]) -> str:
    return " and ".join(f"{one_line(column, 40)} {_value(value)}" for column, value in record.items())


def _value(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "missing" if missing else one_line(cell_name(value) if hasattr(value, "normalize") else value, 60)


def _percent(share: float) -> str:
    """Return a probability in percent, in three digits, never less than it is.

    Examples:
        >>> _percent(0.01), _percent(0.026724), _percent(0.99999)
        ('1%', '2.68%', '100%')
    """
    unit = 10.0 ** (math.floor(math.log10(100 * share)) - 2)
    return f"{min(math.ceil(100 * share / unit - 1e-9) * unit, 100.0):.3g}%"


def _rounded_up(factor: float) -> str:
    """Return a number of 1 or more in three digits, never less than it is.

    Examples:
        >>> _rounded_up(1.2214), _rounded_up(1.0), _rounded_up(12345.6)
        ('1.23', '1', '12,400')
    """
    unit = 10.0 ** (math.floor(math.log10(factor)) - 2)
    found = math.ceil(factor / unit - 1e-9) * unit
    if factor > 1.0:
        found = max(found, 1.01)
    return f"{found:.3g}" if found < 1_000 else f"{found:,.0f}" if found < 1e9 else f"{found:.3g}"
