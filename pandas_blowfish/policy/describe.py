"""A policy in words: each column's values, and what stays indistinguishable. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pandas_blowfish import markup
from pandas_blowfish.exact.instant import from_ns, span_text
from pandas_blowfish.exact.number import number
from pandas_blowfish.markup import Html, one_line
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.blocks import Columns, thaw
from pandas_blowfish.policy.margin import ABSOLUTE, RELATIVE, as_threshold, c_of
from pandas_blowfish.policy.secret import has_stand_in, joins_all

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy

SHOWN = 24  # columns, and facts, that a view lists
FEW = 8  # values, groups or pairs that are spelt out
LONG = 40  # characters of one name or value
METRICS = {"l1": "distances added up", "l2": "straight-line distance", "linf": "the largest distance"}


@dataclass(frozen=True)
class SecretWords:
    """What a policy states about the columns that share a secret.

    Attributes:
        columns: Their names.
        secret: full, threshold, partition, edges, absolute_error, relative_error or public.
        values: What the columns hold.
        kept: What stays indistinguishable.
        listed: The groups of a partition, shortened; "" for other secrets.
    """

    columns: Columns
    secret: str
    values: str
    kept: str
    listed: str = ""

    @property
    def name(self) -> str:
        """Return the columns' names as one short text."""
        return shorten(self.columns)


def describe_secrets(policy: Policy) -> Iterator[SecretWords]:
    """Yield the words for each secret, in the order of the columns."""
    for columns, secret in policy.secrets.items():
        attributes = [policy.domain[column] for column in columns]
        named = [f"{one_line(a.name, LONG)}: {values_of(a)}" for a in attributes]
        values = values_of(attributes[0]) if len(columns) == 1 else "; ".join(named)
        groups = "; ".join(list_parts(secret)) if _has_members(secret.get("groups")) else ""
        yield SecretWords(columns, secret["secret"], values, kept_of(secret, attributes), groups)


def values_of(attribute: Attribute) -> str:
    """Return what a column holds, in words.

    Examples:
        >>> values_of(Grid("age", "integer", False, Fraction(0), Fraction(99), Fraction(1)))
        'whole numbers 0 to 99'
    """
    missing = ", or missing" if attribute.nullable else ""
    if isinstance(attribute, Grid):
        kind = {"integer": "whole numbers ", "datetime": "times "}.get(attribute.kind, "numbers ")
        ends = f"{attribute.show(attribute.low)} to {attribute.show(attribute.high)}"
        out = [attribute.show(attribute.low)] * attribute.open_low
        out += [attribute.show(attribute.high)] * attribute.open_high
        less = f" (without {' and '.join(out)})" if out else ""
        width = span_text(attribute.step) if attribute.kind == "datetime" else number(attribute.step)
        cells = "" if attribute.single else f", in cells of {width}"
        return f"{kind}{ends}{less}{cells}{missing}"
    if isinstance(attribute, Values):
        order = ", in this order" if attribute.ordered and attribute.kind in ("category", "string") else ""
        shown, listed = shorten(attribute.listed), len(attribute.listed)
        many = f"{listed:,} values: " if listed > 2 else ""
        other = f", {one_line(attribute.values[-1], LONG)} for every other value" if attribute.other else ""
        return f"{many}{shown}{order}{other}{missing}"
    return f"{attribute.describe()}{missing}"


