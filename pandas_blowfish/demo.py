"""python -m pandas_blowfish.demo: the main job on bundled synthetic data, printed for a person."""

from __future__ import annotations

import pandas as pd

import pandas_blowfish as bf


def main() -> None:
    """Protect a synthetic table, plan, release and show the receipt."""
    patients = bf.datasets.patients()
    policy = bf.datasets.patients_policy()
    print(f"{len(patients):,} synthetic patients\n{patients.head(3).to_string(index=False)}\n")
    df = patients.blowfish.protect(policy, epsilon=1)
    print(policy, end="\n\n")
    print("What would a histogram of ages by decade cost, and how wrong would it be?")
    print(df.blowfish.plan.hist("age", epsilon="0.1", bins=10), end="\n\n")
    ages = df.blowfish.hist("age", epsilon="0.1", bins=10)
    _bars(ages, patients.groupby(patients["age"] // 10).size(), "ages by decade, epsilon 0.1")
    groups = df.blowfish.hist("disease", epsilon="0.1", bins=bf.datasets.DISEASES)
    _bars(groups, None, "disease groups: the policy discloses them, so they are exact and cost nothing")
    print(f"strategy {groups.blowfish.receipt['strategy']!r}, cost {groups.blowfish.receipt['epsilon']}\n")
    print("The income of the middle patient, and of the quarters, from one cumulative release:")
    incomes = df.blowfish.cumhist("income", epsilon="0.1")
    print(incomes.blowfish.quantile([0.25, 0.5, 0.75]).round(0).to_string())
    print(f"(synthetic truth {patients['income'].quantile([0.25, 0.5, 0.75]).round(0).tolist()})\n")
    print(ages.blowfish.receipt, end="\n\n")
    print(f"{df.blowfish.budget}; ledger verified: {df.blowfish.ledger.verify()}")


def _bars(release: pd.DataFrame, true: pd.Series[int] | None, title: str) -> None:
    """Print a release as bars with its 95% interval."""
    print(title)
    bounds = release.blowfish.interval(0.95)
    widest = float(release["count"].max()) or 1.0
    for place, (label, row) in enumerate(release.iterrows()):
        low, high = bounds.iloc[place]
        bar = "#" * round(40 * float(row["count"]) / widest)
        note = "" if true is None else f"   (synthetic truth {true.iloc[place]:,})"
        print(f"  {label!s:>12} {bar:<40} {row['count']:7,.0f}  95% in [{low:,.0f}, {high:,.0f}]{note}")
    print()


if __name__ == "__main__":
    main()
