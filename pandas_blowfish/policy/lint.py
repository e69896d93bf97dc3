"""What a policy leaves open, with a fix for each: values nobody protects, totals released for free.

Never sees rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pandas_blowfish.exact.instant import span_ns
from pandas_blowfish.exact.number import exact, plain
from pandas_blowfish.markup import data_table, element
from pandas_blowfish.policy.attribute import Attribute, Grid, Values
from pandas_blowfish.policy.blocks import thaw
from pandas_blowfish.policy.graph.records import Block
from pandas_blowfish.policy.margin import ABSOLUTE, INDEPENDENT, MARGINS, RELATIVE, as_threshold, c_of
from pandas_blowfish.policy.secret import PROTECTED, PUBLIC
from pandas_blowfish.policy.serialise import dump_yaml

if TYPE_CHECKING:
    import pandas as pd

    from pandas_blowfish.facts.move_bound import MoveBound
    from pandas_blowfish.policy.policy import Policy


HALF = Fraction(1, 2)  # a c below is more likely the error itself than what is left of the value
COME_AND_GO = (
    "Where some rows of such a person come or go while others stay, kept rows may be replaced by others: "
    "unless all secrets are full, up to twice epsilon is lost"
)
Hint = tuple[str, tuple[str, ...], str, str]  # kind, columns, what, fix


def hints(policy: Policy) -> Iterator[Hint]:
    """Yield what an author of an absolute or relative error, or of a secret total, may not have meant."""
    bare: list[str] = []
    for columns, secret in policy.secrets.items():
        if secret["secret"] not in MARGINS:
            continue
        bare += columns
        attribute = policy.domain[columns[0]]
        if secret["secret"] == RELATIVE and (c := c_of(secret, columns[0])) < HALF:
            what = f"c is {plain(c)}: values are hidden within a factor of {float(1 / c):,.3g} up and "
            what += "down (within 10% is c=0.9, not 0.1)"
            fix = f"secrets={{{columns[0]!r}: bf.relative_error({plain(1 - c)!r})}}  # if it was to within "
            yield "error-wide", columns, what, f"{fix}{float(c):.3g} of the value"
        if secret["secret"] == ABSOLUTE:
            yield from _wide(columns, secret, attribute)
    if bare:
        fix = "policy.describe()  # nothing to change: make one row of a person's before protect()"
        yield "independent", tuple(bare), INDEPENDENT, fix
    if policy.open_columns:
        what = "its values are read from the rows: which of them occur is disclosed, as all is of the column"
        fix = "pa.Check.isin([...])  # if results of several tables are to have the same rows"
        yield "keys-disclosed", policy.open_columns, what, fix
    if policy.max_rows > 1:
        many = f"{policy.max_rows:,}"
        what = f"a person with up to {many} rows: of somebody with more, {many} are kept, by chance"
        what += f". {COME_AND_GO}" if policy.presence else ""
        yield "max-rows", (), what, "max_rows=1  # if everyone has one row; see docs/howto/units.md"
    if policy.chain is not None:
        what = f"{policy.chain.describe()}: this holds for anyone who believes that chain, and for no other "
        what += "chain. Other columns can be declared, not released."
        yield "chain", (policy.chain.column,), what, "chain=None  # if no row reveals anything about the next"
    for each in policy.aggregates:
        what = f"{each.describe()} is secret: only its sum and mean may be released, and one release is made "
        what += "of a dataset; everything else is refused. Other columns can be declared, not released. "
        what += f"For the secrets of each record {INDEPENDENT}"
        fix = "aggregates=()  # if each record's own secrets are enough"
        yield "aggregate", (each.column,), what, fix


def _wide(columns: tuple[str, ...], secret: Mapping[str, Any], attribute: Attribute) -> Iterator[Hint]:
    """Yield where an absolute error is below the step, or beyond the bounds."""
    if not isinstance(attribute, Grid):
        return
    theta = as_threshold(secret, attribute)["theta"]
    far, name = span_ns(theta, "theta") if attribute.kind == "datetime" else exact(theta), columns[0]
    if far < attribute.step:
        what = "four times k is below the step: whole neighbouring cells are protected, more than was asked"
        fix = f"metadata=bf.absolute_error({secret['k']!r}, step={theta!r})  # or a larger k"
        yield "theta-below-step", columns, what, fix
    if far > attribute.high - attribute.low:
        what = "four times k is wider than the domain: this is bf.full()"
        yield "theta-wide", columns, what, f"secrets={{{name!r}: bf.full()}}  # or a smaller k"


_CELLS = ("no-secret", "one-at-a-time", "unprotected", "exact-total", "theta-below-step", "theta-wide")
_FACTS = ("public-fact", "fact-cost", "fact-bound", "fact-joint", "fact-known")
_SECRETS = ("error-wide", "independent", "keys-disclosed", "max-rows", "aggregate", "chain")
_SOME = ("undeclared", "not-looked-at", "missing-public", "missing-joins", "other-disclosed")
KINDS = (*_CELLS, *_SOME, *_FACTS, *_SECRETS)
MOST_FACTS = 12  # facts that are looked at one by one
MOST_CELLS = 2 * 10**6  # of a block that are looked at one by one, in about a second
_LEFT_OUT = "constraints:  # without those that are not public"
FIRST = {"threshold": "theta", "partition": "groups", "edges": "pairs", ABSOLUTE: "k", RELATIVE: "c"}
LONG = 400  # characters of a secret beyond which its values are left out of a fix


@dataclass(frozen=True)
class Finding:
    """One thing a policy's author may not have meant.

    Attributes:
        kind: One of `KINDS`; a public-fact is one the policy does not know. missing-public and missing-joins
            are two sides of one choice.
        columns: The columns it concerns.
        what: What was found.
        fix: What to write if it was not meant: an argument of `bf.Policy` or of the schema, or an expression
            of `policy`, with a comment that states when.
        yaml: The same in the YAML of a policy: what to state there instead; "" where only a schema can.
    """

    kind: str
    columns: tuple[str, ...]
    what: str
    fix: str
    yaml: str = ""

    def __str__(self) -> str:
        return f"{', '.join(self.columns) or 'table'}: {self.what}\n  fix: {self.fix}"


class Findings(tuple[Finding, ...]):
    """All findings, printed one below the other."""

    __slots__ = ()

    @property
    def table(self) -> pd.DataFrame:
        """Return one finding per row: kind, columns, what and fix."""
        import pandas as pd

        rows = [(each.kind, ", ".join(each.columns), each.what, each.fix) for each in self]
        return pd.DataFrame(rows, columns=["kind", "columns", "what", "fix"], dtype="str")

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "nothing found"

    def _repr_html_(self) -> str:
        if not self:
            return element("p", "nothing found")
        rows = [(", ".join(each.columns) or "table", each.what, element("code", each.fix)) for each in self]
        return data_table(("columns", "what was found", "fix, if it was not meant"), rows, "Lint")


def lint(policy: Policy) -> Findings:
    """Return what a policy leaves open, column by column."""
    touched = bool(policy.constraints) and not policy.move_bound.free
    found: list[Finding] = [] if touched else [*_whole(policy)]
    for block in policy.graph.blocks:
        secret = policy.secrets[block.columns]
        if secret["secret"] == "public":
            continue
        found += _missing(policy, block, secret)
        if secret["secret"] == "threshold" and len(block.columns) == 1:
            found += _theta(policy, block, secret)
        if not touched:  # a touched fact lets records go anywhere
            found += _open(policy, block) if block.graph.size <= MOST_CELLS else _large(policy, block)
    for name, needs in policy.domain.pending.items():
        what = "the schema declares no cells of it, so that nothing can be asked about it"
        found.append(Finding("undeclared", (name,), what, f"{needs}  # or delete it, if no query needs it"))
    for columns, what in policy.domain.notes:
        claim = "unique=False" if len(columns) == 1 else "unique=None" if columns else "checks=None"
        fix = f"{claim}  # in the schema; constraints=[bf.Count(...)] if it is a known count"
        found.append(
            Finding("public-fact", columns, f"{what}: a public fact that the policy does not know", fix)
        )
    return Findings([*found, *_facts(policy), *(Finding(*hint) for hint in hints(policy))])


def _whole(policy: Policy) -> Iterator[Finding]:
    """Yield what concerns the policy as a whole."""
    kinds = {columns: secret["secret"] for columns, secret in policy.secrets.items()}
    if kinds and not policy.presence and set(kinds.values()) == {"public"}:
        what = "every column is public: there is no secret, and every release is exact and free"
        when, first = "  # for each column that is not public", policy.domain.columns[:1]
        fix = f"secrets={{{first[0]!r}: bf.full()}}{when}"
        yield Finding("no-secret", policy.domain.columns, what, fix, _yaml(policy, first, "full") + when)
    secret = [columns for columns, kind in kinds.items() if kind != "public"]
    limit = {"record": len(secret), "attribute": 1}.get(str(policy.neighbors), policy.neighbors)
    if len(secret) > int(limit) and not policy.presence:
        times = -(-len(secret) // int(limit))
        what = f"one step changes {limit} of {len(secret)} secrets: rows that differ in all of these are "
        what += f"{times} steps apart or more, so that releases may reveal {times} times epsilon of them"
        when = "  # if whole rows must be hidden as well as single values"
        named = tuple(name for columns in secret for name in columns)
        yield Finding("one-at-a-time", named, what, f'neighbors="record"{when}', f"neighbors: record{when}")


def _facts(policy: Policy) -> Iterator[Finding]:
    """Yield what touched facts cost: the error with and without each."""
    if not policy.constraints or (found := policy.move_bound).free:
        return
    if found.known:
        fix = "policy.with_facts(policy.constraints[:-1])  # leaves out the last: keep what really is public"
        yield Finding("fact-known", (), f"{found.why}: nothing is left to protect", fix, _LEFT_OUT)
        return
    now = f"+-{_error(found.moves)} with it (a histogram's count at epsilon 1)"
    if not found.exact:
        many = "18 quintillion or more" if found.count >= found.limit else f"{found.count:,}"
        what = f"neighbours may differ in {many} records, by a bound alone: {found.why}"
        yield Finding("fact-bound", (), f"{what}{_joint(policy, found)}", *_merged(policy))
    elif better := _joint(policy, found):
        what = f"neighbours may differ in {found.count:,} records{better}"
        yield Finding("fact-joint", (), what, *_merged(policy))
    if len(policy.constraints) > MOST_FACTS:
        what = f"{len(policy.constraints):,} public facts: the error is {now}; without any it would be "
        fix = "policy.with_facts([])  # without those that are not public"
        yield Finding("fact-cost", (), f"{what}+-{_error(1)}", fix, _LEFT_OUT)
        return
    for number, fact in enumerate(policy.facts):
        left = [other for place, other in enumerate(policy.constraints) if place != number]
        rest = policy.with_facts(left).move_bound
        if rest.count == found.count and not rest.free:
            continue  # it costs nothing besides the others
        what = f"{fact.text}: without this fact the error would be +-{_error(rest.moves)} instead of {now}"
        if rest.free:
            what += ", and strategies fitted to the secrets could be used"
        kept = [f"policy.constraints[:{number}]"] if number else []
        kept += [f"policy.constraints[{number + 1}:]"] if number + 1 < len(policy.constraints) else []
        fix = f"policy.with_facts({' + '.join(kept) or '[]'})  # if it is not public"
        yaml = f"constraints:  # without number {number + 1}, if it is not public"
        yield Finding("fact-cost", fact.columns, what, fix, yaml)


def _joint(policy: Policy, found: MoveBound) -> str:
    """Return what the joint table of several marginals would cost instead, where that is less; else ""."""
    names = dict.fromkeys(name for fact in policy.facts for name in fact.columns)
    if len(policy.facts) < 2 or any(fact.condition is not None for fact in policy.facts):
        return ""
    joint = policy.with_facts([type(policy.constraints[0])(*names)]).move_bound
    if joint.known or joint.moves >= found.moves:
        return ""
    return (
        f"; if the joint table of {', '.join(names)} is public, stating it instead makes that {joint.moves:,}"
    )


def _merged(policy: Policy) -> tuple[str, str]:
    """Return one marginal for several, where there are marginals alone, else fewer facts; and in YAML."""
    names = dict.fromkeys(name for fact in policy.facts for name in fact.columns)
    if all(fact.condition is None for fact in policy.facts) and len(policy.facts) > 1:
        fix, when = f"constraints=[bf.Marginal({', '.join(map(repr, names))})]", "  # if that is public too"
        return fix + when, _flow({"constraints": [{"fact": "marginal", "columns": list(names)}]}) + when
    fix = "policy.with_facts(policy.constraints[:-1])  # leaves out the last: drop what is not public"
    return fix, _LEFT_OUT


def _error(records: int) -> str:
    """Return the standard error of a histogram's count, at epsilon 1, when so many records move."""
    return f"{2 * math.sqrt(2) * records:,.3g}"