def kept_of(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:
    """Return which values of some columns a secret keeps indistinguishable, in words."""
    kind = secret["secret"]
    words = {"threshold": _threshold, "partition": _partition, "edges": _edges}
    words |= {ABSOLUTE: _absolute, RELATIVE: _relative}
    if kind == "public":
        return "nothing: everyone knows the value"
    kept = words[kind](secret, attributes) if kind in words else "every value from every other"
    if kind == "full" and len(attributes) > 1:
        kept = "every combination of values from every other"
    if any(attribute.nullable for attribute in attributes):
        kept += "; " + missing_of(secret)
    return kept


def missing_of(secret: Mapping[str, Any]) -> str:
    """Return what a secret promises about missing values, in words."""
    if joins_all(secret):
        return "whether it is missing too"
    if has_stand_in(secret):
        return f"a missing value as if it were {one_line(secret['missing'], LONG)}"
    return "whether it is missing is public"


def neighbours_of(policy: Policy) -> str:
    """Return how far two tables differ that must look alike, in words."""
    moves = policy.neighbors
    many = {"record": "in any of its columns at once", "attribute": "in one secret at a time"}
    what = many.get(str(moves), f"in up to {moves} secrets at a time")
    facts = " (or the rows that public facts make change together)" if policy.constraints else ""
    rows = "also whether a row is there at all" if policy.presence else "the number of rows is public"
    if policy.max_rows > 1:
        return f"a person with up to {policy.max_rows:,} rows, which may all change, each {what}; {rows}"
    return f"one row{facts}, {what}; {rows}"


def value_at(attribute: Attribute, cell: int) -> Any:
    """Return a value that lies in a cell, as a person writes it; None for the missing one."""
    if isinstance(attribute, Values):
        return attribute.values[cell] if cell < attribute.cells else None
    if not isinstance(attribute, Grid) or cell >= attribute.cells:
        return None
    place = attribute.low + cell * attribute.step
    if attribute.open_low and cell == 0:
        place += min(attribute.step, attribute.high - attribute.low) / (1 if attribute.single else 2)
    if attribute.kind == "datetime":
        return from_ns(int(place), attribute.tz)
    return number(Fraction(int(place)) if attribute.kind == "integer" else place)


def shorten(values: Any, most: int = FEW) -> str:
    """Return the first of some values as short text, and how many more there are."""
    shown = ", ".join(one_line(value, LONG) for value in values[:most])
    return f"{shown} and {len(values) - most:,} more" if len(values) > most else shown


def describe(policy: Policy, most: int | None = None) -> str:
    """Return the promise as it was declared, one line per secret and fact, or the first of them."""
    lines = [f"Policy {policy.fingerprint[:12]}: neighbors={policy.neighbors!r}"]
    lines[0] += ", presence secret" if policy.presence else ", row count public"
    lines[0] += f", a person with up to {policy.max_rows:,} rows" if policy.max_rows > 1 else ""
    shown = list(policy.secrets.items())[:most]
    for columns, secret in shown:
        values = "; ".join(one_line(policy.domain[column].describe()) for column in columns[:FEW])
        extra = {key: value for key, value in secret.items() if key not in ("secret", "groups", "pairs")}
        detail = one_line(", ".join(f"{key}={value}" for key, value in thaw(extra).items()))
        null = ", may be missing" if any(policy.domain[column].nullable for column in columns) else ""
        lines.append(f"  {shorten(columns)}: {secret['secret']}({detail}) on {values}{null}")
        lines += [f"    {part}" for part in list_parts(secret, None if most is None else FEW)]
    if len(policy.secrets) > len(shown):
        lines.append(f"  and {len(policy.secrets) - len(shown):,} more secrets: see describe()")
    lines += [f"  secret total: {one_line(each.describe())}; one release" for each in policy.aggregates]
    lines += [f"  chain: {one_line(policy.chain.describe())}"] if policy.chain else []
    facts = policy.constraints[:most]
    lines += [f"  public fact: {one_line(fact.describe())}" for fact in facts]
    if len(policy.constraints) > len(facts):
        lines.append(f"  and {len(policy.constraints) - len(facts):,} more public facts: see describe()")
    return "\n".join(lines)


def list_parts(secret: Mapping[str, Any], most: int | None = FEW) -> list[str]:
    """Return the groups of a partition, or listed pairs, one text each: all, or the first and how many more.

    Examples:
        >>> list_parts({"secret": "partition", "groups": {"lung": ("flu", "asthma"), "heart": ("angina",)}})
        ['lung: flu, asthma', 'heart: angina']
        >>> list_parts({"secret": "edges", "pairs": (("flu", "cold"), ("flu", "asthma"))}, 1)
        ['flu and cold', 'and 1 more pair']
    """
    if secret["secret"] == "edges":
        pairs = [f"{one_line(_plain(a), LONG)} and {one_line(_plain(b), LONG)}" for a, b in secret["pairs"]]
        return _first(pairs, most, "pair")
    groups = secret.get("groups")
    if groups is None:
        return []
    if not _has_members(groups):
        sides = [f"{one_line(name, LONG)} by {width}" for name, width in groups.items()]
        return [
            f"groups of width {groups['width']}" if set(groups) == {"width"} else f"boxes, {', '.join(sides)}"
        ]
    numbered = {f"group {number}": group for number, group in enumerate(groups, 1)}
    named = groups if isinstance(groups, Mapping) else numbered
    shown = [f"{one_line(name, LONG)}: {_members(group, most)}" for name, group in named.items()]
    return _first(shown, most, "group")


def _has_members(groups: Any) -> bool:
    """Return whether groups are listed by their values, and not by a width."""
    listed = groups.values() if isinstance(groups, Mapping) else groups or ()
    return any(isinstance(group, (tuple, list, Mapping)) for group in listed)


def _members(group: Any, most: int | None) -> str:
    """Return the values of a group: a run by its ends, others one by one."""
    if isinstance(group, Mapping):
        return f"from {one_line(group['low'], LONG)}, below {one_line(group['high'], LONG)}"
    if not isinstance(group, (tuple, list)):
        return f"by {group}"
    return shorten(group, len(group) if most is None else most) or "nothing"


def _first(parts: list[str], most: int | None, what: str) -> list[str]:
    """Return all of some texts, or the first of them and how many more there are."""
    if most is None or len(parts) <= most:
        return parts
    left = len(parts) - most
    return [*parts[:most], f"and {left:,} more {what}{'s' * (left > 1)}"]


def policy_table(policy: Policy, caption: str, most: int = SHOWN) -> Html:
    """Return a table of what each column holds, and what stays indistinguishable."""
    rows = [
        (each.name, each.values, f"{each.kept}: {each.listed}" if each.listed else each.kept)
        for _, each in zip(range(most), describe_secrets(policy), strict=False)
    ]
    left = len(policy.secrets) - most
    more = f"and {left:,} more: policy.describe() lists them all" if left > 0 else ""
    return markup.data_table(["column", "values", "stays indistinguishable"], rows, caption, more=more)


def policy_html(policy: Policy) -> str:
    """Return the view of a policy in a notebook."""
    facts = [fact.describe() for fact in policy.constraints]
    total = [markup.note(f"Secret total, one release: {each.describe()}") for each in policy.aggregates]
    total += [markup.note(f"Chain: {policy.chain.describe()}")] if policy.chain else []
    known = [markup.note(f"Public facts: {'; '.join(one_line(fact) for fact in facts[:SHOWN])}", 4_000)]
    return markup.card(
        f"Policy {policy.fingerprint[:12]}",
        policy_table(policy, f"Two tables must look alike that differ in {neighbours_of(policy)}."),
        *total,
        *(known if facts else []),
        *([markup.note(f"and {len(facts) - SHOWN:,} more facts")] if len(facts) > SHOWN else []),
    )


def _threshold(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:
    theta, scale = secret["theta"], secret.get("scale") or {}
    stretched = ", ".join(f"{one_line(column, LONG)} times {by}" for column, by in scale.items())
    if len(attributes) > 1:
        how = METRICS[secret.get("metric", "l1")] + (f"; {stretched}" if stretched else "")
        return f"combinations of values up to {theta} apart ({how})"
    attribute = attributes[0]
    if isinstance(attribute, Values) and not attribute.numeric:
        return f"values up to {theta} position{'s' * (str(theta) != '1')} apart"
    cells = ", in whole cells" if isinstance(attribute, Grid) and not attribute.single else ""
    return f"values up to {theta} apart{cells}" + (f" ({stretched})" if stretched else "")


def _absolute(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:
    same = _threshold(as_threshold(secret, attributes[0]), attributes)
    return f"{same}; nobody can place a value among those near it to better than +-{secret['k']}"


def _relative(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:
    c = c_of(secret, attributes[0].name)
    cells = ", in whole cells" if isinstance(attributes[0], Grid) and not attributes[0].single else ""
    return (
        f"values within a factor {float(c**-4):.4g} of each other{cells}; nobody tells a value from "
        f"those near it to better than a factor {secret['c']}"
    )


def _partition(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:
    groups, told = secret["groups"], "; which group it is, is not protected"
    if isinstance(groups, Mapping) and set(groups) == {"width"} and not isinstance(groups["width"], tuple):
        return f"values of the same group of width {groups['width']}{told}"
    if len(attributes) > 1 and isinstance(groups, Mapping):
        sides = ", ".join(f"{one_line(column, LONG)} by {width}" for column, width in groups.items())
        return f"values of the same box ({sides}){told.replace('group', 'box')}"
    many = f"{len(groups):,} group{'s' * (len(groups) != 1)}"
    names = f": {shorten(list(groups))}" if isinstance(groups, Mapping) else ""
    return f"values of the same group ({many}{names}){told}"


def _edges(secret: Mapping[str, Any], attributes: list[Attribute]) -> str:  # noqa: ARG001
    shown = "; ".join(list_parts(secret))
    return f"just these pairs: {shown}" if shown else "nothing: no pair is listed"


def _plain(value: Any) -> Any:
    """Return a value of a joint secret's pair as it was written."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
