"""What the corpus remembers of a plan, a release and a ledger, as plain data that can be compared."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import pandas_blowfish as bf

FEW = 6  # scales that are spelt out
SHORT = 300  # characters of a form that is spelt out
TOLERANCE = 1e-9
PASSING = ("time", "hash", "version")  # of a receipt: they differ from one run to the next
PROSE = ("price_rule", "guarantee", "weaker_release")  # of a receipt: sentences, which may be put otherwise
ADDED = (  # to receipts since the corpus was recorded
    *("cell_bounds", "sensitivity_in_units", "scale_in_units"),
    *("table_answers", "synopsis", "group_bins"),
)
RENAMED = {  # what the corpus was recorded with: where a receipt states it today
    "apart": ("weaker_guarantee",),
    "beside": ("weaker_release",),
    "of": ("values_are",),
    "scale_low": ("technical", "smallest_scale"),
    "shift_low": ("technical", "lowest_shift"),
    "shift_high": ("technical", "highest_shift"),
    "at_most": ("technical", "largest_answer"),
    "moved": ("technical", "record_moves"),
    "rule": ("technical", "price_rule"),
    "declared": ("technical", "declared_ends"),
    "least": ("technical", "smallest_value"),
    "most": ("technical", "largest_value"),
    "asked": ("technical", "total_columns"),
    "by_column": ("technical", "labelled_by_column"),
    "units": ("technical", "column_units"),
    "origins": ("technical", "column_origins"),
    "scales": ("technical", "column_scales"),
    "count_scales": ("technical", "count_scales"),
    "rounding": ("technical", "column_rounding"),
    "lightest": ("technical", "smallest_weights"),
    "counted": ("technical", "public_counts"),
    "groups": ("technical", "group_domains"),
}


def describe_plan(plan: Any) -> dict[str, Any]:
    """Return a plan as plain data: strings and whole numbers are exact, floats are about right."""
    found = {
        "strategy": plan.strategy,
        "sensitivity": str(plan.sensitivity),
        "epsilon": str(plan.epsilon),
        "cost": str(plan.cost),
        "scale": str(plan.scale),
        "mse": number(plan.mse),
        "std": sketch(plan.std),
        "domain": [list(plan.domain.columns), _tried(lambda: list(plan.domain.shape))],
        "index": _labels(plan.index),
        "loss": _tried(lambda: _loss(plan.privacy_loss())),
    }
    if not hasattr(plan, "measurement"):  # under a weaker promise
        return {**found, "proof_id": plan.proof_id}
    return found | {
        "name": plan.measurement.name,
        "proof_id": plan.measurement.proof_id,
        "form": _form(plan.measurement.form),
        "scales": _tried(lambda: _scales(plan.scales)),
        "matrix": _tried(lambda: _matrix(plan.matrix())),
        **({} if plan.distortion is None else {"distortion": number(plan.distortion)}),
    }


def describe_candidates(plan: Any) -> list[list[Any]]:
    """Return every strategy that a plan considered, best first."""
    table = plan.candidates
    return [[row.strategy, str(row.sensitivity), number(row.mse)] for row in table.itertuples()]


def describe_release(result: Any) -> dict[str, Any]:
    """Return a released frame, or several, with what its receipt says whenever it is made."""
    if isinstance(result, dict):
        return {" x ".join(key): describe_release(frame) for key, frame in result.items()}
    return _without_rough(
        {
            "index": _labels(result.index),
            "values": values_of(result),
            "receipt": describe_receipt(receipt_of(result)),
        }
    )


def _without_rough(release: dict[str, Any]) -> dict[str, Any]:
    """Leave out the errors of quantiles: they are worked out anew, and better, from what was released."""
    if not release["receipt"]["query"].rpartition(").")[2].startswith("quantile("):
        return release
    return {**release, "values": {key: each for key, each in release["values"].items() if key != "std"}}


def describe_receipt(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a receipt states whenever the release is made; of sentences whether there are any."""
    stated = {key: bool(value) if key in PROSE else plain(value) for key, value in receipt.items()}
    inner = receipt.get("technical", {})
    if inner:
        new = (*ADDED, "covariance") if receipt.get("verb") == "marginal" else ADDED
        inner = {key: value for key, value in inner.items() if key not in new}
        stated["technical"] = {k: bool(v) if k in PROSE else plain(v) for k, v in inner.items()}
    return {key: value for key, value in stated.items() if key not in (*PASSING, *ADDED)}


