"""Filters as text: each comparison means, cell by cell, what it says of the cell's values; nothing is run."""

import operator
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_blowfish.errors import BlowfishError, DeclaredValueError, ExpressionError, UndeclaredColumnError
from pandas_blowfish.policy.attribute import Grid
from pandas_blowfish.policy.domain import Domain, from_dict, integers
from pandas_blowfish.policy.expression import Atom, Junction, columns_of, parse, signatures, truth

TESTS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
DOMAIN = Domain(
    (
        integers("x", 0, 5),
        integers("n", 0, 3, nullable=True),
        integers("binned", 0, 9, 5),
        from_dict("f", {"type": "float", "min": 0, "max": 1, "step": "0.25", "exclusive_min": True}),
        from_dict("day", {"type": "datetime", "min": "2020-01-01", "max": "2020-01-04", "step": "1D"}),
        from_dict("flag", {"type": "bool"}),
        from_dict("sex", {"type": "category", "values": ["F", "M"], "nullable": True}),
        from_dict("size", {"type": "category", "values": ["small", "mid", "big"], "ordered": True}),
        from_dict("odd name", {"type": "integer", "values": [7, 3, 5]}),
        from_dict("it's", {"type": "integer", "min": 0, "max": 1}),
        from_dict("_at_x", {"type": "integer", "min": 0, "max": 1}),
    )
)


def cells(text, column, variables=None, domain=DOMAIN):
    """Return which cells of one column satisfy an expression about it alone."""
    condition = parse(text, domain, variables or {})
    assert columns_of(condition) == [column]
    size = domain[column].size
    return truth(condition, [column], [np.arange(size)]).astype(int).tolist()


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("x < 2", "x", [1, 1, 0, 0, 0, 0]),
        ("x <= 2", "x", [1, 1, 1, 0, 0, 0]),
        ("x > 2", "x", [0, 0, 0, 1, 1, 1]),
        ("x >= 2", "x", [0, 0, 1, 1, 1, 1]),
        ("x == 2", "x", [0, 0, 1, 0, 0, 0]),
        ("x != 2", "x", [1, 1, 0, 1, 1, 1]),
        ("2 < x", "x", [0, 0, 0, 1, 1, 1]),
        ("2 >= x", "x", [1, 1, 1, 0, 0, 0]),
        ("1 < x <= 4", "x", [0, 0, 1, 1, 1, 0]),
        ("not 1 < x <= 4", "x", [1, 1, 0, 0, 0, 1]),
        ("4 > x >= 1 ", "x", [0, 1, 1, 1, 0, 0]),
        ("1 < x in [0, 2, 5]", "x", [0, 0, 1, 0, 0, 1]),
        ("x in [1, 3]", "x", [0, 1, 0, 1, 0, 0]),
        ("x in (1,)", "x", [0, 1, 0, 0, 0, 0]),
        ("x in {1, 9}", "x", [0, 1, 0, 0, 0, 0]),
        ("x in []", "x", [0, 0, 0, 0, 0, 0]),
        ("x not in [1, 3]", "x", [1, 0, 1, 0, 1, 1]),
        ("not x in [1, 3]", "x", [1, 0, 1, 0, 1, 1]),
        ("x < 2.5", "x", [1, 1, 1, 0, 0, 0]),
        ("x == 2.5", "x", [0, 0, 0, 0, 0, 0]),
        ("x > -1", "x", [1, 1, 1, 1, 1, 1]),
        ("x < +99", "x", [1, 1, 1, 1, 1, 1]),
        ("x < 1 or x > 4", "x", [1, 0, 0, 0, 0, 1]),
        ("not (x < 1 or x > 4)", "x", [0, 1, 1, 1, 1, 0]),
        ("not not x == 1", "x", [0, 1, 0, 0, 0, 0]),
        ("n >= 2", "n", [0, 0, 1, 1, 0]),
        ("not n >= 2", "n", [1, 1, 0, 0, 0]),
        ("n != 2", "n", [1, 1, 0, 1, 0]),
        ("n not in [0]", "n", [0, 1, 1, 1, 0]),
        ("not (n == 0 or not n == 0)", "n", [0, 0, 0, 0, 0]),
        ("binned >= 5", "binned", [0, 1]),
        ("binned <= 4", "binned", [1, 0]),
        ("binned > 4.5", "binned", [0, 1]),
        ("f < 0.5", "f", [1, 1, 0, 0, 0]),
        ("f > 0", "f", [1, 1, 1, 1, 1]),
        ("f <= 0", "f", [0, 0, 0, 0, 0]),
        ("f <= 1", "f", [1, 1, 1, 1, 1]),
        ("f == 1", "f", [0, 0, 0, 0, 1]),
        ("f == 7", "f", [0, 0, 0, 0, 0]),
        ("day >= '2020-01-03'", "day", [0, 0, 1, 1]),
        ("'2020-01-02' <= day < '2020-01-04'", "day", [0, 1, 1, 0]),
        ("flag", "flag", [0, 1]),
        ("not flag", "flag", [1, 0]),
        ("flag == False", "flag", [1, 0]),
        ("flag in [True, False]", "flag", [1, 1]),
        ("sex == 'F'", "sex", [1, 0, 0]),
        ('sex != "F"', "sex", [0, 1, 0]),
        ("size >= 'mid'", "size", [0, 1, 1]),
        ("not size < 'big'", "size", [0, 0, 1]),
        ("`odd name` > 4", "odd name", [1, 0, 1]),
        ("`odd name` == 4", "odd name", [0, 0, 0]),
        ("`it's` == 1", "it's", [0, 1]),
        ("_at_x == 1", "_at_x", [0, 1]),
        ("`_at_x` == 1 and _at_x == 1", "_at_x", [0, 1]),
        ("  (x) == (2)  ", "x", [0, 0, 1, 0, 0, 0]),
    ],
)
def test_comparisons(text, column, expected):
    """Every form of comparison picks the cells it says, missing never among them."""
    assert cells(text, column) == expected


