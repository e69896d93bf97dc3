"""Shared pieces of the tests: random policies over small columns, and where real data lie."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import pandas_blowfish as bf
from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.domain import Domain, from_dict

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of real datasets, or skip saying that it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data is absent: real datasets are not part of the project")
    return SHARED


def random_attribute(draw: random.Random, name: str, most: int) -> Attribute:
    """Return a small column of any kind."""
    kind = draw.choice(["integer", "binned", "float", "datetime", "bool", "category", "ranked", "listed"])
    size, nullable = draw.randint(1, most), draw.random() < 0.25
    if kind == "integer":
        spec = {"type": "integer", "min": draw.randint(-3, 3), "max": 0}
        spec["max"] = spec["min"] + size - 1
    elif kind == "binned":
        step = draw.randint(2, 3)
        spec = {"type": "integer", "min": 0, "max": size * step - draw.randint(1, step), "step": step}
    elif kind == "float":
        spec = {"type": "float", "min": 0, "max": f"{size * 0.1 - 0.05:.2f}", "step": "0.1"}
    elif kind == "datetime":
        day = f"2020-01-{size:02d}"
        spec = {"type": "datetime", "min": "2020-01-01", "max": day, "step": "1D"}
    elif kind == "bool":
        spec = {"type": "bool"}
    elif kind == "listed":
        spec = {"type": "integer", "values": draw.sample(range(12), size)}
    else:
        spec = {"type": "category", "values": list("abcdef"[:size]), "ordered": kind == "ranked"}
    return from_dict(name, {**spec, "nullable": nullable})


def random_secret(draw: random.Random, attribute: Attribute) -> dict[str, dict[str, object]]:
    """Return a secret of any kind that fits the column."""
    kinds = ["full", "partition", "public", "edges"] + ["threshold"] * (2 if attribute.ordered else 0)
    kind, missing = draw.choice(kinds), draw.choice([None, None, "public"])
    values = [_value(attribute, cell) for cell in range(attribute.cells)]
    if kind == "threshold":
        if attribute.kind == "datetime":
            return bf.threshold(f"{draw.randint(1, 60)}h", missing=missing)
        whole = attribute.kind in ("category", "bool") or draw.random() < 0.5
        theta = draw.randint(1, 4) if whole else draw.choice(["0.05", "0.1", "0.25", "1.5"])
        return bf.threshold(theta, missing=missing)
    if kind == "partition":
        groups: dict[str, list[object]] = {}
        for value in values:
            groups.setdefault(draw.choice("xyz"), []).append(value)
        return bf.partition(groups, missing=missing)
    if kind == "edges":
        pairs = [(a, b) for i, a in enumerate(values) for b in values[:i] if draw.random() < 0.4]
        return bf.edges(pairs, missing=missing)
    return bf.public() if kind == "public" else bf.full(missing=missing)


def _value(attribute: Attribute, cell: int) -> object:
    label = attribute.labels()[cell]
    return getattr(label, "left", label)


def random_policy(draw: random.Random, columns: int, most: int = 4) -> bf.Policy:
    """Return a policy over one to three small columns of any kind."""
    attributes = [random_attribute(draw, name, most) for name in "uvw"[:columns]]
    secrets = {attribute.name: random_secret(draw, attribute) for attribute in attributes}
    return bf.Policy(Domain(tuple(attributes)), secrets=secrets)


def random_joint(draw: random.Random, attributes: list[Attribute]) -> dict[str, dict[str, object]]:
    """Return a secret of any kind that several columns can share."""
    spaced = all(isinstance(attribute, Grid) and attribute.kind != "datetime" for attribute in attributes)
    metric = all(attribute.ordered and attribute.kind != "datetime" for attribute in attributes)
    kinds = ["full", "public", "edges"] + ["threshold"] * 4 * metric + ["partition"] * 2 * spaced
    kind, missing = draw.choice(kinds), draw.choice([None, None, "public"])
    names = [attribute.name for attribute in attributes]
    if kind == "threshold":
        scale = {name: draw.choice([1, 2, "0.5"]) for name in names if draw.random() < 0.5} or None
        theta = draw.choice(["0.05", "0.15", "0.5", 1, 2, "2.5", 4])
        return bf.threshold(theta, metric=draw.choice(["l1", "l2", "linf"]), scale=scale, missing=missing)
    if kind == "partition":
        widths = {a.name: float(a.step * draw.randint(1, 3)) for a in attributes if isinstance(a, Grid)}
        return bf.partition(widths, missing=missing)
    if kind == "edges":
        joint = list(itertools.product(*([_value(a, cell) for cell in range(a.cells)] for a in attributes)))
        pairs = [draw.sample(joint, 2) for _ in range(draw.randint(1, 5))] if len(joint) > 1 else []
        return bf.edges(pairs, missing=missing)
    return bf.public() if kind == "public" else bf.full(missing=missing)


def random_full_policy(draw: random.Random, columns: int, most: int = 4) -> bf.Policy:
    """Return a policy with any secrets, joint ones too, any neighbours, perhaps presence."""
    attributes = [random_attribute(draw, name, most) for name in "uvw"[:columns]]
    secrets: dict[object, object] = {}
    rest = list(attributes)
    if columns > 1 and draw.random() < 0.5:
        block = draw.sample(attributes, draw.randint(2, columns))
        secrets[tuple(attribute.name for attribute in block)] = random_joint(draw, block)
        rest = [attribute for attribute in attributes if attribute not in block]
    secrets |= {attribute.name: random_secret(draw, attribute) for attribute in rest}
    neighbors = draw.choice(["record", "record", "attribute", 1, 2])
    domain = Domain(tuple(attributes))
    return bf.Policy(domain, secrets=secrets, neighbors=neighbors, presence=draw.random() < 0.2)


def random_filter(draw: random.Random, domain: Domain) -> str:
    """Return the text of a condition on some columns, on cell edges."""
    parts = [_comparison(draw, draw.choice(domain.attributes)) for _ in range(draw.randint(1, 3))]
    text = parts[0]
    for part in parts[1:]:
        text = f"({text}) {draw.choice(['and', 'or'])} {part}"
    return f"not ({text})" if draw.random() < 0.2 else text


def _comparison(draw: random.Random, attribute: Attribute) -> str:
    value = _value(attribute, draw.randrange(attribute.cells))
    shown = repr(str(value)) if attribute.kind in ("datetime", "category") else repr(_bare(value))
    if attribute.kind in ("category", "bool") and not getattr(attribute, "ranked", False):
        return _equality(draw, attribute.name, shown)
    if isinstance(attribute, Grid) and not attribute.single:
        return f"{attribute.name} {draw.choice(['<', '>='])} {shown}"
    return f"{attribute.name} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {shown}"


def _equality(draw: random.Random, name: str, shown: str) -> str:
    return draw.choice(
        [f"{name} == {shown}", f"{name} != {shown}", f"{name} in [{shown}]", f"{name} not in [{shown}]"]
    )


def _bare(value: object) -> object:
    return value.item() if hasattr(value, "item") else value


def random_bins(draw: random.Random, attribute: Attribute) -> object:
    """Return None, a number of bins, or groups of some values."""
    choice = draw.random()
    if choice < 0.4:
        return None
    if choice < 0.7 and attribute.ordered:
        return draw.randint(1, attribute.cells)
    groups: dict[str, list[object]] = {}
    for cell in range(attribute.cells):
        if draw.random() < 0.8 or not groups:
            groups.setdefault(draw.choice("pqr"), []).append(_value(attribute, cell))
    return groups


@pytest.fixture
def make_policy() -> Callable[..., bf.Policy]:
    """Return the maker of random policies."""
    return random_policy


@pytest.fixture
def make_bins() -> Callable[..., object]:
    """Return the maker of random bins."""
    return random_bins


@pytest.fixture
def make_full_policy() -> Callable[..., bf.Policy]:
    """Return the maker of random policies with every feature."""
    return random_full_policy


@pytest.fixture
def make_filter() -> Callable[..., str]:
    """Return the maker of random filters."""
    return random_filter
