"""Random policies over small columns: secrets, filters, bins, boxes and public facts of every kind."""

from __future__ import annotations

import itertools
import random
from functools import lru_cache

import numpy as np

import pandas_blowfish as bf
from pandas_blowfish.policy.attribute import Attribute, Grid
from pandas_blowfish.policy.domain import Domain, from_dict
from pandas_blowfish.policy.expression import truth


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
    values = [value_of(attribute, cell) for cell in range(attribute.cells)]
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


def value_of(attribute: Attribute, cell: int) -> object:
    """Return the value of a cell, of a bin its first."""
    return values_of(attribute)[cell]


@lru_cache(maxsize=64)
def values_of(attribute: Attribute) -> list[object]:
    """Return the values of the cells, of bins the first of each; an index is slow to make again a cell."""
    labels = attribute.labels()
    return [getattr(label, "left", label) for label in (labels[cell] for cell in range(attribute.cells))]


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
        joint = list(itertools.product(*([value_of(a, cell) for cell in range(a.cells)] for a in attributes)))
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
    value = value_of(attribute, draw.randrange(attribute.cells))
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
            groups.setdefault(draw.choice("pqr"), []).append(value_of(attribute, cell))
    return groups


def random_boxes(
    draw: random.Random, attributes: list[Attribute], many: int
) -> list[tuple[tuple[object, object], ...]]:
    """Return boxes of cells as the values that ask for them."""
    boxes = []
    for _ in range(many):
        box = []
        for attribute in attributes:
            low, high = sorted((draw.randrange(attribute.cells), draw.randrange(attribute.cells)))
            labels = attribute.labels()
            ends = [getattr(labels[low], "left", labels[low]), getattr(labels[high], "right", labels[high])]
            ends = [end.item() if hasattr(end, "item") else end for end in ends]
            box.append((None if low == 0 else ends[0], None if high == attribute.cells - 1 else ends[1]))
        boxes.append(tuple(box))
    return boxes


def random_facts(
    draw: random.Random, domain: Domain, counts: np.ndarray, many: int
) -> list[bf.Count | bf.Marginal | bf.Box]:
    """Return public facts of every kind with the answers of a table: one count a cell, in C order."""
    table = counts.reshape(domain.shape)
    whole = bf.Policy(domain)
    found: list[bf.Count | bf.Marginal | bf.Box] = []
    ordered = [attribute for attribute in domain if attribute.ordered]
    while len(found) < many:
        kind = draw.choice(["count", "count", "marginal", "box"])
        if kind == "marginal":
            axes = sorted(draw.sample(range(len(domain.shape)), draw.randint(1, len(domain.shape))))
            rest = tuple(axis for axis in range(len(domain.shape)) if axis not in axes)
            names = [domain.columns[axis] for axis in axes]
            found.append(bf.Marginal(*names, answer=table.sum(axis=rest).tolist()))
            continue
        if kind == "count":
            fact: bf.Count | bf.Box = bf.Count(random_filter(draw, domain))
        elif ordered:
            some = draw.sample(ordered, draw.randint(1, len(ordered)))
            sides = zip(some, random_boxes(draw, some, 1)[0], strict=True)
            fact = bf.Box(**{attribute.name: pair for attribute, pair in sides})
        else:
            continue
        answer = int(counts[fact_cells(bf.Policy(domain, constraints=[fact]))[0] > 0].sum())
        kept = fact.to_dict() | {"answer": answer}
        found.append(bf.Policy.from_dict({**whole.to_dict(), "constraints": [kept]}).constraints[0])
    return found


def fact_cells(policy: bf.Policy) -> np.ndarray:
    """Return known counts x cells of the domain, from the words of the facts alone."""
    shape, names = policy.domain.shape, list(policy.domain.columns)
    codes = np.array(np.unravel_index(np.arange(policy.domain.size), shape))
    rows = []
    for fact in policy.facts:
        if fact.condition is not None:
            each = [np.arange(size) for size in shape]
            rows.append(np.broadcast_to(truth(fact.condition, names, each), shape).reshape(1, -1))
            continue
        cell = np.ravel_multi_index([codes[names.index(name)] for name in fact.columns], fact.shape)
        rows.append(cell[None, :] == np.arange(fact.counts)[:, None])
    return np.concatenate(rows).astype(np.int64)


def random_numbers(draw: random.Random, name: str, most: int) -> Attribute:
    """Return a small column of numbers, listed ones by rising value."""
    size, nullable = draw.randint(2, most), draw.random() < 0.2
    kind = draw.choice(["integer", "integer", "binned", "float", "listed"])
    if kind == "integer":
        low = draw.randint(-3, 12)
        spec = {"type": "integer", "min": low, "max": low + size - 1}
    elif kind == "binned":
        step = draw.randint(2, 3)
        spec = {"type": "integer", "min": 0, "max": size * step - draw.randint(1, step), "step": step}
    elif kind == "float":
        spec = {"type": "float", "min": 0, "max": f"{size * 0.1 - 0.05:.2f}", "step": "0.1"}
    else:
        spec = {"type": "integer", "values": sorted(draw.sample(range(20), size))}
    return from_dict(name, {**spec, "nullable": nullable})