@pytest.mark.parametrize(
    ("text", "column", "value", "expected"),
    [
        ("x >= @v", "x", 4, [0, 0, 0, 0, 1, 1]),
        ("@v <= x", "x", np.int64(4), [0, 0, 0, 0, 1, 1]),
        ("x >= @v", "x", np.float32(4), [0, 0, 0, 0, 1, 1]),
        ("x < @v", "x", Fraction(9, 2), [1, 1, 1, 1, 1, 0]),
        ("x in @v", "x", [1, 2], [0, 1, 1, 0, 0, 0]),
        ("x in @v", "x", np.array([1, 2]), [0, 1, 1, 0, 0, 0]),
        ("x in @v", "x", range(2), [1, 1, 0, 0, 0, 0]),
        ("x not in @v", "x", {1, 2}, [1, 0, 0, 1, 1, 1]),
        ("x in @v", "x", pd.Series([5]), [0, 0, 0, 0, 0, 1]),
        ("x in [@v, 0]", "x", 3, [1, 0, 0, 1, 0, 0]),
        ("day < @v", "day", pd.Timestamp("2020-01-02"), [1, 0, 0, 0]),
        ("day < @v", "day", np.datetime64("2020-01-02"), [1, 0, 0, 0]),
        ("day < @v", "day", pd.Timestamp("2020-01-02").to_pydatetime(), [1, 0, 0, 0]),
        ("flag == @v", "flag", np.True_, [0, 1]),
        ("sex == @v", "sex", "M", [0, 1, 0]),
        ("`it's` == @v and `it's` != '@v'[0:0] or `it's` == @v", "it's", 1, None),
        ("_at_x == @v", "_at_x", 0, [1, 0]),
    ],
)
def test_variables(text, column, value, expected):
    """@name stands for a number, text, an instant, or for `in` a list of them."""
    if expected is None:
        with pytest.raises(ExpressionError):
            cells(text, column, {"v": value})
        return

    assert cells(text, column, {"v": value}) == expected


