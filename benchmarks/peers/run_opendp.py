"""OpenDP: counts of every category with Laplace noise, and its b-ary tree of counts, made consistent."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp
import peer_job

dp.enable_features("contrib")


def counting(cells: int) -> dp.Transformation:
    """Return the count of every cell; OpenDP's relation here is one row added or removed."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    return space >> dp.t.then_count_by_categories(list(range(cells)), null_category=False)


def releases(values: np.ndarray, cells: int, epsilon: float, runs: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield noisy counts, and the leaves of a consistent tree whose branching OpenDP chose."""
    rows = values.astype(np.int32)
    counts = counting(cells)
    plain = dp.binary_search_chain(lambda scale: counts >> dp.m.then_laplace(scale), d_in=1, d_out=epsilon)
    branches = dp.t.choose_branching_factor(cells)
    above = counts >> dp.t.then_b_ary_tree(leaf_count=cells, branching_factor=branches)
    tree = dp.binary_search_chain(lambda scale: above >> dp.m.then_laplace(scale), d_in=1, d_out=epsilon)
    consistent = dp.t.make_consistent_b_ary_tree(branches)
    for _ in range(runs):
        yield "OpenDP, Laplace", np.array(plain(rows))
        yield "OpenDP, tree", np.array(consistent(tree(rows)))[:cells]


def prepare(column: np.ndarray, cells: int) -> peer_job.Prepared:
    """Return releases of many rows, from a numpy array and from a Polars frame."""
    rows = column.astype(np.int32)  # what it takes
    measure = counting(cells) >> dp.m.then_laplace(1.0)
    found = {"OpenDP": lambda: measure(rows)}
    if len(column) < 10**6:
        return found  # its Polars way takes seconds whatever the rows
    try:
        import polars
    except ImportError:
        return found
    frame, keys = polars.DataFrame({"x": column}).lazy(), polars.DataFrame({"x": np.arange(cells)})

    def framed() -> object:
        unit, loss = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)
        context = dp.Context.compositor(data=frame, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1)
        return context.query().group_by("x").agg(dp.len(signed=True)).with_keys(keys).release().collect()

    return {**found, "OpenDP, Polars": framed}


if __name__ == "__main__":
    peer_job.main("opendp", version("opendp"), releases, prepare)
