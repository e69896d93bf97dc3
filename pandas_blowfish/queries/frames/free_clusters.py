"""Other numbers of clusters, of what a released `kmeans` measured, free. Sees released frames only."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_blowfish.books.receipt import reading
from pandas_blowfish.errors import (
    ArgumentError,
    FrameError,
    ReceiptError,
    SchemaError,
    UndeclaredColumnError,
)
from pandas_blowfish.plan.choose import reread
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.call_reader import parse_call
from pandas_blowfish.queries.call.planner import Planner
from pandas_blowfish.queries.kmeans import check_clusters, kmeans_frame
from pandas_blowfish.release import Facts, facts_of


def kmeans_again(release: pd.DataFrame, k: Any) -> pd.DataFrame:
    """Return k clusters of the synopsis that a release states, by the same steps as a `kmeans` does."""
    facts, many = facts_of(release), check_clusters(k)
    if facts.get("verb") != "kmeans":
        raise FrameError("only a kmeans has clusters", fix="release one: df.blowfish.kmeans(...).")
    if "synopsis" not in facts:
        problem = (
            "its receipt does not state what was measured, which is too much, or depends on public facts"
        )
        raise FrameError(problem, fix="release kmeans with this k.")
    with reading():
        plan, values = _measured(facts)
        found, rest = plan.measurement.settle(values)  # type: ignore[attr-defined]
        planned, most = found.space.k, found.most_clusters(rest)
        if many > most:
            raise ArgumentError("k", f"{many} clusters", allowed=f"1 to {most:,}, as it was measured")
        asked: Any = plan.asked[plan.way]
        question = replace(asked, space=replace(asked.space, k=many))
        plan = replace(plan, measurement=found.with_clusters(many), asked=(question,), way=0)
        solved = plan.measurement.solve(rest, post=facts["post"])
    text = f"kmeans(k={many}), of what was measured for k={planned}"
    return kmeans_frame(plan, solved, {**facts, "derived": text, "answers": len(plan.index)})


def _measured(facts: Facts) -> tuple[Plan, Any]:
    """Return what was measured, and its noisy values, refusing a receipt whose parts do not agree."""
    stated = facts["synopsis"]
    try:
        policy = Policy.from_dict(json.loads(stated["policy"]))
        if policy.fingerprint != facts["policy"]:
            raise ReceiptError("`synopsis` is of another policy")
        plan: Any = parse_call(facts["query"]).on(Planner(policy, rows=stated["known"]))
        plan = reread(plan, stated["strategy"], int(stated["way"]), stated["form"])
    except (SchemaError, ArgumentError, UndeclaredColumnError):
        raise ReceiptError("`synopsis` cannot be read") from None
    values = np.array(stated["values"], dtype=np.int64)
    if plan.values not in (None, len(values)) or str(plan.scale) != facts["scale"]:
        raise ReceiptError("`synopsis` is not what was released")
    return plan, values