def test_junctions_and_de_morgan():
    """and, or, not over several columns agree with the same logic on every pair of values."""
    rules = {
        "x < 3 and n == 1": lambda x, n: x < 3 and n == 1,
        "x < 3 or n == 1 and x == 5": lambda x, n: x < 3 or (n == 1 and x == 5),
        "not (x < 3 and n == 1)": lambda x, n: x >= 3 or (n is not None and n != 1),
        "not (x < 3 or n == 1)": lambda x, n: x >= 3 and n is not None and n != 1,
        "not (x < 3 and not n in [1, 2])": lambda x, n: x >= 3 or n in (1, 2),
        "(x < 1 or x > 4) and not n != 0": lambda x, n: (x < 1 or x > 4) and n == 0,
    }
    for text, rule in rules.items():
        condition = parse(text, DOMAIN, {})

        found = truth(condition, ["x", "n"], [np.arange(6), np.arange(5)])

        assert isinstance(condition, Junction)
        assert found.tolist() == [[bool(rule(x, n)) for n in (0, 1, 2, 3, None)] for x in range(6)], text


def values_of(attribute, cell):
    """Return values that lie in a cell, its ends and near-ends among them, as exact places."""
    if not isinstance(attribute, Grid):
        return [attribute.positions[cell]]
    low, high = attribute.low + cell * attribute.step, attribute.low + (cell + 1) * attribute.step
    if attribute.kind == "integer":
        return [Fraction(v) for v in range(int(low), int(min(high, attribute.high + 1)))]
    fine = attribute.step / 1000
    inside = [low, low + fine, (low + high) / 2, high - fine, attribute.high - fine, attribute.high]
    inside = [v for v in inside if low <= v < high and attribute.low <= v <= attribute.high]
    inside = [v for v in inside if not (attribute.open_low and v == attribute.low)]
    return [v for v in inside if not (attribute.open_high and v == attribute.high)]


def random_axis(draw):
    """Return a small numeric column of any kind: bins, exclusive bounds, bounds off the edges."""
    kind, count = draw.choice(["integer", "float", "datetime", "listed"]), draw.randint(1, 5)
    if kind == "listed":
        return from_dict("c", {"type": "integer", "values": draw.sample(range(9), count)})
    if kind == "integer":
        low = draw.randint(-4, 4)
        return integers("c", low, low + draw.randint(0, 9), draw.randint(1, 3), nullable=draw.random() < 0.3)
    if kind == "datetime":
        last = pd.Timestamp("2020-01-01") + pd.Timedelta(hours=6 * draw.randint(1, 16))
        return from_dict("c", {"type": "datetime", "min": "2020-01-01", "max": str(last), "step": "1D"})
    spec = {
        "type": "float",
        "min": draw.choice([0, "-0.5", "0.1"]),
        "step": draw.choice(["0.5", "0.1", "1/3"]),
    }
    flags = {"exclusive_min": draw.random() < 0.4, "exclusive_max": draw.random() < 0.4}
    return from_dict("c", {**spec, **flags, "max": draw.choice(["0.7", 1, "1.5", "1.1"])})


def constants_of(draw, attribute):
    """Return a constant on, near or off the cells' edges, with its exact place."""
    if not isinstance(attribute, Grid):
        return Fraction(draw.randint(-1, 9))
    steps = draw.choice([draw.randint(-1, attribute.cells + 1), Fraction(draw.randint(-2, 12), 2)])
    return draw.choice([attribute.low + steps * attribute.step, attribute.low, attribute.high])


def test_cells_agree_with_their_values():
    """Each cell matches just when all its values do, and a test its values disagree on is refused."""
    draw = random.Random(5)
    outcomes = {"kept": 0, "refused": 0}
    for _ in range(3_000):
        attribute = random_axis(draw)
        place, (test, compare) = constants_of(draw, attribute), draw.choice(list(TESTS.items()))
        stamp = pd.Timestamp(int(place)) if attribute.kind == "datetime" else place
        truths = [{compare(v, place) for v in values_of(attribute, cell)} for cell in range(attribute.cells)]
        domain = Domain((attribute,))

        if any(len(each) > 1 for each in truths):
            with pytest.raises(ExpressionError):
                parse(f"c {test} @v", domain, {"v": stamp})
            outcomes["refused"] += 1
            continue
        found = parse(f"c {test} @v", domain, {"v": stamp})

        expected = [next(iter(each)) for each in truths] + [False] * attribute.nullable
        assert isinstance(found, Atom)
        assert found.cells.tolist() == expected, (attribute, test, stamp)
        outcomes["kept"] += 1
    assert min(outcomes.values()) > 300


