"""Bundled synthetic tables, the same on every machine: computed, not drawn, and about nobody."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import full, partition, public, threshold

DISEASES = {"heart": ["angina", "arrhythmia"], "lung": ["asthma", "copd", "flu"], "none": ["healthy"]}
REGIONS = ["north", "east", "south", "west"]


def patients(rows: int = 20_000) -> pd.DataFrame:
    """Return a synthetic table of patients: age, income, disease, sex, region.

    Examples:
        >>> patients(3).columns.tolist()
        ['age', 'income', 'disease', 'sex', 'region']
    """
    age = np.interp(_even(rows, 2), [0, 0.18, 0.5, 0.8, 0.97, 1], [0, 18, 41, 63, 84, 99.99]).astype(np.int64)
    spread = np.interp(_even(rows, 3), [0, 0.1, 0.5, 0.9, 0.99, 1], [0, 9e3, 31e3, 78e3, 210e3, 499e3])
    income = np.round(np.where(age < 18, 0.0, spread), 2)
    names = [name for group in DISEASES.values() for name in group]
    ill = np.clip(_even(rows, 5) + (age - 40) / 400, 0, 0.999)
    order = ["healthy", "flu", "asthma", "copd", "arrhythmia", "angina"]
    disease = np.array(order)[np.searchsorted([0.55, 0.72, 0.82, 0.9, 0.96], ill, side="right")]
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "disease": pd.Categorical(disease, categories=sorted(names)),
            "sex": pd.Categorical(np.where(_even(rows, 7) < 0.51, "F", "M"), categories=["F", "M"]),
            "region": pd.Categorical(
                np.array(REGIONS)[(_even(rows, 11) ** 1.3 * 4).astype(int)], categories=REGIONS
            ),
        }
    )


def patients_policy() -> Policy:
    """Return the policy of the example: close ages and incomes, diseases of a group, sex; region is public.

    Examples:
        >>> patients_policy().distance({"age": 34}, {"age": 37})
        1
    """
    diseases = [name for group in DISEASES.values() for name in group]
    domain = Domain(
        (
            integers("age", 0, 99),
            numeric_attribute("income", "float", 0, 500_000, 100),
            values_attribute("disease", "category", diseases, nullable=False),
            values_attribute("sex", "category", ["F", "M"], nullable=False),
            values_attribute("region", "category", REGIONS, nullable=False),
        )
    )
    secrets = {
        "age": threshold(5),
        "income": threshold(10_000),
        "disease": partition(DISEASES),
        "sex": full(),
        "region": public(),
    }
    return Policy(domain, secrets=secrets)


def _even(rows: int, prime: int) -> NDArray[np.float64]:
    """Return numbers spread evenly over [0, 1): multiples of the square root of a prime, modulo 1."""
    root = Fraction(np.sqrt(prime)).limit_denominator(10**9)
    steps = np.arange(1, rows + 1, dtype=np.int64)
    part: NDArray[np.float64] = (steps * root.numerator % root.denominator) / root.denominator
    return part
