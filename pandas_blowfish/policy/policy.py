"""The promise itself: cells, what stays indistinguishable, what is public. Never sees rows."""

from __future__ import annotations

import copy
import hashlib
import html
import json
import numbers
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pandas_blowfish.errors import ArgumentError, SchemaError
from pandas_blowfish.policy.attribute import MAX_CELLS
from pandas_blowfish.policy.consistent import consistent_facts
from pandas_blowfish.policy.constraint import Constraint, facts_of
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.exact import epsilon_of
from pandas_blowfish.policy.fact import Fact
from pandas_blowfish.policy.form import load_yaml, read_form, to_form
from pandas_blowfish.policy.joint import build_joint
from pandas_blowfish.policy.lint import Findings, lint
from pandas_blowfish.policy.odds import Odds
from pandas_blowfish.policy.product import Block, RecordGraph
from pandas_blowfish.policy.schema import is_schema, read, stored_policy
from pandas_blowfish.policy.secret import build
from pandas_blowfish.policy.stated import Columns, freeze, merge, overrides_of, steps_of, thaw

if TYPE_CHECKING:
    from pandas_blowfish.queries.planner import Planner


class Policy:
    """Which values of a record stay indistinguishable, and what is already public.

    Args:
        schema: A pandera `DataFrameSchema` or `DataFrameModel` whose columns declare their bounds
            and, in `metadata=`, their secrets; a schema that `bf.attach` marked; or a `Domain`.
        secrets: Secrets that override the columns' own, singly or (as tuples of columns) jointly.
        neighbors: "record", "attribute" or an integer: how many blocks one neighbour may change.
        presence: Whether it is secret that a row is there at all (default: the row count is public).
        constraints: Public facts, such as `bf.Marginal("region")`.

    Examples:
        >>> from pandas_blowfish.policy.domain import integers
        >>> from pandas_blowfish.policy.secret import threshold
        >>> line = Policy(Domain((integers("age", 0, 99),)), secrets={"age": threshold(5)})
        >>> line.distance({"age": 34}, {"age": 71})
        8
        >>> line == Policy.from_yaml(line.to_yaml())
        True
    """

    domain: Domain
    secrets: Mapping[Columns, Mapping[str, Any]]
    neighbors: str | int
    presence: bool
    constraints: tuple[Constraint, ...]
    planner: ClassVar[Any] = None  # set by queries.planner, which policies may not import

    def __init__(
        self,
        schema: Any,
        *,
        secrets: Mapping[Any, Any] | None = None,
        neighbors: str | int = "record",
        presence: bool = False,
        constraints: Iterable[Constraint] = (),
    ) -> None:
        overrides, facts = overrides_of(secrets), facts_of(constraints)
        if isinstance(schema, Domain):
            own: dict[str, dict[str, Any]] = {column: {"secret": "full"} for column in schema.columns}
            domain = schema
        elif is_schema(schema):
            stored = stored_policy(schema)
            if stored is not None:
                if overrides or neighbors != "record" or presence or facts:
                    fix = "pass the schema alone, or leave bf.attach out."
                    raise SchemaError(None, "it carries a policy already", fix=fix)
                self.__dict__.update(Policy.from_dict(stored).__dict__)
                return
            domain, own = read(schema, steps_of(overrides))
        else:
            raise SchemaError(
                None, f"a {type(schema).__name__} is not a schema", fix="give a pandera schema or model."
            )
        if any(name.encode("utf-8", "ignore").decode() != name for name in domain.columns):
            raise SchemaError(None, "a column's name is not text that can be written", fix="rename it.")
        if len(set(domain.columns)) != len(domain.columns):
            raise SchemaError(None, "two columns share a name", fix="name each column once.")
        if not isinstance(presence, bool):
            raise ArgumentError("presence", "not True or False")
        self.__dict__.update(
            domain=domain,
            secrets=freeze(merge(domain, own, overrides)),
            neighbors=_neighbors(neighbors),
            presence=presence,
            constraints=facts,
        )
        self.facts  # noqa: B018  so is a fact that does not
        self._blocks  # noqa: B018  a secret that does not fit is an error now, not later

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Return the public facts, read against the declared cells."""
        return consistent_facts(self.constraints, self.domain)

    @cached_property
    def _blocks(self) -> dict[Columns, Block]:
        """Return the graph of each block whose columns have cells enough to count, and not too many."""
        blocks: dict[Columns, Block] = {}
        for columns, secret in self.secrets.items():
            attributes = tuple(self.domain[column] for column in columns)
            if not all(a.bounded and a.size <= MAX_CELLS for a in attributes):
                continue
            if len(columns) == 1:
                blocks[columns] = Block(columns, build(secret, attributes[0]))
            else:
                graph, shape = build_joint(secret, attributes, attributes), tuple(a.size for a in attributes)
                blocks[columns] = Block(columns, graph, shape, secret, attributes)
        return blocks

    @cached_property
    def graph(self) -> RecordGraph:
        """Return the secret graph of whole records, one block a secret that can be counted."""
        moves = (
            None
            if self.neighbors == "record"
            else 1
            if self.neighbors == "attribute"
            else int(self.neighbors)
        )
        return RecordGraph(tuple(self._blocks.values()), moves, self.presence)

    @property
    def public_columns(self) -> frozenset[str]:
        """Return the columns whose values everyone knows."""
        return frozenset(
            column
            for columns, secret in self.secrets.items()
            for column in columns
            if secret["secret"] == "public"
        )

    @property
    def rows_public(self) -> bool:
        """Tell whether the number of rows is the same in all neighbouring tables."""
        return not self.presence

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        planner: Planner = type(self).planner(self)
        return planner

    def distance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> int | float:
        """Return how many edges separate two records; columns left out stay as they are."""
        a, b = (_record(record) for record in (a, b))
        if set(a) != set(b):
            raise ArgumentError("records", "they name different columns", fix="give both the same columns.")
        named = self.domain.select(list(a))
        start, end = (
            {column.name: column.cell(record[column.name]) for column in named} for record in (a, b)
        )
        for columns, secret in self.secrets.items():  # in a joint block a column left out stays too
            left = [column for column in columns if column not in start]
            if left and len(left) < len(columns):
                if secret["secret"] == "edges":
                    fix = f"name all of {', '.join(columns)}."
                    raise ArgumentError("records", "they name part of a joint secret's edges", fix=fix)
                start, end = ({**ends, **dict.fromkeys(left, 0)} for ends in (start, end))
        return self.graph.project(list(start)).distance(list(start.values()), list(end.values()))

    def odds(self, a: Mapping[str, Any], b: Mapping[str, Any], epsilon: Any) -> Odds:
        """Return how far releases of `epsilon` in all can move someone's odds between two records."""
        return Odds(_record(a), _record(b), epsilon_of(epsilon), self.distance(a, b))

    def lint(self) -> Findings:
        """Return what the policy leaves open, with a fix for each finding."""
        return lint(self)

    def implies(self, other: Policy) -> bool:
        """Tell whether every pair the other policy protects is protected here.

        Proof note:
            Requires: the same cells on both sides; with public facts, the same policy.
            Ensures:  True only if every neighbouring pair of `other` is one here, so that what keeps
                      this promise at some epsilon keeps the other's at the same epsilon.
            Because:  a strong product contains another block by block, and fewer moving blocks or no
                      "absent" edge only remove edges. With facts smaller graphs are not safer.
            Checked:  tests/policy/test_policy.py::test_implies_matches_enumeration
        """
        if not isinstance(other, Policy):
            raise ArgumentError("other", "not a bf.Policy")
        if self == other:
            return True
        if self.constraints or other.constraints or (other.presence and not self.presence):
            return False
        if sorted(self.domain, key=_name) != sorted(other.domain, key=_name):
            return False
        uncounted = [columns for columns in self.secrets if columns not in self._blocks]
        if any(self.secrets[columns] != other.secrets.get(columns) for columns in uncounted):
            return False
        mine, theirs = self.graph.moves, other.graph.moves
        if uncounted and mine is not None and (theirs is None or mine < theirs):
            return False
        return self.graph.contains(other.graph)

    def with_facts(self, constraints: Iterable[Constraint]) -> Policy:
        """Return the same policy with these public facts instead of its own."""
        secrets = {columns: thaw(secret) for columns, secret in self.secrets.items()}
        stated: dict[str, Any] = {"neighbors": self.neighbors, "presence": self.presence}
        return Policy(self.domain, secrets=secrets, constraints=constraints, **stated)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain JSON-able data, column by column."""
        return to_form(self.domain, self.secrets, self.neighbors, self.presence, self.constraints)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Policy:
        """Return the policy that `to_dict`, or a person's YAML, describes."""
        return cls(**read_form(spec))

    def to_yaml(self) -> str:
        """Return the policy as YAML that a person can read and edit."""
        import yaml

        return str(
            yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None)
        )

    @classmethod
    def from_yaml(cls, source: str | os.PathLike[str]) -> Policy:
        """Return the policy that a YAML text, or the file at a path, describes."""
        return cls.from_dict(load_yaml(source))

    @cached_property
    def fingerprint(self) -> str:
        """Return a name of the policy's content, the same in every process."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "bf1-" + hashlib.sha256(text.encode()).hexdigest()[:40]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Policy is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Policy is immutable; make another one instead of deleting {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        kept = ("domain", "neighbors", "presence", "constraints")
        return {name: self.__dict__[name] for name in kept} | {"secrets": thaw(self.secrets)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, secrets=freeze(state["secrets"]))

    def __repr__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.describe())}</pre>"

    def describe(self) -> str:
        """Return the promise in words, a line a column."""
        lines = [f"Policy {self.fingerprint[:12]}: neighbors={self.neighbors!r}"]
        lines[0] += ", presence secret" if self.presence else ", row count public"
        for columns, secret in self.secrets.items():
            shown = "; ".join(self.domain[column].describe() for column in columns)
            extra = {key: value for key, value in secret.items() if key not in ("secret", "groups", "pairs")}
            detail = ", ".join(f"{key}={value}" for key, value in thaw(extra).items())
            null = ", may be missing" if any(self.domain[column].nullable for column in columns) else ""
            lines.append(f"  {', '.join(columns)}: {secret['secret']}({detail}) on {shown}{null}")
        lines += [f"  public fact: {fact.describe()}" for fact in self.constraints]
        return "\n".join(lines)


def attach(schema: Any, policy: Policy) -> Any:
    """Return a copy of a pandera schema that carries a policy in its metadata.

    `bf.Policy(schema)` and `protect(schema, ...)` read it back.
    """
    if not isinstance(policy, Policy):
        raise ArgumentError("policy", "not a bf.Policy")
    if not is_schema(schema):
        raise SchemaError(
            None, f"a {type(schema).__name__} is not a schema", fix="give a pandera schema or model."
        )
    marked = copy.deepcopy(schema.to_schema() if hasattr(schema, "to_schema") else schema)
    marked.metadata = {**(marked.metadata or {}), "blowfish": policy.to_dict()}
    return marked


def _name(attribute: Any) -> str:
    return str(attribute.name)


def _record(record: Any) -> dict[str, Any]:
    """Return a record given as a dict, or as a row of a frame."""
    record = record.to_dict() if hasattr(record, "to_dict") else record
    if not isinstance(record, Mapping):
        raise ArgumentError("records", "not a record", allowed="a dict of column -> value")
    return dict(record)


def _neighbors(neighbors: Any) -> str | int:
    if isinstance(neighbors, numbers.Integral) and not isinstance(neighbors, bool) and int(neighbors) >= 1:
        return int(neighbors)
    if not isinstance(neighbors, str) or neighbors not in ("record", "attribute"):
        raise ArgumentError("neighbors", "unknown", allowed='"record", "attribute" or a positive integer')
    return neighbors
