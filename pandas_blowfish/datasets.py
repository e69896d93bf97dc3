"""Bundled synthetic tables, the same on every machine: computed, not drawn, and about nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_blowfish.policy.domain import Domain, integers, numeric_attribute, values_attribute
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.policy.secret import full, partition, public, threshold

DISEASES = {"heart": ["angina", "arrhythmia"], "lung": ["asthma", "copd", "flu"], "none": ["healthy"]}
REGIONS = ["north", "east", "south", "west"]
DEPARTMENTS = ["sales", "support", "research", "board"]
REASONS = ["check-up", "infection", "injury", "heart", "other"]
STORES = ["centre", "station", "mall"]
# half of a bell curve's values lie within 0.67 spreads of its middle, 95% within 1.96
BELL = ([0, 0.001, 0.025, 0.16, 0.5, 0.84, 0.975, 0.999, 1], [-3.5, -3.09, -1.96, -1, 0, 1, 1.96, 3.09, 3.5])
TOWNS = {  # share of the messages, latitude, longitude, spread in degrees: places that do not exist
    "Aldermere": (0.26, 51.3, -2.2, 0.6),
    "Brunnau": (0.2, 46.6, 11.2, 0.7),
    "Corvella": (0.16, 40.4, -4.1, 0.5),
    "Drosendal": (0.13, 52.6, 14.4, 0.6),
    "Esterwick": (0.07, 43.3, 5.2, 0.4),
    "the country": (0.18, 47.0, 5.0, 3.2),
}
HABITS = {  # share of the shoppers, visits in a quarter, spend in a visit, spreads of both
    "on the way home": (0.42, 30, 18, 5, 7),
    "once a week": (0.33, 12, 95, 3, 16),
    "stock up": (0.17, 4, 190, 1.3, 22),
    "passing by": (0.08, 2, 25, 0.9, 10),
}


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


def visits(rows: int = 20_000) -> pd.DataFrame:
    """Return a week of synthetic visits to a hospital: patient, day, region, age, reason, minutes.

    Most patients come once or twice, some every other day, with several rows a day: one row per visit.

    Examples:
        >>> visits(3)[["patient", "day", "reason", "minutes"]]
           patient  day    reason  minutes
        0        1    2    injury       18
        1        1    2  check-up       44
        2        2    4     heart        7
    """
    many = np.interp(_even(rows, 2), [0, 0.35, 0.65, 0.85, 0.97, 1], [1, 2, 3, 5, 9, 13.99]).astype(np.int64)
    ends = np.cumsum(many)
    row = np.arange(rows)
    who = np.searchsorted(ends, row, side="right")  # whose visit it is
    turn = row - (ends - many)[who]  # which of theirs
    age = np.interp(_even(rows, 3), [0, 0.15, 0.45, 0.75, 0.95, 1], [0, 18, 42, 66, 85, 99.99]).astype(
        np.int64
    )
    first, pause = (_even(rows, 5) * 7).astype(np.int64), 1 + (_even(rows, 7) * 3).astype(np.int64)
    region = np.array(REGIONS)[(_even(rows, 11) ** 1.3 * 4).astype(int)]
    cause = np.clip(_even(rows, 13) + (age[who] - 40) / 300, 0, 0.999)
    reason = np.array(REASONS)[np.searchsorted([0.35, 0.55, 0.7, 0.9], cause, side="right")]
    long = np.interp(_even(rows, 19), [0, 0.3, 0.7, 0.95, 1], [5, 15, 40, 110, 239])
    return pd.DataFrame(
        {
            "patient": who + 1,
            "day": 1 + (first[who] + turn // 3 * pause[who]) % 7,
            "region": pd.Categorical(region[who], categories=REGIONS),
            "age": age[who],
            "reason": pd.Categorical(reason, categories=REASONS),
            "minutes": long.astype(np.int64),
        }
    )


def visits_policy() -> Policy:
    """Return the policy of the visits: of a patient up to 3 rows; region and day are public.

    Ages within 5 years, visits within 30 minutes and any two reasons stay alike.

    Examples:
        >>> visits_policy().max_rows
        3
    """
    domain = Domain(
        (
            integers("day", 1, 7),
            values_attribute("region", "category", REGIONS, nullable=False),
            integers("age", 0, 99),
            values_attribute("reason", "category", REASONS, nullable=False),
            integers("minutes", 0, 239, 5),
        )
    )
    secrets = {
        "day": public(),
        "region": public(),
        "age": threshold(5),
        "reason": full(),
        "minutes": threshold(30),
    }
    return Policy(domain, secrets=secrets, max_rows=3)


def messy_csv(rows: int = 4_000) -> str:
    """Return a survey as text of a CSV that nobody has cleaned: person, age, visits, weight, smoker, ward.

    Ages such as "34 years", 99 visits for no answer, decimal commas, five ways to write yes, and marks for
    what is missing that pandas does not know.

    Examples:
        >>> print(messy_csv(3))
        person,age,visits,weight,smoker,ward
        p00001,41,1,82.0,yes,B
        p00002,67,4,96.9,no,A
        p00003,32,15,75.6,no,C
        <BLANKLINE>
    """
    age = np.interp(_even(rows, 2), [0, 0.2, 0.42, 0.66, 0.85, 0.95, 1], [18, 30, 42, 56, 69, 79, 98]).astype(
        np.int64
    )
    visits = np.interp(_even(rows, 11), [0, 0.4, 0.7, 0.9, 1], [0, 2, 5, 10, 20.99]).astype(np.int64)
    weight = np.round(np.clip(74 + 13 * _bell(rows, 3) + (age - 50) / 10, 38, 180), 1)
    smoker = np.where(_even(rows, 5) < 0.27 - (age - 50) / 400, "yes", "no")
    ward = np.array(["A", "B", "C"])[(_even(rows, 7) ** 1.4 * 3).astype(int)]
    columns = {
        "person": [f"p{number:05d}" for number in range(1, rows + 1)],
        "age": _strays(age, {19: "{} years", 61: " {}", 97: "999", 131: "unknown", 233: "-1"}),
        "visits": _strays(visits, {43: "99"}),
        "weight": _strays(weight, {7: _comma, 53: "?", 149: "{} kg", 211: "0"}),
        "smoker": _strays(smoker, {5: str.title, 11: _initial, 83: "refused"}),
        "ward": _strays(ward, {17: str.lower, 13: "{} "}),
    }
    return str(pd.DataFrame(columns).to_csv(index=False, lineterminator="\n"))


def salaries(rows: int = 8_000) -> pd.DataFrame:
    """Return a synthetic payroll: monthly salary, years in the firm, department.

    Examples:
        >>> salaries(3)["salary"].tolist()
        [2850, 3010, 4210]
    """
    department = np.searchsorted([0.45, 0.8, 0.98], _even(rows, 7), side="right")
    years = np.interp(_even(rows, 3), [0, 0.4, 0.8, 1], [0, 4, 15, 40.99]).astype(np.int64)
    base, spread = np.array([2_600, 2_350, 3_700, 8_200]), np.array([420, 300, 700, 1_500])
    middle = base[department] + 45 * years
    salary = np.clip(middle + spread[department] * _bell(rows, 2), 1_500, 14_990)
    names = pd.Categorical(np.array(DEPARTMENTS)[department], categories=DEPARTMENTS)
    return pd.DataFrame({"salary": (salary // 10 * 10).astype(np.int64), "years": years, "department": names})


def salaries_policy() -> Policy:
    """Return the policy of the payroll: salaries within 250 stay alike, and years within 2.

    Examples:
        >>> salaries_policy().plan.cumhist("salary", epsilon=1).strategy
        'transport'
    """
    domain = Domain(
        (
            integers("salary", 0, 14_999, 50),
            integers("years", 0, 40),
            values_attribute("department", "category", DEPARTMENTS, nullable=False),
        )
    )
    return Policy(domain, secrets={"salary": threshold(250), "years": threshold(2), "department": public()})


def tweets(rows: int = 30_000) -> pd.DataFrame:
    """Return where synthetic messages were sent: lat and lon in degrees around made-up towns, and the hour.

    Examples:
        >>> tweets(2)
             lat   lon  hour
        0  51.15 -1.61    18
        1  40.63 -2.92    11
    """
    places = np.array([town[1:] for town in TOWNS.values()])
    ends = np.cumsum([town[0] for town in TOWNS.values()])[:-1]
    town = np.searchsorted(ends, _even(rows, 5), side="right")
    lat = places[town, 0] + places[town, 2] * _bell(rows, 2)
    lon = places[town, 1] + 1.45 * places[town, 2] * _bell(rows, 3)
    hour = np.interp(_even(rows, 7), [0, 0.06, 0.3, 0.6, 1], [0, 6, 12, 18, 23.99]).astype(np.int64)
    inside = {"lat": np.clip(lat, 36, 55.99), "lon": np.clip(lon, -10, 19.99)}
    return pd.DataFrame({name: np.round(at, 2) for name, at in inside.items()} | {"hour": hour})


def tweets_policy() -> Policy:
    """Return the policy of the messages: places within 50 km stay alike, and hours within 3.

    Examples:
        >>> tweets_policy().distance({"lat": 51.3, "lon": -2.2}, {"lat": 46.6, "lon": 11.2})
        14
    """
    domain = Domain(
        (
            numeric_attribute("lat", "float", 36, 56, "0.5", open_high=True),
            numeric_attribute("lon", "float", -10, 20, "0.5", open_high=True),
            integers("hour", 0, 23),
        )
    )
    near = threshold(50, metric="l2", scale={"lat": 111.2, "lon": 77.2})
    return Policy(domain, secrets={("lat", "lon"): near, "hour": threshold(3)})


def admissions(rows: int = 2_600, days: int = 56) -> pd.DataFrame:
    """Return on which day of a wave synthetic patients came to a hospital.

    Examples:
        >>> admissions(5)["day"].tolist()
        [24, 32, 37, 26, 4]
    """
    wave = np.where(_even(rows, 5) < 0.45, _even(rows, 2), 0.52 + 0.14 * _bell(rows, 7))
    return pd.DataFrame({"day": 1 + np.clip((wave * days).astype(np.int64), 0, days - 1)})


def admissions_policy(days: int = 56) -> Policy:
    """Return the policy of the admissions: on which day somebody came is secret, any day.

    Examples:
        >>> admissions_policy().plan.hist("day", epsilon=1).sensitivity
        Fraction(2, 1)
    """
    return Policy(Domain((integers("day", 1, days),)))


def shoppers(rows: int = 12_000) -> pd.DataFrame:
    """Return what synthetic shoppers do: visits in a quarter, spend in a visit, the store they use.

    Examples:
        >>> shoppers(2).columns.tolist()
        ['visits', 'spend', 'store']
    """
    habits = np.array(list(HABITS.values()))
    habit = np.searchsorted(np.cumsum(habits[:, 0])[:-1], _even(rows, 5), side="right")
    visits = habits[habit, 1] + habits[habit, 3] * _bell(rows, 2)
    spend = habits[habit, 2] + habits[habit, 4] * _bell(rows, 3)
    store = pd.Categorical(np.array(STORES)[(_even(rows, 7) ** 1.2 * 3).astype(int)], categories=STORES)
    whole = {"visits": np.clip(np.rint(visits), 1, 50), "spend": np.clip(np.rint(spend), 1, 249)}
    return pd.DataFrame({name: each.astype(np.int64) for name, each in whole.items()} | {"store": store})


def shoppers_policy() -> Policy:
    """Return the policy of the shoppers: visits within 3 and spends within 15 stay alike; stores are public.

    Examples:
        >>> shoppers_policy().distance({"visits": 4, "spend": 190}, {"visits": 12, "spend": 95})
        7
    """
    store = values_attribute("store", "category", STORES, nullable=False)
    domain = Domain((integers("visits", 0, 50), integers("spend", 0, 249), store))
    return Policy(domain, secrets={"visits": threshold(3), "spend": threshold(15), "store": public()})


def losses(rows: int = 48_842) -> pd.DataFrame:
    """Return a synthetic stand-in for the capital losses of a census: nearly all 0, some around 1,900.

    It has as many rows and values (0 to 4,356) as the table in the SIGMOD 2014 paper, and no row of it.

    Examples:
        >>> frame = losses()
        >>> round(float((frame["loss"] == 0).mean()), 3)
        0.953
    """
    some = np.clip((_even(rows, 2) - 0.953) / 0.047, 0, 1)
    loss = np.interp(some, [0, 0.01, 0.15, 0.5, 0.85, 0.99, 1], [0, 155, 1_500, 1_880, 2_050, 2_800, 4_356])
    return pd.DataFrame({"loss": loss.astype(np.int64)})


def losses_policy(theta: int | None = 100) -> Policy:
    """Return the policy of the losses: those within theta stay alike, or all of them for None.

    Examples:
        >>> losses_policy(1).plan.range("loss", [(0, 99), (100, None)], epsilon=1).strategy
        'ordered'
    """
    secret = full() if theta is None else threshold(theta)
    return Policy(Domain((integers("loss", 0, 4_356),)), secrets={"loss": secret})


def _even(rows: int, prime: int) -> NDArray[np.float64]:
    """Return numbers spread evenly over [0, 1): multiples of the square root of a prime, modulo 1."""
    root = Fraction(np.sqrt(prime)).limit_denominator(10**9)
    steps = np.arange(1, rows + 1, dtype=np.int64)
    part: NDArray[np.float64] = (steps * root.numerator % root.denominator) / root.denominator
    return part


def _bell(rows: int, prime: int) -> NDArray[np.float64]:
    """Return numbers spread like a bell curve around 0, two in three within 1, unrelated for two primes.

    They are squares times the root of a prime, modulo 1: multiples alone would lie on lines where two meet.
    """
    root = Fraction(np.sqrt(prime)).limit_denominator(10**9)
    squares = np.arange(1, rows + 1, dtype=np.int64) ** 2 % root.denominator
    part = (squares * root.numerator % root.denominator) / root.denominator
    spread: NDArray[np.float64] = np.interp(part, *BELL)
    return spread


def _strays(values: NDArray[Any], every: Mapping[int, str | Callable[[str], str]]) -> list[str]:
    """Return values as texts of which each so-manieth is rewritten: "{}" stands for what it was."""
    texts = [str(value) for value in values]
    for step, form in every.items():
        written = form.format if isinstance(form, str) else form
        texts[step - 1 :: step] = [written(text) for text in texts[step - 1 :: step]]
    return texts


def _comma(text: str) -> str:
    return text.replace(".", ",")


def _initial(text: str) -> str:
    return text[0]