def _missing(policy: Policy, block: Block, secret: Any) -> Iterator[Finding]:
    nullable = [column for column in block.columns if policy.domain[column].nullable]
    public, line = secret.get("missing") == PUBLIC, secret["secret"] in ("threshold", *MARGINS)
    open_ = line and secret.get("missing") is None  # "protected", or a stand-in, is a choice that was made
    if not nullable or not (public or open_):
        return
    if public:
        what = "it is public which values are missing, and how many"
        kind, missing, when = "missing-public", PROTECTED, "  # if that must be secret"
    else:
        what = "a missing value may be any other, so that theta saves nothing in sums and cumulative counts"
        kind, missing, when = "missing-joins", PUBLIC, "  # if all may know which are missing; else "
        when += "missing='protected', or the value they are kept like" if len(block.columns) == 1 else ""
        when += "missing='protected'" if len(block.columns) > 1 else ""
    yaml = _yaml(policy, block.columns, _given(secret, missing))
    if len(yaml) > LONG:
        yaml = f"`missing: {missing}` in the secret of {', '.join(nullable)}"
    yield Finding(kind, tuple(nullable), what, _secret(block, secret, missing=missing) + when, yaml + when)


def _theta(policy: Policy, block: Block, secret: Any) -> Iterator[Finding]:
    attribute = policy.domain[block.columns[0]]
    theta = span_ns(secret["theta"], "theta") if attribute.kind == "datetime" else exact(secret["theta"])
    theta /= exact((secret.get("scale") or {}).get(attribute.name, 1))
    wide = _full(policy, block, "  # or a smaller theta")
    if isinstance(attribute, Grid):
        if theta < attribute.step:
            what = "theta is below the step: whole neighbouring cells are protected, more than was asked"
            stated = secret["theta"] if attribute.kind == "datetime" else plain(theta)
            fix = f"metadata=bf.threshold({secret['theta']!r}, step={stated!r})  # or a larger theta"
            yaml = _flow({"columns": {attribute.name: {"step": stated}}}) + "  # or a larger theta"
            yield Finding("theta-below-step", block.columns, what, fix, yaml)
        if theta > attribute.high - attribute.low:
            what = "theta is wider than the domain: this is bf.full()"
            yield Finding("theta-wide", block.columns, what, *wide)
    elif isinstance(attribute, Values) and attribute.cells > 1:
        places = attribute.positions if attribute.numeric else tuple(map(exact, range(attribute.cells)))
        if theta >= max(places) - min(places):
            what = "theta is as wide as the domain: this is bf.full()"
            yield Finding("theta-wide", block.columns, what, *wide)


