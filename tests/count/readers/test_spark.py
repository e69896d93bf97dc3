"""What Spark's workers do with their batches, without a session; releases on one are in tests/engines."""

import operator
import pickle

import pytest

from pandas_blowfish.count.readers import spark
from pandas_blowfish.count.readers.spark import SparkBatches, read_spark
from pandas_blowfish.errors import FrameError, MissingPackageError

pa = pytest.importorskip("pyarrow")


def _frame(*names):
    return type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe", "columns": list(names)})()


def test_frames_are_recognised_by_class():
    """Nothing is imported for it; a name that occurs twice is refused."""
    assert isinstance(read_spark(_frame("a", "b")), SparkBatches)
    assert read_spark(pa.table({"a": [1]})) is None
    with pytest.raises(FrameError, match="twice: a"):
        read_spark(_frame("a", "b", "a"))


def test_a_worker_gives_one_answer():
    """Whatever its batches are, under the columns' own names; of none it gives nothing."""
    look = spark._look(["a.b"], lambda part: int(part["a.b"].sum()), operator.add)
    batches = [pa.RecordBatch.from_pydict({"0": [1, 2]}), pa.RecordBatch.from_pydict({"0": [4]})]

    (found,) = look(iter(batches))

    assert pickle.loads(found["answer"][0].as_py()) == 7
    assert list(look(iter([]))) == []


def test_workers_without_the_package_are_named():
    """What to do, and nothing of what they raised; anything else is raised as it is."""

    class Fails:
        def __init__(self, words):
            self.words = words

        def collect(self):
            raise RuntimeError(self.words)

    with pytest.raises(MissingPackageError, match="workers") as caught:
        spark._collect(Fails("ModuleNotFoundError: No module named 'pandas_blowfish' SECRETVALUE"))
    assert caught.value.__context__ is None
    assert "SECRET" not in str(caught.value)
    with pytest.raises(RuntimeError):
        spark._collect(Fails("other"))


def test_types_that_arrow_has_not_hold_no_declared_value():
    """They are bytes here, which are refused where they are declared."""
    types = pytest.importorskip("pyspark.sql.types")

    assert spark._arrow_type(types.LongType()) == pa.int64()
    assert spark._arrow_type(types.TimestampType()).tz == "UTC"
    assert spark._arrow_type(types.TimestampNTZType()).tz is None
    assert spark._arrow_type(object()) == pa.binary()
