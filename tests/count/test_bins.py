"""Bins of rows are those of the table that lists every cell."""

import numpy as np
import pytest

from pandas_blowfish.count.tally import combine, gather
from pandas_blowfish.plan.tally import tally
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.scope import Scope

DOMAIN = Domain(
    (
        integers("a", 0, 5, nullable=True),
        from_dict("b", {"type": "category", "values": ["x", "y", "z"]}),
        integers("c", 0, 3),
    )
)


@pytest.mark.parametrize("where", [None, "a >= 2", "c < 2 and b in ['x', 'z']", "a < 3 or c == 1"])
@pytest.mark.parametrize("bins", [None, {"a": [0, 2, 5]}, {"b": {"some": ["x", "z"]}}])
def test_every_cell_has_the_bin_of_the_table(where, bins):
    """All combinations of cells, and rows outside one column: counted nowhere, whatever the others are."""
    condition = None if where is None else Scope().where(Policy(DOMAIN), where, {}).condition
    asked = tally(DOMAIN, ["a", "b"], bins, condition)
    sizes = [each.attribute.size for each in asked.binnings]
    codes = [grid.ravel() for grid in np.meshgrid(*map(np.arange, sizes), indexing="ij")]

    found = combine(asked, iter(codes), len(codes[0]))

    assert found.tolist() == asked.labels().tolist()
    for place in range(len(codes)):
        beyond = [np.full_like(own, -1) if at == place else own for at, own in enumerate(codes)]
        assert set(combine(asked, beyond, len(codes[0])).tolist()) == {-1}
    rows = np.arange(len(found))
    want = [int(rows[found == each].sum()) for each in range(asked.size)]
    assert gather(asked, codes, rows).tolist() == want


def test_no_rows_have_no_bins():
    """An empty part of a table is counted as such."""
    asked = tally(DOMAIN, ["a", "b"], None)
    empty = [np.zeros(0, dtype=np.int64)] * 2

    assert combine(asked, empty, 0).tolist() == []
    assert gather(asked, empty, empty[0]).sum() == 0