def _full(policy: Policy, block: Block, when: str) -> tuple[str, str]:
    """Return the argument that makes a block's values all alike, and the same in YAML."""
    return f"secrets={{{_key(block)}: bf.full()}}{when}", _yaml(policy, block.columns, "full") + when


def _yaml(policy: Policy, columns: tuple[str, ...], secret: Any) -> str:
    """Return what to state of a block in the YAML of its policy."""
    if len(columns) == 1:
        return _flow({"columns": {columns[0]: {"secret": secret}}})
    stated = {each: thaw(given) for each, given in policy.secrets.items() if len(each) > 1}
    stated[columns] = {"secret": secret} if isinstance(secret, str) else secret
    return _flow({"joint": [{"columns": list(each), "secret": given} for each, given in stated.items()]})


def _flow(stated: Any) -> str:
    """Return plain data as one line of YAML, without the braces around it."""
    return dump_yaml(stated, default_flow_style=True, width=10**9).strip()[1:-1]


def _given(secret: Any, missing: str | None) -> dict[str, Any]:
    """Return a secret in its plain form, with or without its missing values public."""
    given: dict[str, Any] = {key: each for key, each in thaw(secret).items() if key != "missing"}
    return given | ({"missing": missing} if missing else {})


def _secret(block: Block, secret: Any, missing: str | None) -> str:
    """Return the argument that states a secret again, with or without its missing values public."""
    given = _given(secret, missing)
    kind, first = given.pop("secret"), FIRST
    stated = given.pop(first[kind], None) if kind in first else None
    if kind == "partition" and isinstance(stated, dict) and list(stated) == ["width"]:
        stated = stated["width"]
    inside = [repr(stated)] if kind in first else []
    inside = [each if len(each) <= LONG else first[kind].upper() for each in inside]
    inside += [f"{key}={value!r}" for key, value in given.items()]
    return f"secrets={{{_key(block)}: bf.{kind}({', '.join(inside)})}}"


