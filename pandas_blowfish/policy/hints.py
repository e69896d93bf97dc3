"""What a policy with errors to be kept, or a secret total, leaves open: more for `lint`. Never sees rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.exact import exact, plain
from pandas_blowfish.policy.instant import span_ns
from pandas_blowfish.policy.margin import ABSOLUTE, INDEPENDENT, MARGINS, RELATIVE, c_of, reduced

if TYPE_CHECKING:
    from pandas_blowfish.policy.policy import Policy

HALF = Fraction(1, 2)  # a c below is more likely the error itself than what is left of the value
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
    if policy.chain is not None:
        what = f"{policy.chain.describe()}: this holds for anyone who believes that chain, and for no other "
        what += "chain. Other columns can be declared, not released."
        yield "chain", (policy.chain.column,), what, "chain=None  # if no row tells about the next"
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
    theta = reduced(secret, attribute)["theta"]
    far, name = span_ns(theta, "theta") if attribute.kind == "datetime" else exact(theta), columns[0]
    if far < attribute.step:
        what = "four times k is below the step: whole neighbouring cells are protected, more than was asked"
        fix = f"metadata=bf.absolute_error({secret['k']!r}, step={theta!r})  # or a larger k"
        yield "theta-below-step", columns, what, fix
    if far > attribute.high - attribute.low:
        what = "four times k is wider than the domain: this is bf.full()"
        yield "theta-wide", columns, what, f"secrets={{{name!r}: bf.full()}}  # or a smaller k"
