"""A policy carried by a schema, in its metadata. Never sees rows."""

from __future__ import annotations

import copy
from typing import Any

from pandas_blowfish.errors import ArgumentError, SchemaError
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.schema import is_schema


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