def _key(block: Block) -> str:
    return repr(block.columns[0] if len(block.columns) == 1 else block.columns)


def _open(policy: Policy, block: Block) -> Iterator[Finding]:
    """Yield cells without any edge, and components whose totals come out exact.

    A public missing value is both: `_missing` reports it. Of unlisted values that is said in words.
    """
    size = block.graph.size
    bare = np.ones(size, dtype=bool)
    bare[block.graph.pairs().ravel()] = False
    first = policy.domain[block.columns[0]]
    listed = len(block.columns) == 1 and first.nullable
    listed &= policy.secrets[block.columns].get("missing") == "public"
    bare[-1:] &= not listed  # the missing cell is the last
    if len(block.columns) == 1 and isinstance(first, Values) and first.other and bare[first.cells - 1]:
        bare[first.cells - 1] = False
        what = f"{first.values[-1]!r} is joined to no value: it is disclosed who has one that is not listed"
        full = _full(policy, block, f"  # or name {first.values[-1]!r} in a group or a pair")
        yield Finding("other-disclosed", block.columns, what, *full)
    if size > 1 and bare.any():
        some = np.flatnonzero(bare)[:3].tolist()
        shown = ", ".join(_cell(policy, block, cell) for cell in some)
        more = ", ..." if int(bare.sum()) > 3 else ""
        many = "value is" if int(bare.sum()) == 1 else "values are"
        what = f"{int(bare.sum()):,} {many} protected from nothing: {shown}{more}"
        full = _full(policy, block, "  # or join them to others")
        yield Finding("unprotected", block.columns, what, *full)
    count = int(block.graph.components.max(initial=-1)) + 1 - listed
    if count > 1 and policy.rows_public:
        what = f"the values fall into {count:,} components, whose totals come out exact and free"
        full = _full(policy, block, "  # if the group is secret")
        yield Finding("exact-total", block.columns, what, *full)


def _large(policy: Policy, block: Block) -> Iterator[Finding]:
    """Yield that a block has too many cells to look at, unless its secret joins them all anyway."""
    secret = policy.reduced.secrets[block.columns]
    alone = isinstance(policy.domain[block.columns[0]], Grid) and len(block.columns) == 1
    if secret["secret"] == "full" or (secret["secret"] == "threshold" and alone):
        return
    what = f"{block.graph.size:,} cells, too many to look at: values that nothing protects, and groups whose "
    what += "totals come out exact, are not listed"
    yield Finding("not-looked-at", block.columns, what, *_full(policy, block, "  # or a wider step"))


def _cell(policy: Policy, block: Block, cell: int) -> str:
    codes = np.unravel_index(cell, block.sizes)
    labels = [policy.domain[c].index()[int(code)] for c, code in zip(block.columns, codes, strict=True)]
    named = [str(label.left) if hasattr(label, "left") else str(label) for label in labels]
    shown = [
        "missing" if value == "nan" or (isinstance(value, float) and math.isnan(value)) else value
        for value in named
    ]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
