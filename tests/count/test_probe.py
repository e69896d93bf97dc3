"""Made-up records lie in the cells they were made for."""

import random

import numpy as np
import pandas as pd
import pytest

import pandas_blowfish as bf
from pandas_blowfish.count.encode import encoder
from pandas_blowfish.count.probe import probe
from pandas_blowfish.policy.attribute import Unbounded
from pandas_blowfish.policy.cells import NO_VALUE, Cells
from pandas_blowfish.policy.domain import Domain


def test_the_encoder_puts_every_record_into_its_cell(make_full_policy):
    """Of random columns of every kind, every cell, the missing one included."""
    for seed in range(150):
        domain = make_full_policy(random.Random(seed), 2, 5).domain

        for attribute in domain:
            codes = np.arange(attribute.size)
            one = Domain((attribute,))
            frame = probe(one, Cells.present({attribute.name: codes}, len(codes)))
            read = encoder(frame[attribute.name], attribute, clip=False)

            assert (
                np.where(
                    read(0, len(codes)) == attribute.cells, attribute.cells, read(0, len(codes))
                ).tolist()
                == codes.tolist()
            )


def test_columns_without_bounds_have_numbers_in_their_cells():
    """A number inside its step; none for a missing value."""
    domain = Domain((Unbounded("x", "float", True),))

    frame = probe(domain, Cells.present({"x": np.array([-3, 0, NO_VALUE])}, 3))

    assert frame["x"].tolist()[:2] == [-2.5, 0.5]
    assert np.isnan(frame["x"].iloc[2])


@pytest.mark.parametrize("nullable", [False, True])
def test_listed_numbers_beyond_int64_are_released(nullable):
    """A list that uint64 holds is encoded, checked, counted and named by its own numbers."""
    values = [2**63 + 1, 2**63 + 2, 5]
    column = {"type": "integer", "values": values, "nullable": nullable}
    policy = bf.Policy.from_dict({"blowfish": 1, "columns": {"x": column}})
    rows = pd.Series(np.array([values[0]] * 3 + [5], dtype="uint64"))
    frame = pd.DataFrame({"x": rows.astype("UInt64") if nullable else rows})

    noisy = frame.blowfish.protect(policy, epsilon=1).blowfish.hist("x", epsilon=1)

    assert noisy.index[:3].tolist() == values
