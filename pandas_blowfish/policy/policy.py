"""The promise itself: cells, what stays indistinguishable, what is public. Never sees rows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

from pandas_blowfish.errors import ArgumentError, SchemaError, UnlistedColumnError
from pandas_blowfish.policy import describe as words
from pandas_blowfish.policy.attach import require_agreement
from pandas_blowfish.policy.blocks import (
    Columns,
    blocks_of,
    cells_stated,
    freeze,
    merge,
    neighbors_of,
    overrides_of,
    require_same_keys,
    thaw,
)
from pandas_blowfish.policy.domain import Domain, values_attribute
from pandas_blowfish.policy.graph.records import Block, RecordGraph
from pandas_blowfish.policy.lint import Findings, lint
from pandas_blowfish.policy.margin import alone, as_threshold, use_logarithms
from pandas_blowfish.policy.odds import Odds, OddsTable, Record, distance_between, odds_between, record_of
from pandas_blowfish.policy.schema import is_schema, read, stored_policy
from pandas_blowfish.policy.serialise import dump_yaml, load_yaml, read_form, to_form, write_yaml

if TYPE_CHECKING:
    from pandas_blowfish.beyond.aggregate import Aggregate
    from pandas_blowfish.beyond.markov import Markov
    from pandas_blowfish.facts.declared import Constraint
    from pandas_blowfish.facts.fact import Fact
    from pandas_blowfish.facts.move_bound import MoveBound
    from pandas_blowfish.queries.call.planner import Planner


MOST_ROWS = 1_000_000  # of one person


class Policy:
    """Which values of a record stay indistinguishable, and what is already public.

    Args:
        schema: A pandera `DataFrameSchema` or `DataFrameModel` whose columns declare their bounds
            and, in `metadata=`, their secrets; a schema that `bf.attach` marked, which must still say what
            that policy states; or a `Domain`.
        secrets: Secrets that override the columns' own, singly or (as tuples of columns) jointly.
        neighbors: "record", "attribute" or an integer: how many blocks one neighbour may change.
        presence: Whether it is secret that a row is there at all (default: the row count is public).
        constraints: Public facts, such as `bf.Marginal("region")`.
        aggregates: A secret of the whole table, such as `bf.Aggregate("sales.sum()", delta=50_000)`: then
            only that total, or its mean, may be released, once.
        chain: How rows in order of time follow each other in one column, `bf.Markov(...)`: then only that
            column may be released, with noise that allows for it.
        max_rows: How many rows one person may have, all of which may change at once, each along an edge;
            `protect(unit=)` keeps as many of each. Not with secret totals, a chain, or public facts that an
            edge changes: nothing is proved of several rows there.

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
    aggregates: tuple[Aggregate, ...]
    chain: Markov | None
    max_rows: int
    # hooks: upper layers, which a policy may not import, set them as the package is imported
    planner: ClassVar[Any] = None  # `queries.call.planner` sets it: policy -> its verbs, `plan`
    painter: ClassVar[Any] = None  # `explain.policy.picture` sets it: what `plot` draws by

    def __init__(
        self,
        schema: Any,
        *,
        secrets: Mapping[Any, Any] | None = None,
        neighbors: str | int = "record",
        presence: bool = False,
        constraints: Iterable[Constraint] = (),
        aggregates: Iterable[Aggregate] = (),
        chain: Markov | None = None,
        max_rows: int = 1,
    ) -> None:
        from pandas_blowfish.beyond.aggregate import aggregates_of, split_aggregates
        from pandas_blowfish.beyond.markov import chain_of
        from pandas_blowfish.facts.declared import facts_of

        constraints, aggregates = split_aggregates(constraints, aggregates)
        overrides, facts = overrides_of(secrets), facts_of(constraints)
        if isinstance(schema, Domain):
            own: dict[str, dict[str, Any]] = {column: {"secret": "full"} for column in schema.columns}
            domain = schema
        elif is_schema(schema):
            stored = stored_policy(schema)
            if stored is not None:
                said = overrides or neighbors != "record" or presence or facts or aggregates or chain
                if said or max_rows != 1:
                    fix = "pass the schema alone, or leave bf.attach out."
                    raise SchemaError(None, "it carries a policy already", fix=fix)
                attached = Policy.from_dict(stored)
                require_agreement(schema, attached)
                self.__dict__.update(attached.__dict__)
                return
            domain, own = read(schema, *(cells_stated(overrides, each) for each in ("step", "other", "keys")))
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
        domain = use_logarithms(domain, alone(own, overrides))
        self.__dict__.update(
            domain=domain,
            secrets=freeze(merge(domain, own, overrides)),
            neighbors=neighbors_of(neighbors),
            presence=presence,
            constraints=facts,
            max_rows=rows_of(max_rows),
        )
        asked: dict[str, Any] = {"presence": presence, "facts": bool(facts)}
        self.__dict__["aggregates"] = aggregates_of(aggregates, domain, self.public_columns, **asked)
        asked |= {"totals": bool(self.aggregates)}
        self.__dict__["chain"] = chain_of(chain, domain, self.secrets, **asked)
        if self.max_rows > 1 and (self.aggregates or self.chain):
            why = "nothing is proved of people with several rows under a secret total or a chain"
            raise ArgumentError("max_rows", why, fix="max_rows=1, or leave out aggregates and chain.")
        require_same_keys(self.secrets, **self._stated)
        self.facts  # noqa: B018  so is a fact that does not
        self._blocks  # noqa: B018  a secret that does not fit is an error now, not later

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Return the public facts, read against the declared cells."""
        from pandas_blowfish.facts.consistent import consistent_facts

        return consistent_facts(self.constraints, self.domain)

    @property
    def move_bound(self) -> MoveBound:
        """Return how many records two neighbouring tables differ in at most, given the public facts."""
        from pandas_blowfish.facts.move_bound import bound_moves

        return bound_moves(self)

    @cached_property
    def _blocks(self) -> dict[Columns, Block]:
        """Return the graph of each block whose columns have cells enough to count, and not too many."""
        return blocks_of(self.domain, self.secrets)

    @cached_property
    def graph(self) -> RecordGraph:
        """Return the secret graph of whole records, one block per secret that can be counted."""
        moves: Any = {"record": None, "attribute": 1}.get(str(self.neighbors), self.neighbors)
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
    def open_columns(self) -> tuple[str, ...]:
        """Return the public columns whose keys are still to be read from rows, `keys="rows"`."""
        return tuple(columns[0] for columns, secret in self.secrets.items() if "keys" in secret)

    @property
    def rows_public(self) -> bool:
        """Return whether the number of rows is the same in all neighbouring tables."""
        return not self.presence

    @property
    def single_release(self) -> str | None:
        """Return why only one release may be made of a dataset; None where releases add up."""
        if not self.aggregates:
            return None
        return f"the secret {self.aggregates[0].text} is about the whole table: two releases are not bounded"

    @cached_property
    def reduced(self) -> Policy:
        """Return the policy with absolute and relative errors as the thresholds that they are."""
        found = {keys: as_threshold(secret, self.domain[keys[0]]) for keys, secret in self.secrets.items()}
        if all(found[keys] is secret for keys, secret in self.secrets.items()):
            return self
        same = Policy.__new__(Policy)  # the cells of a relative error stay those of logarithms
        same.__setstate__({**self.__getstate__(), "secrets": thaw(found)})
        return same

    @property
    def _stated(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"neighbors": self.neighbors, "presence": self.presence}
        return stated | {"aggregates": self.aggregates, "chain": self.chain, "max_rows": self.max_rows}

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        for name in self.open_columns:
            raise UnlistedColumnError(name)
        planner: Planner = type(self).planner(self)
        return planner

    def distance(self, a: Mapping[str, Any], b: Mapping[str, Any] | None) -> int | float:
        """Return how many edges separate two records; columns left out stay as they are."""
        return distance_between(self, record_of(a), record_of(b))

    @overload
    def odds(
        self, a: Record, b: list[Any] | tuple[Any, ...], epsilon: Any, *, prior: Any = None
    ) -> OddsTable: ...

    @overload
    def odds(self, a: Record, b: Record, epsilon: Any, *, prior: Any = None) -> Odds: ...

    def odds(self, a: Any, b: Any, epsilon: Any, *, prior: Any = None) -> Odds | OddsTable:
        """Return how far releases of `epsilon` in all can move someone's odds between two records.

        It reads in words.

        Args:
            a: A record, as column -> value; None is not being in the table, where presence is secret.
            b: Another, or a list of others to compare with one by one.
            epsilon: What all releases together may lose.
            prior: The probability that someone gave `a` before, against `b`; then `posterior` is the largest
                that they can give it after.
        """
        return odds_between(self, a, b, epsilon, prior)

    def plot(self, columns: Any = None, *, ax: Any = None, epsilon: Any = None, around: Any = None) -> Any:
        """Draw which values stay indistinguishable, of a column, of two, or of all, and return the Axes.

        Args:
            columns: One column, two, or more for an overview; None for all.
            ax: The matplotlib Axes to draw on; None for new ones.
            epsilon: What all releases together may lose, to write how far odds can change.
            around: The record that steps are counted from, as column -> value; the middle by default.
        """
        return type(self).painter(self, columns, ax=ax, epsilon=epsilon, around=around)

    def lint(self) -> Findings:
        """Return what the policy leaves open, with a fix for each finding."""
        return lint(self)

    def implies(self, other: Policy) -> bool:
        """Return whether every pair the other policy protects is protected here.

        Proof note:
            Requires: the same cells on both sides; with public facts, the same policy.
            Ensures:  True only if every neighbouring pair of `other` is one here, so that what keeps
                      this promise at some epsilon keeps the other's at the same epsilon.
            Because:  a strong product contains another block by block, and fewer moving blocks or no
                      "absent" edge only remove edges. With facts smaller graphs are not safer. A total that
                      is secret to within more is so to within less. Of a person's rows fewer may change.
            Checked:  tests/policy/test_policy.py::test_implies_matches_enumeration
        """
        from pandas_blowfish.beyond.aggregate import is_contained

        if not isinstance(other, Policy):
            raise ArgumentError("other", "not a bf.Policy")
        if self == other:
            return True
        if self.constraints or other.constraints or (other.presence and not self.presence):
            return False
        if other.max_rows > self.max_rows:
            return False
        if not is_contained(other.aggregates, self.aggregates) or other.chain != self.chain:
            return False
        if sorted(self.domain, key=_name) != sorted(other.domain, key=_name):
            return False
        uncounted = [columns for columns in self.secrets if columns not in self._blocks]
        own, others = self.reduced.secrets, other.reduced.secrets
        if any(own[columns] != others.get(columns) for columns in uncounted):
            return False
        mine, theirs = self.graph.moves, other.graph.moves
        if uncounted and mine is not None and (theirs is None or mine < theirs):
            return False
        return self.graph.contains(other.graph)

    def with_facts(self, constraints: Iterable[Constraint]) -> Policy:
        """Return the same policy with these public facts instead of its own."""
        secrets = {columns: thaw(secret) for columns, secret in self.secrets.items()}
        return Policy(self.domain, secrets=secrets, constraints=constraints, **self._stated)

    def with_max_rows(self, max_rows: int) -> Policy:
        """Return the same policy for people with up to so many rows."""
        secrets = {columns: thaw(secret) for columns, secret in self.secrets.items()}
        stated = {**self._stated, "max_rows": max_rows}
        return Policy(self.domain, secrets=secrets, constraints=self.constraints, **stated)

    def with_missing(self, stated: Mapping[str, Any]) -> Policy:
        """Return the same policy with another statement about the missing values of some columns."""
        secrets = {columns: thaw(secret) for columns, secret in self.secrets.items()}
        for name, missing in stated.items():
            secrets[name,] = {**secrets[name,], "missing": missing}
        return Policy(self.domain, secrets=secrets, constraints=self.constraints, **self._stated)

    def with_keys(self, keys: Mapping[str, Iterable[Any]]) -> Policy:
        """Return the same policy with the values of its columns of `keys="rows"` listed.

        `protect` lists those that occur; this plans, without rows, on those that one expects.

        Args:
            keys: The values, by column.
        """
        if not isinstance(keys, Mapping) or set(keys) != set(self.open_columns):
            raise ArgumentError(
                "keys", "not the columns of keys", allowed=f"{list(self.open_columns)}, once each"
            )
        secrets = {columns: thaw(secret) for columns, secret in self.secrets.items()}
        for name in keys:
            del secrets[name,]["keys"]
        listed = [
            values_attribute(each.name, each.kind, keys[each.name], nullable=each.nullable)
            if each.name in keys
            else each
            for each in self.domain
        ]
        domain = replace(self.domain, attributes=tuple(listed))
        return Policy(domain, secrets=secrets, constraints=self.constraints, **self._stated)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain JSON-able data, column by column."""
        parts = (self.domain, self.secrets, self.neighbors, self.presence, self.constraints, self.aggregates)
        return to_form(*parts, self.chain, self.max_rows)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Policy:
        """Return the policy that `to_dict`, or a person's YAML, describes."""
        from pandas_blowfish.beyond.aggregate import Aggregate
        from pandas_blowfish.beyond.markov import Markov
        from pandas_blowfish.facts.declared import constraint_from_dict

        form = read_form(spec)
        form["constraints"] = [constraint_from_dict(fact) for fact in form["constraints"]]
        form["aggregates"] = [Aggregate.from_dict(each) for each in form["aggregates"]]
        form["chain"] = None if form["chain"] is None else Markov.from_dict(form["chain"])
        return cls(**form)

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the policy as YAML that a person can read and edit; with a path, write it there too.

        Args:
            path: A file for `df.blowfish.protect(path, ...)`, the command line and version control.
        """
        text = dump_yaml(self.to_dict(), default_flow_style=None)
        if path is not None:
            write_yaml(text, path)
        return text

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
        kept = ("domain", "neighbors", "presence", "constraints", "aggregates", "chain", "max_rows")
        return {name: self.__dict__[name] for name in kept} | {"secrets": thaw(self.secrets)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        since = {"aggregates": (), "chain": None, "max_rows": 1}  # what older states do not have
        self.__dict__.update({**since, **state}, secrets=freeze(state["secrets"]))

    def __repr__(self) -> str:
        return words.describe(self, words.SHOWN)

    def _repr_html_(self) -> str:
        return words.policy_html(self)

    def describe(self) -> str:
        """Return the promise as it was declared, one line per secret and fact."""
        return words.describe(self)


def rows_of(max_rows: Any) -> int:
    """Return how many rows a person may have, or refuse what is no such number."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or not 1 <= max_rows <= MOST_ROWS:
        raise ArgumentError(
            "max_rows", "not a number of rows", allowed=f"a whole number from 1 to {MOST_ROWS:,}"
        )
    return max_rows


def _name(attribute: Any) -> str:
    return str(attribute.name)
