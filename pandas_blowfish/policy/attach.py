"""A policy carried by a schema, in its metadata. Never sees rows."""

from __future__ import annotations

import copy
from typing import Any

from pandas_blowfish.errors import ArgumentError, SchemaError
from pandas_blowfish.policy.agree import require_agreement
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.schema import is_schema


def attach(schema: Any, policy: Policy) -> Any:
    """Return a copy of a pandera schema that carries a policy in its metadata.

    `bf.Policy(schema)` and `protect(schema, ...)` read it back, and compare it with what the schema says
    then: the same cells, and in the columns' metadata no pair of values that the policy does not protect.
    So does `attach` itself. A column without blowfish metadata says nothing of its secret.

    Args:
        schema: A pandera `DataFrameSchema` or `DataFrameModel`.
        policy: A policy of this schema; one that protects more than the columns' metadata is one too.

    Raises:
        AttachedPolicyError: They differ; the message shows both sides, column by column.
    """
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
