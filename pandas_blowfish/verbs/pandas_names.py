"""Names of pandas that have no verb here: what to use instead, or why no private answer exists.

Nothing here is called: these are the fixes of errors. Never sees rows.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pandas_blowfish.errors import UnknownVerbError

ROWS = (
    "it shows single rows, which stay private; df itself is yours: df.{name}. Released are counts and totals."
)
ONE_ROW = (
    "it depends on single rows, so noise that hides a row would hide the answer too; quantile([0.01, 0.99], "
    "epsilon=0.1) shows the ends of a column, value_counts what values are frequent."
)
BEFORE = "change rows before they are protected: df.{name}(...), then df.blowfish.protect(policy, epsilon=1)."
DECLARED = "values are counted as the schema declares them; df.blowfish.policy shows columns and domains."
FUNCTION = (
    "what any function may reveal has no bound; ask a verb, workload for weighted counts, or add a declared "
    "column to the rows before protect."
)
RELEASED = "a release is written: bf.save(df.blowfish.hist(..., epsilon=0.1), path); it is a plain frame."
FIGURES = "compute with what was released, a plain frame: df.blowfish.hist(..., epsilon=0.1).{name}."
ORDER = "the order of rows is no part of a table here; cumhist counts along the values of a column."
TIME = 'group instants by bins: groupby("time", bins="MS"), or hist("time", bins=...).'
MOMENTS = "no verb measures it; std, quantile and hist describe how values are spread."

INSTEAD = {  # by idea: what to say, and of which names
    ROWS: "head tail sample iloc loc iat at xs take nth get get_group values array item items iterrows "
    "itertuples to_numpy list tolist to_list keys pop squeeze truncate ravel view",
    ONE_ROW: "min max nunique unique first last idxmin idxmax argmin argmax ohlc is_unique hasnans "
    "is_monotonic_increasing is_monotonic_decreasing first_valid_index last_valid_index prod product",
    "nothing noisy is certain of all rows; where(...).count(epsilon=0.1) says how many there are.": (
        "all any bool empty equals"
    ),
    FUNCTION: "apply applymap map transform pipe eval combine case_when",
    "join tables before they are protected: the policy is about one table; pools share a budget.": (
        "merge join combine_first compare align corrwith"
    ),
    BEFORE: "assign insert isetitem drop drop_duplicates duplicated fillna ffill bfill interpolate replace "
    "rename rename_axis astype convert_dtypes infer_objects clip round explode melt update set_index "
    "reset_index set_axis reindex reindex_like add_prefix add_suffix abs str dt cat struct sparse "
    "backfill pad tz_convert tz_localize to_period to_timestamp factorize repeat select set_flags",
    "where(\"age >= 18 and sex == 'F'\") asks about some of the rows; it is parsed, never evaluated.": (
        "query filter mask between isin between_time at_time lt le gt ge eq ne isna isnull notna notnull"
    ),
    "value_counts leaves missing values out; hist counts them, if the schema is nullable.": "dropna",
    RELEASED: "to_csv to_parquet to_excel to_json to_dict to_records to_sql to_feather to_orc to_pickle "
    "to_hdf to_html to_latex to_markdown to_string to_clipboard to_stata to_xml to_xarray to_iceberg "
    "to_gbq to_frame style",
    'draw a release: df.blowfish.hist("age", epsilon=0.1).blowfish.plot().': "plot boxplot",
    TIME: "resample rolling expanding ewm asfreq asof",
    "crosstab(index, columns, epsilon=0.1) is a table of counts, groupby([...]).mean(...) of averages.": (
        "pivot pivot_table unstack stack"
    ),
    "top(k) lists the most frequent values, value_counts all; quantile gives the ends of a column.": (
        "nlargest nsmallest rank sort_values sort_index argsort searchsorted"
    ),
    ORDER: "cumsum cumcount cummax cummin cumprod shift diff pct_change autocorr",
    "groups are the declared combinations: groupby([...]).size(epsilon=0.1) counts their rows.": (
        "groups grouper ngroups ngroup indices level"
    ),
    'select columns: df.blowfish["age"] or df.blowfish[["age", "income"]]; df.blowfish.policy lists them.': (
        "columns select_dtypes name axes"
    ),
    DECLARED: "dtypes dtype index info shape ndim memory_usage nbytes flags attrs",
    MOMENTS: "skew kurt kurtosis sem",
    FIGURES: "add sub subtract mul multiply div divide truediv floordiv mod divmod pow radd rsub rmul rdiv "
    "rtruediv rfloordiv rmod rdivmod rpow dot T transpose swaplevel reorder_levels droplevel swapaxes",
    "a view holds no rows to copy or build; ask it again, it costs nothing until a verb is called.": (
        "copy from_dict from_records from_arrow"
    ),
    "agg asks several functions of columns in one release.": "aggregate",
}
FIXES = {name: text for text, names in INSTEAD.items() for name in names.split()}
OTHERS = "it has no verb here; help(df.blowfish) lists those there are."
OF_A_RELEASE = "a release is a plain frame: ask it itself, release.{name}."


def name_error(asked: Any, name: str, kind: str | None = "protected") -> AttributeError:
    """Return the error for a name that a view does not have: a column, a name of pandas, a misspelt verb.

    Args:
        asked: The view: `df.blowfish`, `plan`.
        name: What it was asked for.
        kind: "protected", "release", or None for rows.
    """
    what = f"{type(asked).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):  # Python's own questions
        return AttributeError(what, name=name, obj=asked)
    return UnknownVerbError(name, what, _fix(asked, name, kind))


def _fix(asked: Any, name: str, kind: str | None) -> str:
    """Return what to write instead; "" where nobody knows."""
    import pandas as pd  # here: `verbs` itself needs none of it
    from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

    if kind == "protected" and name != "policy" and name in _declared(asked):
        return f"select a column by its name in brackets: df.blowfish[{name!r}]."
    of_pandas = any(
        hasattr(each, name) for each in (pd.DataFrame, pd.Series, DataFrameGroupBy, SeriesGroupBy)
    )
    if of_pandas and kind == "release":
        return OF_A_RELEASE.format(name=name)
    if name in FIXES or of_pandas:
        return FIXES.get(name, OTHERS).format(name=name)
    near = get_close_matches(name, [each for each in dir(type(asked)) if not each.startswith("_")], n=1)
    return f"did you mean {near[0]}?" if near else ""


def _declared(asked: Any) -> list[str]:
    """Return the columns of a view's policy; none where that cannot be read any more."""
    try:
        return list(asked.policy.domain.columns)
    except Exception:  # noqa: BLE001  the error to come is about a name, not about this
        return []
