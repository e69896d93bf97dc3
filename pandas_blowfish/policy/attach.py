"""A policy carried by a schema, in its metadata. Never sees rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pandas_blowfish.errors import ArgumentError, AttachedPolicyError, SchemaError
from pandas_blowfish.exact.instant import span_text
from pandas_blowfish.markup import one_line
from pandas_blowfish.policy.attribute import Attribute, Grid, Unbounded, Values
from pandas_blowfish.policy.blocks import thaw
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.margin import use_logarithms
from pandas_blowfish.policy.schema import is_schema, lists_values, read, stated_columns

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy


TABLE = "table"  # what differs of no column in particular
LONG = 160  # characters of what one side states
Differences = dict[str, tuple[str, str]]


def require_agreement(schema: Any, policy: Policy) -> None:
    """Refuse a policy that is not one of this schema, as the schema is now.

    A column without blowfish metadata states cells only: of its secret the policy is the only statement.

    Raises:
        AttachedPolicyError: With what the schema and the policy say of each column that differs.

    Proof note:
        Requires: the schema and the policy; facts are left aside on both sides, for a schema states none.
        Ensures:  the same cells; and every pair of records that differ in columns with metadata only, by a
                  pair that each column's metadata protects (all of them at once too), is a neighbouring pair
                  of the policy without its facts.
        Because:  the records differ in blocks of the policy that hold such columns. Within a block the policy
                  implies the metadata, column by column, and as many blocks as there are may change at once.
                  With facts inclusion is not safety (two policies with the same facts are compared by what
                  they cost), so only what a schema can state is compared.
        Checked:  tests/policy/test_attach_agree.py::test_agreement_matches_enumeration
    """
    others = {each.name: each.values[-1] for each in policy.domain if isinstance(each, Values) and each.other}
    keys = dict.fromkeys(policy.open_columns)
    domain, own = read(schema, _steps(schema, policy.domain), others, keys)
    stated = stated_columns(schema)
    now = use_logarithms(domain, {name: secret for name, secret in own.items() if name in stated})
    found = _cells(now, policy.domain)
    if not found:
        found = _secrets(now, {name: own[name] for name in now.columns if name in stated}, policy)
    if found:
        raise AttachedPolicyError(found)


def _steps(schema: Any, domain: Domain) -> dict[str, Any]:
    """Return the policy's steps, for columns that state none themselves."""
    listed = lists_values(schema)
    return {
        each.name: span_text(each.step) if each.kind == "datetime" else each.step
        for each in domain
        if (isinstance(each, Grid) or (isinstance(each, Unbounded) and not each.log))
        and each.name not in listed
    }


def _cells(now: Domain, then: Domain) -> Differences:
    """Return the columns that are not there on both sides, or have other cells."""
    ours, theirs = ({each.name: each for each in domain} for domain in (now, then))
    found: Differences = {}
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        one, two = ours.get(name), theirs.get(name)
        if one is None or two is None:
            found[name] = (
                "no such column with cells" if one is None else _described(one),
                "no such column" if two is None else _described(two),
            )
        elif one != two:
            found[name] = _apart(one, two)
    return found


def _secrets(domain: Domain, own: Mapping[str, Mapping[str, Any]], policy: Policy) -> Differences:
    """Return the columns whose metadata protects a pair that the policy does not."""
    found: Differences = {}
    hidden = {name: secret for name, secret in own.items() if secret["secret"] != "public"}
    moving = 0
    for columns, secret in policy.secrets.items():
        if not set(columns) & set(hidden):
            continue
        part = Domain(tuple(domain[name] for name in columns))
        stated = {(name,): dict(hidden.get(name, {"secret": "public"})) for name in columns}
        attached, bare = (type(policy)(part, secrets=each) for each in ({columns: thaw(secret)}, stated))
        counted = {name for block in bare.graph.blocks for name in block.columns}
        moving += counted < set(columns) or any(block.graph.edge_count for block in bare.graph.blocks)
        if not attached.implies(bare):
            one = ", ".join(_written(own[name]) for name in columns if name in hidden)
            found[", ".join(columns)] = (one, _written(secret))
    if found:
        return found
    if policy.graph.moves is not None and policy.graph.moves < moving:
        many = f"secrets of {moving} columns or blocks, which may all change at once"
        return {TABLE: (many, f"neighbors={policy.neighbors!r}: only {policy.graph.moves} at a time")}
    if policy.aggregates and hidden:
        return {TABLE: ("secrets of its rows", f"the total {policy.aggregates[0].text} alone is secret")}
    return {}


def _described(attribute: Attribute) -> str:
    missing = ", nullable" * attribute.nullable
    ranked = ", ordered" * (isinstance(attribute, Values) and attribute.ranked)
    return one_line(f"{attribute.kind} {attribute.describe()}{ranked}{missing}", LONG)


def _apart(one: Attribute, two: Attribute) -> tuple[str, str]:
    """Return two columns in words that differ."""
    words = _described(one), _described(two)
    if words[0] == words[1] and isinstance(one, Values) and isinstance(two, Values):
        pairs = zip(one.values, two.values, strict=False)
        place = next((number for number, (a, b) in enumerate(pairs) if a != b), min(one.cells, two.cells))
        ends = [repr(each.values[place]) if place < each.cells else "none" for each in (one, two)]
        return (
            f"value {place + 1} is {one_line(ends[0], 60)}",
            f"value {place + 1} is {one_line(ends[1], 60)}",
        )
    return words


def _written(secret: Mapping[str, Any]) -> str:
    """Return a secret as it is written."""
    given = thaw(secret)
    kind = given.pop("secret")
    return one_line(f"{kind}({', '.join(f'{key}={value!r}' for key, value in given.items())})", LONG)


def attach(schema: Any, policy: Policy) -> Any:
    """Return a copy of a pandera schema that carries a policy in its metadata.

    `bf.Policy(schema)` and `protect(schema, ...)` read it back, and compare it with what the schema states
    then: the same cells, and in the columns' metadata no pair of values that the policy does not protect.
    So does `attach` itself. A column without blowfish metadata states nothing of its secret.

    Args:
        schema: A pandera `DataFrameSchema` or `DataFrameModel`.
        policy: A policy of this schema; one that protects more than the columns' metadata is one too.

    Raises:
        AttachedPolicyError: They differ; the message shows both sides, column by column.
    """
    from pandas_blowfish.policy.policy import Policy  # here: a policy reads the schema it is attached to

    if not isinstance(policy, Policy):
        raise ArgumentError("policy", "not a bf.Policy")
    if not is_schema(schema):
        raise SchemaError(
            None, f"a {type(schema).__name__} is not a schema", fix="give a pandera schema or model."
        )
    require_agreement(schema, policy)
    marked = copy.deepcopy(schema.to_schema() if hasattr(schema, "to_schema") else schema)
    marked.metadata = {**(marked.metadata or {}), "blowfish": policy.to_dict()}
    return marked
