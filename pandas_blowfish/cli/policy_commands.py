"""draft, check, lint, plan: the commands that spend nothing. Hand rows on untouched."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pandas_blowfish.cli import exits, outputs
from pandas_blowfish.cli.phrases import in_shell
from pandas_blowfish.cli.screen import Screen, format_table
from pandas_blowfish.count.readers import files
from pandas_blowfish.errors import ArgumentError, BlowfishError
from pandas_blowfish.kernel.measure import require_drawable
from pandas_blowfish.plan.plan import Plan
from pandas_blowfish.policy import schema
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.serialise import skeleton
from pandas_blowfish.queries.call.call_reader import parse_call
from pandas_blowfish.queries.frames import curate

GUESSED = "CSV: types guessed from the first lines"
PRIVATE = "these numbers are exact and private: for the curator, not for logs"


def read_policy(path: Any) -> Policy:
    """Return the policy in a YAML file; whatever is wrong in it is an error of the policy."""
    with open(path, "rb"):  # raises where there is no file
        pass
    with exits.fail_with(exits.POLICY):
        return Policy.from_yaml(Path(path))


def draft(given: Namespace, screen: Screen) -> int:
    """Write the schema to fill in, as Python or YAML."""
    if given.out is not None:
        outputs.require_unused([Path(given.out)], {"the rows": [given.data]})
    types = files.column_types(given.data, separator=given.sep, encoding=given.encoding, na=given.na or ())
    as_yaml = given.yaml or (given.out or "").endswith((".yaml", ".yml"))
    text = skeleton(types) if as_yaml else schema.draft(types)
    guessed = files.is_text(given.data)
    text = f"# {GUESSED}: check each.\n{text}" if guessed else text
    if given.out is None:
        screen.say(text.rstrip("\n"))
    else:
        try:
            with open(given.out, "w" if given.force else "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise ArgumentError(
                "out", f"{given.out!r} is there already", fix="--force overwrites it."
            ) from None
        screen.say(f"{given.out}: state each `...`; bounds and values are never read from rows")
        if guessed:
            screen.say(GUESSED)
    form = "yaml" if as_yaml else "python"
    screen.finish({"form": form, "draft": text, "out": given.out, "types_guessed": guessed})
    return exits.OK


def check(given: Namespace, screen: Screen) -> int:
    """Count rows outside the declared domain; exit with 1 if there are any."""
    if given.unit is not None and given.quiet:
        raise exits.UsageError("--unit with --quiet", "what --unit shows are numbers: leave one of them out.")
    policy = read_policy(given.policy)
    options: dict[str, Any] = {"separator": given.sep, "encoding": given.encoding, "na": given.na or ()}
    with screen.bar("reading") as tick:
        table = files.read_table(given.data, policy.domain, given.unit, tick=tick, **options)
    if given.unit is not None:
        return _show_units(curate.check(table, policy, unit=given.unit), screen)
    found = curate.check(table, policy, outside=given.outside)
    found["status"] = [in_shell(status) for status in found["status"]]
    fine = bool((found["status"] == "ok").all())
    if given.quiet:
        found = found[["status"]].copy()
        facts = ~found.index.isin(policy.domain.columns) & (found["status"] != "ok")
        found.loc[facts, "status"] = "the rows do not agree with this fact"  # the words hold counts
    else:
        screen.note(PRIVATE)
    screen.say(format_table(found))
    screen.finish({"ok": fine, "private": not given.quiet, "check": found})
    return exits.OK if fine else exits.REFUSED


def _show_units(found: pd.DataFrame, screen: Screen) -> int:
    """Show how many rows units have, and what each limit would drop: nothing of it is wrong."""
    screen.note(PRIVATE)
    shown = found.assign(**{"share dropped": [f"{share:.3f}" for share in found["share dropped"]]})
    screen.say(format_table(shown))
    screen.finish({"ok": True, "private": True, "check": found})
    return exits.OK


def lint(given: Namespace, screen: Screen) -> int:
    """List what a policy leaves open."""
    policy = read_policy(given.policy)
    found = policy.lint()
    accepted = set(given.accept)
    for each in found:
        kind = f"{each.kind}, accepted" if each.kind in accepted else each.kind
        screen.say(f"{', '.join(each.columns) or 'table'} [{kind}]: {each.what}")
        screen.say(f"  fix: {each.yaml or each.fix}" + (f"\n  in Python: {each.fix}" if each.yaml else ""))
    if not found:
        screen.say("nothing found")
    listed = [
        {"kind": e.kind, "columns": e.columns, "what": e.what, "fix": e.fix, "yaml": e.yaml or None}
        | {"accepted": e.kind in accepted}
        for e in found
    ]
    screen.finish({"policy": policy.fingerprint, "findings": listed})
    left = [each for each in found if each.kind not in accepted]
    return exits.REFUSED if left and given.strict else exits.OK


def plan(given: Namespace, screen: Screen) -> int:
    """Plan a query without data."""
    call, policy = parse_call(given.query), read_policy(given.policy)
    call = call.but(epsilon=given.epsilon) if given.epsilon is not None else call
    planner = policy.plan
    if given.rows is not None:
        if given.rows < 1:
            raise ArgumentError("rows", f"{given.rows} rows", allowed="a whole number from 1")
        if policy.rows_public:
            planner = replace(planner, rows=given.rows)
        elif call.verb == "kmeans" and "rows" not in call.arguments:
            call = call.but(rows=given.rows)
    made = call.on(planner)
    if not isinstance(made, Plan):
        screen.say(made)
        screen.note("its guarantee is weaker than the policy's: `release` refuses it, Python does not")
        screen.finish({"query": made.call, "strategy": made.strategy, "guarantee": list(made.guarantee)})
        return exits.OK
    if given.rmse is not None:
        made = made.at(made.epsilon_for(rmse=given.rmse))
    screen.say(made)
    found = describe(made)
    if not found["drawable"]:
        screen.note("such noise is too large to be drawn: `release` refuses this; ask with a larger epsilon")
    if given.candidates:
        screen.say()
        screen.say(format_table(made.candidates))
        found["candidates"] = made.candidates
    screen.finish(found)
    return exits.OK


def describe(made: Plan) -> dict[str, Any]:
    """Return a plan as plain data."""
    facts = made.facts()
    return {
        "query": made.call,
        "verb": made.query["verb"],
        "strategy": made.strategy,
        "epsilon": made.epsilon,
        "cost": made.cost,
        "sensitivity": made.sensitivity,
        "scale": made.scale,
        "answers": len(made.index),
        "mse": made.mse,
        "rmse": made.mse**0.5,
        "distortion": made.distortion,
        "columns": list(made.domain.columns),
        "policy": made.policy.fingerprint,
        "words": {key: value for key, value in facts.items() if key != "query"},
        "proof": made.proof,
        "drawable": _is_drawable(made),
    }


def _is_drawable(made: Plan) -> bool:
    """Return whether a release could draw the noise of a plan."""
    try:
        require_drawable(made)
    except BlowfishError:
        return False
    return True