def in_todays_words(release: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded release, or several, with its receipt's parts where receipts state them today.

    The verb of logarithms was left out, for it was wrong: it is the one that the recorded query begins with.
    Several marginals were signed.
    """
    if "receipt" not in release:
        return {key: in_todays_words(each) for key, each in release.items()}
    receipt: dict[str, Any] = {}
    for key, value in release["receipt"].items():
        *outer, name = RENAMED.get(key, (key,))
        (receipt.setdefault(outer[0], {}) if outer else receipt)[name] = value
    receipt.setdefault("verb", re.search(r"(\w+)\([^()]*\)$", receipt["query"])[1])  # type: ignore[index]
    if "table" in receipt and receipt["post"] is True:
        receipt["post"] = "signed"
    return _without_rough({**release, "receipt": receipt})


def values_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a frame as lists of numbers, truth values and texts."""
    return {str(column): [_value(each) for each in frame[column]] for column in frame.columns}


def receipt_of(result: Any) -> dict[str, Any]:
    """Return the receipt of a released frame, or of the first of several."""
    frame = next(iter(result.values())) if isinstance(result, dict) else result
    return dict(frame.attrs["blowfish"])


def describe_entries(ledger: bf.Ledger) -> list[dict[str, Any]]:
    """Return the entries of a ledger; who charged, and pools, are not in those that were recorded."""
    entries = ledger.entries.drop(columns=["user", "analyst", "pool"])
    return [plain(row) for row in entries.to_dict("records")]


def describe_budget(budget: bf.Budget) -> dict[str, Any]:
    """Return a budget."""
    sums = {"total": str(budget.total), "spent": str(budget.spent), "remaining": str(budget.remaining)}
    return {**sums, "closed": budget.closed is not None}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; fractions are texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Fraction):
        return str(value)
    return _value(value) if isinstance(value, (float, np.generic)) else value


def differences(found: Any, stored: Any, at: str = "", tolerance: float = TOLERANCE) -> list[str]:
    """Return where two plain values differ; floats may be off by rounding."""
    if isinstance(found, dict) and isinstance(stored, dict):
        keys = [*stored, *(key for key in found if key not in stored)]
        missing = [key for key in keys if (key in found) != (key in stored)]
        return [f"{at}.{key} is in one of them alone" for key in missing] + [
            line
            for key in keys
            if key not in missing
            for line in differences(found[key], stored[key], f"{at}.{key}", tolerance)
        ]
    if isinstance(found, list) and isinstance(stored, list) and len(found) == len(stored):
        pairs = enumerate(zip(found, stored, strict=True))
        return [line for place, pair in pairs for line in differences(*pair, f"{at}[{place}]", tolerance)]
    if isinstance(found, float) and isinstance(stored, float):
        same = math.isclose(found, stored, rel_tol=tolerance, abs_tol=tolerance)
    else:
        same = type(found) is type(stored) and found == stored
    return [] if same else [f"{at}: {found!r}, and it was {stored!r}"]


def number(value: Any) -> float | str:
    """Return a float, or the name of one that JSON has not."""
    return float(value) if math.isfinite(value) else str(float(value))


def sketch(values: Iterable[float]) -> list[Any]:
    """Return a few sums that tell lists of floats apart, and do not mind rounding."""
    array = np.asarray(values, dtype=float)
    places = np.arange(1, array.size + 1) / max(array.size, 1)
    sums = [array.sum(), (array**2).sum(), (array * places).sum(), array.max(initial=0.0)]
    return [array.size, *map(number, sums)]


def digest(text: str | bytes) -> str:
    """Return the beginning of a text's sha256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:24]


def _tried(make: Callable[[], Any]) -> Any:
    """Return what a part of a plan is, or the name of the error that says why it has none."""
    try:
        return make()
    except bf.BlowfishError as error:
        return type(error).__name__


def _loss(loss: Any) -> str | float:
    return str(loss) if isinstance(loss, (Fraction, int)) else number(loss)


def _form(form: Mapping[str, Any]) -> Any:
    rounded = _rounded(form)
    text = json.dumps(rounded, sort_keys=True, separators=(",", ":"))
    return rounded if len(text) <= SHORT else digest(text)


def _rounded(value: Any) -> Any:
    """Return plain data whose floats have as many digits as are sure."""
    if isinstance(value, Mapping):
        return {str(key): _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return f"{0.0 if abs(value) < TOLERANCE else float(value):.8g}"
    return value.item() if isinstance(value, np.generic) else value


def _scales(scales: Any) -> list[Any]:
    """Return how many measured rows there are, their distinct scales, and a digest of all in order."""
    texts = [str(scale) for scale in scales]
    distinct = sorted(set(texts), key=Fraction)
    return [len(texts), distinct if len(distinct) <= FEW else len(distinct), digest(",".join(texts))]


def _matrix(matrix: Any) -> list[Any]:
    """Return the shape of what is measured, and a digest of its entries, row by row."""
    found = matrix.tocsr()
    found.sum_duplicates()
    found.eliminate_zeros()
    entries = found.tocoo()
    order = np.lexsort((entries.col, entries.row))
    parts = (entries.row[order], entries.col[order], entries.data[order])
    texts = [
        " ".join(_rounded(part.tolist()) if part.dtype.kind == "f" else map(str, part.tolist()))
        for part in parts
    ]
    return [*map(int, found.shape), int(found.nnz), digest("|".join(texts))]


def _labels(index: pd.Index[Any]) -> list[Any]:
    return [
        len(index),
        [None if name is None else str(name) for name in index.names],
        digest(repr(list(index))),
    ]


def _value(value: Any) -> Any:
    """Return one cell of a frame: a finite number, a truth value, or text."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return number(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return value if value is None else str(value)
