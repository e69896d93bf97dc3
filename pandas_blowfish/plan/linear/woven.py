"""Woven: weighted sums of atoms read off the nested runs of a line. Never sees rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pandas_blowfish.exact.arrays import Ints
from pandas_blowfish.plan.line.axis import LineGraph
from pandas_blowfish.plan.line.nest import Layout
from pandas_blowfish.plan.line.question import Spans
from pandas_blowfish.plan.line.runs import Nested

if TYPE_CHECKING:
    from pandas_blowfish.plan.given import Given
    from pandas_blowfish.plan.shape.solved import Solved


@dataclass(frozen=True, eq=False)
class Woven(Nested):
    """A nest that answers `LineSums` questions; what is measured, and its loss, are the nest's.

    Attributes:
        covered: Whether cells that no query counts are on the line, too.

    Proof note:
        Requires: as `Nested`.
        Ensures:  privacy loss <= epsilon.
        Because:  the rows and scales are those of the nest, whatever is read off them.
        Checked:  tests/privacy/test_workload_loss.py::test_loss_of_random_workloads
    """

    covered: bool = True

    @property
    def form(self) -> dict[str, Any]:
        """Return the layout, the weights and the line as plain data, to read a stored answer by."""
        return {**super().form, "covered": self.covered}

    @classmethod
    def from_form(
        cls, name: str, asked: Spans, line: LineGraph, epsilon: Fraction, form: Mapping[str, Any]
    ) -> Woven:
        """Return the measurement that `form` described."""
        layout, weights = Layout.from_dict(form["layout"]), tuple(form["weights"])
        return cls(name, asked, line, layout, weights, epsilon, form["covered"])

    def solve(self, values: Ints, *, post: bool | str, known: Given | None = None) -> Solved:
        """Return the answers: the unbiased ones, or the nearest of the right shape."""
        from pandas_blowfish.plan.linear.solve import solve_woven  # here: solving needs the strategies

        return solve_woven(self, values, post, known)
