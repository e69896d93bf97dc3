"""Spark DataFrames: their Arrow batches are counted by the workers that hold them. Sees rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from inspect import signature
from typing import Any, ClassVar

from pandas_blowfish.count.readers.batches import NEAR, ArrowTable, next_frame
from pandas_blowfish.count.readers.pieces import Answer, Key, Plus, Work, has_class, require_once
from pandas_blowfish.errors import MissingPackageError


@dataclass(frozen=True, eq=False)
class SparkBatches(ArrowTable):
    """A `pyspark.sql` DataFrame, on workers whose Python has this package installed."""

    engine: ClassVar[str] = "pyspark"
    extra: ClassVar[str] = "spark"

    def _schema(self) -> Any:
        import pyarrow as pa

        return pa.schema([(each.name, _arrow_type(each.dataType)) for each in self.native.schema.fields])

    def _count(self) -> int:
        return int(self.native.count())

    def _distinct(self, name: str) -> int:
        import pyarrow as pa
        from pyspark.sql import functions as f

        column = f.col(_quote(name))
        if pa.types.is_floating(self.schema.field(name).type):
            column = f.when(~f.isnan(column), column)
        return int(self.native.select(f.count_distinct(column)).collect()[0][0])

    def merge(self, columns: Sequence[str], work: Work[Answer], plus: Plus[Answer]) -> Answer:
        """Return what some work finds in every part, merged."""
        names = list(dict.fromkeys(columns))
        self.require_values(names)
        look = _look(names, work, plus)
        rows = self.native.selectExpr(*(f"{_quote(name)} AS `{at}`" for at, name in enumerate(names)))
        found = self._ask("counted", lambda: _collect(rows.mapInArrow(look, "answer binary")))
        answers: list[Answer] = [pickle.loads(bytes(each[0])) for each in found]
        return reduce(plus, answers) if answers else work(self._empty(names))

    def _groups(self, keys: Sequence[Key], most: int) -> Any | None:
        from pyspark.sql import functions as f

        by, ends = [], []
        for at, key in enumerate(keys):
            column = f.col(_quote(key.name))
            if not key.step:
                text = dict(self.native.dtypes)[key.name].startswith("string")
                # a collation would take two values for one
                by.append((f.collate(column, "UTF8_BINARY") if text else column).alias(f"least {at}"))
                continue
            place = f.rint((column - f.lit(key.low)) / f.lit(key.step) + f.lit(NEAR - 0.5))
            by.append(place.alias(f"key {at}"))
            ends += [f.min(column).alias(f"least {at}"), f.max(column).alias(f"greatest {at}")]
        counts = self.native.groupBy(*by).agg(*ends, f.count(f.lit(1)).alias("rows"))
        return counts.limit(most + 1).toArrow()


def _arrow_type(kind: Any) -> Any:
    """Return the Arrow type of a Spark type; bytes, which hold no declared value, for what has none."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
    try:
        return to_arrow_type(kind, **zone)
    except Exception:  # noqa: BLE001  whatever Spark raises of a type that Arrow has not
        return pa.binary()


def _look(
    names: list[str], work: Work[Answer], plus: Plus[Answer]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a worker does with its batches: it gives one answer for all of them."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        answer: Any = None
        while (frame := next_frame(batches)) is not None:
            found = work(frame.set_axis(names, axis=1))
            answer = found if answer is None else plus(answer, found)
        if answer is not None:
            yield pa.RecordBatch.from_pydict({"answer": [pickle.dumps(answer)]})

    return look


def _collect(answers: Any) -> list[Any]:
    """Return the answers of all workers; what they lack is named, and nothing else of what they raise."""
    try:
        return list(answers.collect())
    except Exception as error:
        if "ModuleNotFoundError" not in str(error):
            raise
    fix = "install it there, with pandas and pyarrow, and set PYSPARK_PYTHON to the Python that has it."
    raise MissingPackageError("pandas-blowfish on Spark's workers", fix)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def read_spark(frame: Any) -> SparkBatches | None:
    """Return a Spark DataFrame; None for what is none."""
    if not has_class(frame, "pyspark", "DataFrame"):
        return None
    require_once([str(name) for name in frame.columns])
    return SparkBatches(frame)
