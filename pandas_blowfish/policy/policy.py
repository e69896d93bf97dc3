"""The promise itself: cells, what stays indistinguishable, what is public. Never sees rows."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pandas_blowfish.errors import ArgumentError, SchemaError, SecretError, UnsupportedPolicyError
from pandas_blowfish.policy import domain as cells
from pandas_blowfish.policy.constraint import Constraint, constraint_from_dict
from pandas_blowfish.policy.domain import Domain
from pandas_blowfish.policy.exact import canonical
from pandas_blowfish.policy.product import Block, RecordGraph
from pandas_blowfish.policy.schema import is_schema, read, stored_policy
from pandas_blowfish.policy.secret import build

if TYPE_CHECKING:
    from pandas_blowfish.queries.planner import Planner

VERSION = 1
Columns = tuple[str, ...]


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
        >>> line = Policy(Domain((integers("age", 0, 99),)), secrets={"age": threshold(5)})
        >>> line.distance({"age": 34}, {"age": 71})
        8
        >>> line == Policy.from_yaml(line.to_yaml())
        True
    """

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
        overrides = _overrides(secrets)
        steps = {
            keys[0]: secret["step"]
            for keys, secret in overrides.items()
            if len(keys) == 1 and "step" in secret
        }
        if isinstance(schema, Domain):
            own: dict[str, dict[str, Any]] = {column: {"secret": "full"} for column in schema.columns}
            self.domain = schema
        elif is_schema(schema):
            stored = stored_policy(schema)
            if stored is not None:
                if overrides or neighbors != "record" or presence or tuple(constraints):
                    raise SchemaError(
                        None, "it carries a policy already", fix="pass the schema alone, or detach it."
                    )
                self.__dict__.update(Policy.from_dict(stored).__dict__)
                return
            self.domain, own = read(schema, steps)
        else:
            raise SchemaError(
                None, f"a {type(schema).__name__} is not a schema", fix="give a pandera schema or model."
            )
        self.secrets = _merge(self.domain, own, overrides, steps)
        self.neighbors = _neighbors(neighbors)
        if not isinstance(presence, bool):
            raise ArgumentError("presence", "not True or False")
        self.presence = presence
        self.constraints = tuple(constraints)
        for fact in self.constraints:
            if not isinstance(fact, Constraint):
                raise ArgumentError(
                    "constraints", "not a list of facts", allowed="bf.Count, bf.Marginal, bf.Box"
                )
            for column in fact.columns:
                self.domain[column]  # raises UndeclaredColumnError
        for columns, secret in self.secrets.items():
            if len(columns) == 1 and self.domain[columns[0]].bounded:
                build(
                    secret, self.domain[columns[0]]
                )  # a secret that does not fit is an error now, not later

    @cached_property
    def graph(self) -> RecordGraph:
        """Return the secret graph of whole records, one block a column that has cells."""
        if any(len(columns) > 1 for columns in self.secrets):
            raise UnsupportedPolicyError("joint secrets on several columns", fix="state one secret a column.")
        return RecordGraph(
            tuple(
                Block(columns, build(secret, self.domain[columns[0]]))
                for columns, secret in self.secrets.items()
                if self.domain[columns[0]].bounded
            )
        )

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

    def require_supported(self) -> None:
        """Refuse what no verb can price yet.

        Proof note:
            Requires: nothing.
            Ensures:  on return every neighbour is one row moved along one edge of `graph`.
            Because:  facts about public columns alone are lifted and lowered by no edge, so they cost
                      nothing (the row count is public); everything else that would add neighbours raises.
            Checked:  tests/policy/test_policy.py::test_unsupported_features_are_refused
        """
        if self.neighbors != "record":
            raise UnsupportedPolicyError(
                f"neighbors={self.neighbors!r}", fix='use neighbors="record", which implies it.'
            )
        if self.presence:
            raise UnsupportedPolicyError(
                "presence=True", fix="leave presence off where the row count is public."
            )
        for fact in self.constraints:
            if not fact.columns or not self.public_columns.issuperset(fact.columns):
                raise UnsupportedPolicyError("public facts that a secret touches", fix="leave the fact out.")
        self.graph  # noqa: B018  joint secrets raise

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        planner: Planner = type(self).planner(self)
        return planner

    def distance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> int | float:
        """Return how many edges separate two records; columns left out stay as they are."""
        if set(a) != set(b):
            raise ArgumentError("records", "they name different columns", fix="give both the same columns.")
        names = list(a)
        codes = [[self.domain.select([name])[name].code(record[name]) for name in names] for record in (a, b)]
        return self.graph.project(names).distance(*codes)

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
        if self == other:
            return True
        if (
            self.constraints
            or other.constraints
            or sorted(self.domain, key=_name) != sorted(other.domain, key=_name)
        ):
            return False
        if other.presence and not self.presence:
            return False
        mine, theirs = self.graph.project(self.domain.columns), other.graph.project(self.domain.columns)
        moving = sum(block.graph.edge_count > 0 for block in theirs.blocks)
        return _moves(self.neighbors, moving) >= _moves(other.neighbors, moving) and mine.contains(theirs)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain JSON-able data, column by column."""
        columns = {attribute.name: cells.to_dict(attribute) for attribute in self.domain}
        for keys, secret in self.secrets.items():
            if len(keys) == 1:
                columns[keys[0]]["secret"] = secret
        out: dict[str, Any] = {"blowfish": VERSION, "columns": columns}
        joint = [
            {"columns": list(keys), "secret": secret}
            for keys, secret in self.secrets.items()
            if len(keys) > 1
        ]
        if joint:
            out["joint"] = joint
        if self.neighbors != "record":
            out["neighbors"] = self.neighbors
        if self.presence:
            out["presence"] = True
        if self.constraints:
            out["constraints"] = [fact.to_dict() for fact in self.constraints]
        return copy.deepcopy(out)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Policy:
        """Return the policy that `to_dict`, or a person's YAML, describes."""
        if (
            not isinstance(spec, Mapping)
            or spec.get("blowfish") != VERSION
            or not isinstance(spec.get("columns"), Mapping)
        ):
            raise SchemaError(
                None, "not a policy of this version", fix="begin with `blowfish: 1` and `columns:`."
            )
        unknown = set(spec) - {"blowfish", "columns", "joint", "neighbors", "presence", "constraints"}
        if unknown:
            raise SchemaError(None, f"unknown keys {', '.join(sorted(unknown))}", fix="remove them.")
        attributes, secrets = [], {}
        for name, column in spec["columns"].items():
            if not isinstance(name, str) or not isinstance(column, Mapping):
                raise SchemaError(
                    None, f"column {name!r} is not described by a dict", fix="give type, min, max, ..."
                )
            rest = {key: value for key, value in column.items() if key != "secret"}
            attributes.append(cells.from_dict(name, rest))
            secrets[(name,)] = column.get("secret", {"secret": "full"})
        secrets |= {tuple(joint["columns"]): joint["secret"] for joint in spec.get("joint", ())}
        return cls(
            Domain(tuple(attributes)),
            secrets=secrets,
            neighbors=spec.get("neighbors", "record"),
            presence=spec.get("presence", False),
            constraints=[constraint_from_dict(fact) for fact in spec.get("constraints", ())],
        )

    def to_yaml(self) -> str:
        """Return the policy as YAML that a person can read and edit."""
        import yaml

        return str(
            yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None)
        )

    @classmethod
    def from_yaml(cls, text: str) -> Policy:
        """Return the policy a YAML text describes."""
        import yaml

        try:
            return cls.from_dict(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise SchemaError(
                None, f"the YAML cannot be read ({type(error).__name__})", fix="mend the file."
            ) from None

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
        if name in self.__dict__:
            raise AttributeError(f"a Policy is immutable; make another one instead of setting {name!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return the promise in words, a line a column."""
        lines = [f"Policy {self.fingerprint[:12]}: neighbors={self.neighbors!r}"]
        lines[0] += ", presence secret" if self.presence else ", row count public"
        for columns, secret in self.secrets.items():
            shown = "; ".join(self.domain[column].describe() for column in columns)
            extra = {key: value for key, value in secret.items() if key not in ("secret", "groups", "pairs")}
            detail = ", ".join(f"{key}={value}" for key, value in extra.items())
            lines.append(f"  {', '.join(columns)}: {secret['secret']}({detail}) on {shown}")
        lines += [f"  public fact: {fact.to_dict()}" for fact in self.constraints]
        return "\n".join(lines)


def attach(schema: Any, policy: Policy) -> Any:
    """Return a copy of a pandera schema that carries a policy in its metadata.

    `bf.Policy(schema)` and `protect(schema, ...)` read it back.
    """
    if not isinstance(policy, Policy):
        raise ArgumentError("policy", "not a bf.Policy")
    marked = copy.deepcopy(schema.to_schema() if hasattr(schema, "to_schema") else schema)
    marked.metadata = {**(marked.metadata or {}), "blowfish": policy.to_dict()}
    return marked


def _name(attribute: Any) -> str:
    return str(attribute.name)


def _moves(neighbors: str | int, blocks: int) -> int:
    """Return how many blocks one neighbour may change, of those that can."""
    return blocks if neighbors == "record" else min(1 if neighbors == "attribute" else int(neighbors), blocks)


def _neighbors(neighbors: Any) -> str | int:
    whole = isinstance(neighbors, int) and not isinstance(neighbors, bool) and neighbors >= 1
    if neighbors not in ("record", "attribute") and not whole:
        raise ArgumentError("neighbors", "unknown", allowed='"record", "attribute" or a positive integer')
    return neighbors  # type: ignore[no-any-return]


def _overrides(secrets: Mapping[Any, Any] | None) -> dict[Columns, dict[str, Any]]:
    """Return stated secrets by tuples of columns, unwrapped from their metadata form."""
    out: dict[Columns, dict[str, Any]] = {}
    for key, secret in (secrets or {}).items():
        columns = (key,) if isinstance(key, str) else tuple(key)
        stated = secret.get("blowfish", secret) if isinstance(secret, Mapping) else None
        if not isinstance(stated, Mapping) or "secret" not in stated:
            raise SecretError(
                ", ".join(map(str, columns)), "not a secret", fix="write bf.full(), bf.threshold(...), ..."
            )
        out[columns] = dict(stated)
    return out


def _merge(
    domain: Domain,
    own: dict[str, dict[str, Any]],
    overrides: dict[Columns, dict[str, Any]],
    steps: Mapping[str, Any],
) -> dict[Columns, dict[str, Any]]:
    """Return one secret a block: the overrides, and the columns' own for the rest."""
    taken = [column for columns in overrides for column in columns]
    for column in taken:
        attribute = domain[column]  # raises UndeclaredColumnError
        width = getattr(attribute, "step", None)
        if column in steps and width is not None and cells.read_step(attribute.kind, steps[column]) != width:
            raise SecretError(
                column, "its cells have another step already", fix="leave step= out of the override."
            )
    if len(set(taken)) != len(taken):
        raise SecretError(None, "a column is in two blocks", fix="name each column in one secret.")
    merged = {columns: secret for columns, secret in overrides.items()}
    merged |= {(column,): secret for column, secret in own.items() if column not in taken}
    place = {column: rank for rank, column in enumerate(domain.columns)}
    ordered = sorted(merged.items(), key=lambda item: place[item[0][0]])
    return {columns: _plain(secret) for columns, secret in ordered}


def _plain(secret: Mapping[str, Any]) -> dict[str, Any]:
    """Return a secret as JSON keeps it, so that 5, 5.0 and "5" are one theta; its step is the domain's."""
    plain = json.loads(
        json.dumps({key: value for key, value in secret.items() if key != "step"}, default=canonical)
    )
    if isinstance(plain.get("theta"), (int, float)):
        plain["theta"] = canonical(plain["theta"])
    return dict(plain)