@pytest.mark.parametrize(
    "text",
    [
        *("binned < 3", "binned == 5", "binned <= 5", "binned in [5]", "f < 0.3", "f <= 0.5", "f == 0.5"),
        *("day < '2020-01-02 12:00'", "day == '2020-01-02'", "not day > '2020-01-02'", "0.1 < f < 0.5"),
    ],
)
def test_constants_that_split_a_cell_are_refused(text):
    """Some values of a cell match and some do not: no count of cells can answer that."""
    with pytest.raises(ExpressionError, match=r"edge|splits"):
        parse(text, DOMAIN, {})


class Trap:
    """An object that notices being used as anything but a name."""

    def __getattr__(self, name):
        pytest.fail(f"{name} was read")

    def __call__(self, *_):  # noqa: D102
        pytest.fail("it was called")


REFUSED = [
    "", "   ", "x", "x.real", "x.real > 1", "x + 1 > 2", "x > 1 + 1", "x > 10 ** 9", "abs(x) > 1",
    "__import__('os')", "__import__('os').system('true')", "x > __import__('os')", "x == int('1')",
    "(lambda: 1)() == x", "x == (lambda: 1)", "lambda: x",
    "[v for v in (1, 2)] == x", "x in [v for v in (1,)]",
    "x in (v for v in (1,))", "x in {v: 1 for v in (1,)}", "x in {1: 2}", "x == f'{1}'", "sex == f'{x}'",
    "(x := 3) > 1", "x == (y := 3)",
    "x if x > 1 else x", "x > 1 if True else False", "x > (1 if True else 0)",
    "x[0] > 1", "x > [1][0]", "x == [1, 2]", "x == (1, 2)", "x in 1", "x in '12'", "x is 1", "x is not None",
    "x == None", "x in [None]", "x in [[1]]", "x > ...", "x > 1j", "x > b'1'", "x == True", "x > 'one'",
    "x > 1e999", "x > -1e999", "x > nan", "x < n", "1 < 2", "1 < 2 < x", "True", "1", "'x'", "x > 1; x < 3",
    "x = 1", "import os", "del x", "x > 1 # and n > 1", "x > 1\nand n > 1", "x >", "> 1", "x >> 1", "x & 1",
       "-x > 1", "x > --1 and", "x > not 1", "not x",
    "await x", "yield x", "*x", "x > 1 and", "and x > 1", "x > @", "x > @unknown", "x > @trap", "x in @trap",
    "x > @trap.y", "x > @trap()", "@trap", "@v", "@v > 1", "@v(x)", "@v.x > 1", "x@v > 1", "x in @v",
    "x == @many",
    "x in @lazy", "x in @nothing", "x in @point", "x == @point", "x == @nothing", "x == @table",
    "x > @__builtins__", "x > @__name__",
    "x > 1\0", "\0", "x > '\0'", "x\u200b > 1",
    "\uff58 > 1", "\U0001d431 > 1", "x \u2265 1", "x > \uff11", "x > @\uff56", "x > @v\uff56",
    "x > \u0663\u0660",
    "x > '\ud800'", "\ud800 > 1", "x > 'a", '"x > 1', "`x > 1", "`` > 1", "`x`` > 1", "x > 1`n`", "1`x`",
    "sex == '''F'''", 'sex == """F"""', "flag < True", "sex > 'F'", "day > 3", "day > 'now'", "day > 'soon'",
    "day > '2020-01-02+00:00'", "exit()", "x > 1 and exit()", "print(x) or x > 1",
    "[x > 1]", "(x > 1,)", "{x > 1}",
]  # fmt: skip
NESTED = [
    "not " * 3_000 + "x > 1", "not " * 100_000 + "x > 1", "(" * 150 + "x > 1" + ")" * 150 + ")",
    "(" * 5_000 + "x > 1" + ")" * 5_000, "x > " + "-" * 5_000 + "1", "x in " + "[" * 5_000 + "]" * 5_000,
    " or ".join(["x > 1"] * 20_000), "x in [" + "1," * 20_000 + "]", "x > " + "9" * 5_000,
    "x" * 300_000 + " > 1",
    "x > 1" + " < x" * 10_000, "x > 1e" + "9" * 100, "x > " + "f(" * 90 + ")" * 90,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "text", [*REFUSED, *NESTED, None, 3, b"x > 1", ["x > 1"], Trap], ids=lambda t: repr(t)[:40]
)
def test_nothing_else_is_understood_and_nothing_runs(text):
    """Calls, attributes, other syntax, strange letters and huge input are ExpressionErrors."""
    variables = {
        "v": 1,
        "trap": Trap(),
        "many": np.array([1, 2]),
        "lazy": iter([1]),
        "nothing": None,
        "point": np.array(1),
    }
    variables |= {"table": pd.DataFrame({"x": [1]}), "__builtins__": __builtins__, "__name__": __name__}

    with pytest.raises(ExpressionError) as caught:
        parse(text, DOMAIN, variables)

    assert isinstance(caught.value, BlowfishError)


