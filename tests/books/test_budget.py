"""A budget states what may be spent, what was, and why no more is."""

from fractions import Fraction

from pandas_blowfish.books.balance import OVERSPENT, Budget, Dataset

OVER, UNKNOWN = f"{OVERSPENT}: 3/2 of 1", "nobody knows"


def test_remaining_may_be_below_zero():
    """A fact can make earlier releases cost more than all; a larger total opens such a dataset again."""
    bound = Dataset("a", {}, Fraction(1), Fraction(3, 2), OVER)

    assert Budget(bound.total, bound.spent).remaining == Fraction(-1, 2)
    assert bound.is_reopenable
    assert not Dataset("a", {}, Fraction(1), Fraction(0), UNKNOWN).is_reopenable


def test_a_closed_budget_says_so():
    """Two numbers make an open budget; the reason is a third, shown only where there is one."""
    over = Dataset("a", {}, Fraction(1), Fraction(3, 2), OVER).budget

    assert Budget(Fraction(1), Fraction(1, 2)) == Dataset("a", {}, Fraction(1), Fraction(1, 2), None).budget
    assert over == Budget(Fraction(1), Fraction(3, 2), OVER) != Budget(Fraction(1), Fraction(3, 2))
    assert repr(over) == f"Budget(total=1, spent=1.5, remaining=-0.5, closed={OVER!r})"
    assert "closed" not in repr(Budget(Fraction(1), Fraction(1)))
