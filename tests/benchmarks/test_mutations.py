"""A handful of the faults of the mutation run: releases that lose too much are refused."""

from __future__ import annotations

import mutations
import pytest
from mutation_cases import CASES
from mutation_faults import FAULTS
from mutation_patches import injected

from pandas_blowfish.plan.tables.identity import Identity

BY_NAME = {fault.name: fault for fault in FAULTS}
STOPPED = [
    "identity: scales halved",
    "runs (ordered): scales halved",
    "residual: scales halved",
    "sum: scales halved",
    "mesh: edges cross one line fewer",
    "half of the joined atoms are left out",
    "adaptive: each round at the full epsilon",
    "a noisy plan costs nothing",
    "one moved record fewer when a plan is priced",
    "presence is forgotten by plans",
    "rows are counted twice",
]


def test_faults_are_many_and_of_every_family():
    """At least 60, each with a name of its own, on questions that exist."""
    assert len(FAULTS) == len(BY_NAME) >= 60
    assert {name for fault in FAULTS for name in fault.cases} <= set(CASES)
    assert len({fault.family for fault in FAULTS}) == 10


@pytest.mark.parametrize("name", STOPPED)
def test_the_check_stops_it(name):
    """Without the fault a question is answered and loses what is charged; with it the check refuses."""
    fault = BY_NAME[name]

    row = next(mutations.rows_of([fault], tests=False))
    without = mutations.tried(None, fault.cases[0])

    assert row.raised
    assert row.checked
    assert without.stopped == (mutations.NOT,)
    assert without.loss <= 1


def test_a_fault_is_taken_out_again():
    """Whatever happens while it is in."""
    before = dict(vars(Identity))

    with pytest.raises(ZeroDivisionError), injected(BY_NAME["identity: scales halved"]):
        raise ZeroDivisionError

    assert dict(vars(Identity)) == before