@pytest.mark.parametrize("date", ["2025-07-01", "2025-10-11", "01.07.2025", "7/1/2025"])
def test_dates_without_quotes_are_told_to_have_some(date):
    """Python would take them for arithmetic, or for nothing at all; in quotes they are left alone."""
    with pytest.raises(ExpressionError, match=f"dates and text need quotes: '{date}'"):
        parse(f"age > 1 and age >= {date}", DOMAIN, {})
    with pytest.raises(DeclaredValueError):
        parse(f"sex == '{date}'", DOMAIN, {})


@pytest.mark.parametrize(
    ("text", "error"), [("z > 1", UndeclaredColumnError), ("sex == 'f'", DeclaredValueError)]
)
def test_slips_of_the_pen_are_told(text, error):
    """An undeclared column or category is an error that lists what is declared, not an empty filter."""
    with pytest.raises(error, match="allowed"):
        parse(text, DOMAIN, {})


def test_a_column_is_never_taken_for_another():
    """Letters that Python would fold into a declared name are refused; backticks take them as they are."""
    domain = Domain((integers("field", 0, 1), integers("\ufb01eld", 0, 2)))

    with pytest.raises(ExpressionError):
        parse("\ufb01eld > 0", domain, {})

    assert columns_of(parse("`\ufb01eld` > 0", domain, {})) == ["\ufb01eld"]
    assert columns_of(parse("field > 0", domain, {})) == ["field"]


def test_errors_show_the_expression_and_what_is_allowed():
    """The message holds the text asked and an example."""
    with pytest.raises(ExpressionError) as caught:
        parse("abs(x) > 1", DOMAIN, {})

    assert "abs(x) > 1" in str(caught.value)
    assert "age >= 18" in str(caught.value)
    assert caught.value.text == "abs(x) > 1"


def test_signatures_tell_cells_apart_as_comparisons_do():
    """Two cells share a class exactly when every comparison treats them alike."""
    condition = parse("(x < 2 or x == 5) and n > 1", DOMAIN, {})

    assert signatures(condition, "x", 6).tolist() == [2, 2, 0, 0, 0, 1]
    assert len(set(signatures(condition, "n", 5).tolist())) == 2
    assert signatures(condition, "day", 4).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("pandas_way", "words"),
    [
        ("(x > 1) & (x < 4)", "x > 1 and x < 4"),
        ("(x < 1) | (x > 4)", "x < 1 or x > 4"),
        ("~(x > 1)", "not x > 1"),
        ("~((x > 1) & (x < 4))", "x <= 1 or x >= 4"),
    ],
)
def test_pandas_operators_are_words_too(pandas_way, words):
    """&, | and ~ between parentheses mean and, or and not, as in DataFrame.query."""
    assert cells(pandas_way, "x") == cells(words, "x")


def test_a_cell_that_is_a_range_has_no_equal():
    """== on bins of a day says how to write the day."""
    with pytest.raises(ExpressionError, match="low <= day < high"):
        parse("day == '2020-01-02'", DOMAIN, {})


@pytest.mark.parametrize("test", [">", "<="])
def test_a_comparison_that_splits_a_cell_is_named_as_it_was_written(test):
    """Not as the opposite that it is read by."""
    domain = Domain((from_dict("when", {"type": "float", "min": 0, "max": 10, "step": 5}),))

    with pytest.raises(ExpressionError, match=f"{test} 5 splits a cell"):
        parse(f"when {test} 5", domain, {})
