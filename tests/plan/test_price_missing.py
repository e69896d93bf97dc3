"""A plan says what another choice about missing values would save, where it would."""

import pandera.pandas as pa
import pytest

import pandas_blowfish as bf


def _plan(verb, **given):
    column = pa.Column(int, pa.Check.in_range(0, 999), nullable=True, metadata=bf.threshold(5, **given))
    policy = bf.Policy(pa.DataFrameSchema({"pay": column, "sex": pa.Column(bool)}))
    return getattr(policy.plan, verb)("pay", epsilon=1)


@pytest.mark.parametrize("verb", ["sum", "cumhist"])
def test_the_saving_is_that_of_the_other_plan(verb):
    """Its figures are the errors of the plans under "public" and under a stand-in."""
    said = _plan(verb).facts()["missing values"]

    public, like = (_plan(verb, missing=missing).mse ** 0.5 for missing in ("public", 0))
    choices = f'+-{public:.3g} with missing="public", +-{like:.3g} with missing=0'
    assert said == f"any value of pay may be missing; {choices}"
    assert "missing values" in repr(_plan(verb))


def test_nothing_is_said_where_nothing_is_saved():
    """Of plain counts, of a choice that was made, and of columns that are not asked about."""
    assert "missing values" not in _plan("hist").facts()
    for missing in ("public", 0):
        assert "missing values" not in _plan("sum", missing=missing).facts()
    assert "missing values" in _plan("sum", missing="protected").facts()
    assert "missing values" not in _plan("quantile").facts()  # which is picked: any move costs as much
    counted = _plan("sum").policy.plan.count(epsilon=1)
    assert "missing values" not in counted.facts()


def test_means_say_how_much_less_noise():
    """Their error depends on the rows, so that noise is compared."""
    assert "times less noise with missing=" in _plan("mean").facts()["missing values"]
