"""By how much an edge changes differences of candidates, against enumeration of the matrix."""

import random

import numpy as np
from oracle.definition import definition_edges

from pandas_blowfish.errors import BlowfishError
from pandas_blowfish.plan.ranks.sensitivity import range_sensitivity


def test_matches_enumeration(make_full_policy, make_filter):
    """Never less than the largest sum of ranges; the same where each group has two candidates."""
    tight = seen = 0
    for seed in range(120):
        draw = random.Random(seed)
        policy = make_full_policy(draw, draw.randint(1, 3), 4)
        names = draw.sample(policy.domain.columns, len(policy.domain.columns))
        scope = policy.plan.where(make_filter(draw, policy.domain)) if seed % 3 else policy.plan
        if len(names) > 1 and seed % 2:
            scope, names = scope.groupby(names[0]), names[1:]
        try:
            measured = scope.mode(names).measurement
        except BlowfishError:  # nothing is left to choose from
            continue
        among = measured.candidates
        edges = definition_edges(policy, measured.domain.columns)
        matrix = measured.matrix().toarray().T
        full = np.concatenate([matrix, np.zeros((1, matrix.shape[1]), dtype=int)])
        change = full[edges[:, 0]] - full[edges[:, 1]]
        ranges = [np.ptp(change[:, among.group_of == own], axis=1) for own in range(len(among.sizes))]
        worst = max(sum(ranges).tolist(), default=0)

        found = range_sensitivity(policy.graph.project(measured.domain.columns), among)

        assert found >= worst
        if (among.sizes > 1).all():
            assert found == worst
            tight += worst > 0
        seen += 1
    assert seen > 60
    assert tight > 30
