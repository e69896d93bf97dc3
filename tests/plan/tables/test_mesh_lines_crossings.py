"""Crossings of lines between cells, against enumeration of the policy's edges."""

import random

import numpy as np
import pytest
from oracle.definition import definition_edges

import pandas_blowfish as bf
from pandas_blowfish.plan.tables.mesh_lines import crossings
from pandas_blowfish.policy.domain import Domain, from_dict, integers


def random_boxes(draw, sizes, many):
    """Return boxes of integers as bounds."""
    pairs = [[sorted((draw.randrange(n), draw.randrange(n))) for n in sizes] for _ in range(many)]
    return [tuple(tuple(pair) for pair in box) for box in pairs]


def random_policy(draw):
    """Return a policy over two integer columns, perhaps with a third, with any secrets."""
    sizes = draw.randint(2, 5), draw.randint(2, 5)
    attributes = [integers("a", 0, sizes[0] - 1), integers("b", 0, sizes[1] - 1)]
    if draw.random() < 0.3:  # gaps: neighbours by value, not by place
        attributes[0] = from_dict("a", {"type": "integer", "values": sorted(draw.sample(range(9), sizes[0]))})
    secrets = {}
    if draw.random() < 0.6:
        theta = draw.choice([1, 2, 3])
        secrets["a", "b"] = draw.choice(
            [
                bf.threshold(theta, metric=draw.choice(["l1", "l2", "linf"])),
                bf.full(),
                bf.edges(
                    [(_end(draw, attributes), _end(draw, attributes)) for _ in range(draw.randint(1, 4))]
                ),
            ]
        )
    else:
        for attribute in attributes:
            values = [int(value) for value in attribute.labels()]
            groups = {}
            for value in values:
                groups.setdefault(draw.choice("xy"), []).append(value)
            secrets[attribute.name] = draw.choice(
                [bf.threshold(draw.choice([1, 2, 4])), bf.full(), bf.public(), bf.partition(groups)]
            )
    if draw.random() < 0.4:
        attributes.append(from_dict("r", {"type": "category", "values": ["p", "q"]}))
        secrets["r"] = draw.choice([bf.public(), bf.public(), bf.full()])
    neighbors = draw.choice(["record", "attribute", 2])
    return bf.Policy(Domain(tuple(attributes)), secrets=secrets, neighbors=neighbors)


def _end(draw, attributes):
    return tuple(int(draw.choice(list(attribute.labels()))) for attribute in attributes)


@pytest.mark.parametrize("chunk", range(6))
def test_matches_enumeration(chunk):
    """Each edge crosses no more lines than some pair says, open ones alone; None where edges do more."""
    kinds = {"some": 0, "none": 0}
    for number in range(30):
        draw = random.Random(chunk * 30 + number)
        policy = random_policy(draw)
        values = [[int(v) for v in policy.domain[name].labels()] for name in "ab"]
        boxes = random_boxes(draw, [len(each) for each in values], draw.randint(1, 4))
        bounds = [
            tuple((values[n][low], values[n][high]) for n, (low, high) in enumerate(box)) for box in boxes
        ]
        scope = policy.plan
        if "r" in policy.domain.columns:
            scope = scope.groupby("r")
        question = scope.range(["a", "b"], bounds).asked[0]
        columns = question.domain.columns
        edges = definition_edges(policy, columns)
        codes = [np.array(np.unravel_index(end, question.domain.shape)) for end in edges.T]
        moved = codes[0] != codes[1]
        other = moved[[n for n, name in enumerate(columns) if name == "r"]].any()
        places = [columns.index(name) for name in "ab"]
        atoms = [question.atoms[place] for place in places]
        crossed = [
            np.abs(atom[codes[0][place]] - atom[codes[1][place]])
            for atom, place in zip(atoms, places, strict=True)
        ]

        found = crossings(question, policy.graph.project(columns))

        if other or not (np.array(crossed) > 0).any():
            assert found is None
            kinds["none"] += 1
            continue
        assert found is not None
        kinds["some"] += 1
        pairs = np.array(found.most)
        for one, two in zip(*crossed, strict=True):
            assert ((one <= pairs[:, 0]) & (two <= pairs[:, 1])).any()
        for axis, (atom, place) in enumerate(zip(atoms, places, strict=True)):
            ends = np.sort(np.array([atom[codes[0][place]], atom[codes[1][place]]]), axis=0)
            for low, high in ends.T:
                assert found.open[axis][low:high].all()
            assert len(found.open[axis]) == atom.max()
        assert max(pairs[:, 0]) == max(crossed[0])
        assert max(pairs[:, 1]) == max(crossed[1])
    assert min(kinds.values()) > 1


@pytest.mark.parametrize(("options", "scope"), [({"presence": True}, None), ({}, "a < 2"), ({}, "a != 1")])
def test_none_where_rows_can_leave(options, scope):
    """Presence, or a filter that an edge crosses."""
    domain = Domain((integers("a", 0, 3), integers("b", 0, 3)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(1)}, **options)
    planner = policy.plan.where(scope) if scope else policy.plan
    question = planner.range(["a", "b"], [((0, 1), (1, 2))]).asked[0]

    assert crossings(question, question.graph(policy)) is None


def test_none_with_missing_values_or_other_numbers_of_columns():
    """Missing values lead away; boxes of three columns have no lines of two kinds."""
    free = from_dict("a", {"type": "integer", "min": 0, "max": 3, "nullable": True})
    policy = bf.Policy(Domain((free, integers("b", 0, 3), integers("c", 0, 3))))
    for names in (["a", "b"], ["b", "c", "a"]):
        question = policy.plan.range(names, [((0, 1),) * len(names)]).asked[0]

        assert crossings(question, question.graph(policy)) is None


def test_a_ball_of_a_million_cells():
    """Lines 250 cells apart: what one column crosses more, the other one must cross less."""
    domain = Domain((integers("a", 0, 999), integers("b", 0, 999)))
    policy = bf.Policy(domain, secrets={("a", "b"): bf.threshold(500)})
    quarters = [(start, start + 249) for start in range(0, 1000, 250)]
    question = policy.plan.range(["a", "b"], [(each, each) for each in quarters]).asked[0]

    found = crossings(question, question.graph(policy))

    assert found.most == ((1, 2), (2, 1))
    assert all(mask.tolist() == [True] * 3 for mask in found.open)
