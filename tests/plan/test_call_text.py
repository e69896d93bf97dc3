"""The text of a question: literals that Python reads back, and hashes that are known as such."""

import ast
import enum
from fractions import Fraction

import pytest
from scipy import sparse

from pandas_blowfish.plan.call_text import call_text, is_digest, literal


class Colour(enum.StrEnum):
    """Text that prints as something else."""

    RED = "red"


class Size(enum.IntEnum):
    """Numbers that print as something else."""

    BIG = 3


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, (2.5, None)]}, {"a": [1, [2.5, None]]}),
        (Colour.RED, "red"),
        (Size.BIG, 3),
        ([True, -1, "o'n\"e\n"], [True, -1, "o'n\"e\n"]),
        ({Colour.RED: Size.BIG}, {"red": 3}),
        (Fraction(1, 3), "1/3"),
    ],
)
def test_literals_are_read_back(value, plain):
    """Whatever prints oddly is written as the plain value it is."""
    assert ast.literal_eval(literal(value)) == plain


def test_the_order_of_a_call():
    """Filters, groups, then the verb: its columns first, epsilon last, what is not asked left out."""
    query = {"verb": "hist", "columns": ["x", "y"], "bins": [["x", [["a", [1]]]]], "strategy": "auto"}
    scope = {"where": ["x > 1", "y < 2"], "groupby": ["z"]}

    assert call_text(query | scope, Fraction(1, 3)) == (
        "where('x > 1').where('y < 2').groupby(['z'])"
        ".hist(['x', 'y'], bins={'x': {'a': [1]}}, strategy='auto', epsilon='1/3')"
    )


def test_small_matrices_are_spelt_out():
    """A matrix that fits a line is written; a larger one is named by its hash."""
    said = f"1 x 2, 2 non-zeros, sha256 {'0' * 64}"
    query = {"verb": "workload", "columns": ["x"], "matrix": said}
    small, large = sparse.csr_array([[1, -1]]), sparse.csr_array((3, 100))

    assert call_text(query, Fraction(1), small) == "workload([[1, -1]], 'x', epsilon='1')"
    assert call_text(query, Fraction(1), large) == f"workload({said!r}, 'x', epsilon='1')"
    assert is_digest(said)
    assert is_digest({"a": [1], "b": f"201 values, sha256 {'f' * 64}"})
    assert not is_digest(["sha256", None, "all"])
