"""What is written above the pictures of policies. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pandas_blowfish.explain.policy.reach import SecretReach
from pandas_blowfish.explain.release.axis_labels import name_of, number_of
from pandas_blowfish.policy.describe import kept_of
from pandas_blowfish.policy.policy import Policy

WHOLE = {
    "full": "every two values stay indistinguishable",
    "public": "no pair is protected, everyone knows the value",
}


def secret_of(policy: Policy, name: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return the columns that share a column's secret, and the secret, as a threshold where it is one."""
    policy.domain[name]  # refuses what is not declared
    return next((own, secret) for own, secret in policy.reduced.secrets.items() if name in own)


def describe_promise(policy: Policy, own: tuple[str, ...]) -> str:
    """Return what a secret keeps indistinguishable, as the end of a sentence."""
    secret = policy.secrets[own]
    if secret["secret"] == "edges":
        many = len(secret["pairs"])
        return f"the {many:,} listed pair{'s stay' if many != 1 else ' stays'} indistinguishable"
    if secret["secret"] in WHOLE:
        return WHOLE[secret["secret"]]
    words = kept_of(secret, [policy.domain[name] for name in own])
    depth, end = 0, len(words)
    for place, letter in enumerate(words):  # what stands after a ";" outside brackets is not about pairs
        depth += (letter == "(") - (letter == ")")
        if letter == ";" and depth <= 0:
            end = place
            break
    return f"{words[:end]} stay indistinguishable"


def briefly(policy: Policy, own: tuple[str, ...]) -> str:
    """Return a secret in very few words."""
    secret = policy.secrets[own]
    few = {"full": "every value", "public": "public", "partition": "same group", "edges": "listed pairs"}
    few |= {"absolute_error": f"+-{secret.get('k')}", "relative_error": f"a factor {secret.get('c')}"}
    return few.get(secret["secret"]) or f"up to {theta_of(secret)} apart"


def theta_of(secret: Mapping[str, Any]) -> str:
    """Return the distance of a threshold as it is written."""
    try:
        return number_of(float(secret["theta"]))
    except ValueError:  # a span of time, or a fraction
        return str(secret["theta"])


def both(policy: Policy, names: list[str]) -> str:
    """Return what a picture of two columns is about."""
    one, two = (secret_of(policy, name)[0] for name in names)
    if one == two:
        return f"{', '.join(one)}: {describe_promise(policy, one)}"
    if policy.graph.moves == 1:
        return f"{names[0]} or {names[1]} may change in one step, not both"
    return f"{names[0]} and {names[1]} may both change in one step"


def note_of(policy: Policy, reach: SecretReach | None = None, *more: str) -> str:
    """Return what else matters: facts, presence, where steps begin, what is not shown."""
    found = ["between tables that agree with all public facts"] if policy.constraints else []
    found += ["'absent' is one step from every value"] if policy.presence else []
    if reach is not None:
        start = [
            f"{a.name} {name_of(reach.cells(axis)[code])}"
            for axis, (a, code) in enumerate(zip(reach.attributes, reach.origin, strict=True))
        ]
        found.append(f"steps from {', '.join(start)}")
        found += [] if reach.whole else ["a part of the domain"]
    return "; ".join([*found, *more])
