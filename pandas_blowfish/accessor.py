"""df.blowfish by the role of a frame: unprotected rows, protected rows, a release. No row is touched here.

Reads arguments and delegates: no maths, no state. `Verbs` declares what protected rows can be asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

import pandas as pd

from pandas_blowfish.beyond.weaker import WeakerPlan
from pandas_blowfish.books.ledger import Budget, Ledger
from pandas_blowfish.books.pools import Pool
from pandas_blowfish.count.readers import TAKEN, open_table
from pandas_blowfish.count.seal import Frame
from pandas_blowfish.errors import (
    ArgumentError,
    FrameError,
    NotProtectedError,
    NotReleasedError,
    WrongRoleError,
)
from pandas_blowfish.explain.glance import frame_html, frame_text, release_html, release_text
from pandas_blowfish.policy.policy import Policy
from pandas_blowfish.queries.call.planner import VERBS, Planner, plan_verb
from pandas_blowfish.queries.call.scope import Scope
from pandas_blowfish.queries.frames import protect as binding
from pandas_blowfish.queries.frames.answer import answer
from pandas_blowfish.queries.frames.free_questions import FreeQuestions
from pandas_blowfish.queries.frames.kept import find_answer
from pandas_blowfish.queries.frames.protect import Opened
from pandas_blowfish.queries.kmeans import assign
from pandas_blowfish.queries.weaker_promise import answer_weaker
from pandas_blowfish.release import Receipt, interval, receipt_of
from pandas_blowfish.table_set import Tables
from pandas_blowfish.types import Columns, Epsilon, Number, Strategy
from pandas_blowfish.verbs.arguments import check_call, specialise
from pandas_blowfish.verbs.core_verbs import Verbs
from pandas_blowfish.verbs.pandas_names import name_error

REFUSED = {  # protect, by the kind of what is protected
    "protected": ("this table is protected already", "give bf.protect the table itself."),
    "release": ("this frame is a release, not rows", "protect rows; a release answers more, free, as it is."),
}

Given = ParamSpec("Given")
Free = ParamSpec("Free")
Bound = TypeVar("Bound")  # what protect returns: a marked pandas frame; of another engine its verbs


class BlowfishAccessor:
    """Blowfish privacy on a frame: protect it, then release noisy answers from it.

    `df.blowfish` has what a frame of its role can be asked, and the error of anything else states the role.
    Rows have `protect`; protected rows the verbs, `plan` and `budget`; a release its `receipt`, `interval()`,
    `plot()` and more questions, free.

    Examples:
        >>> import pandas_blowfish as bf
        >>> patients = bf.datasets.patients(1_000)
        >>> df = patients.blowfish.protect(bf.datasets.patients_policy(), epsilon=1)
        >>> ages = df.blowfish.hist("age", epsilon="0.25")
        >>> ages.shape, df.blowfish.budget
        ((100, 3), Budget(total=1, spent=0.25, remaining=0.75))
    """

    _kind: ClassVar[str | None] = None  # of the record that a frame of this role carries
    _fix: ClassVar[str] = "df = df.blowfish.protect(policy, epsilon=1)"

    def __init__(self, frame: Any, scope: Scope | None = None) -> None:
        self._frame, self._scope = frame, scope or Scope()

    if not TYPE_CHECKING:  # to a type checker a role has just its own members

        def __getattr__(self, name: str) -> Any:
            """Say which role the frame has, where another one has what is asked for."""
            if hasattr(Protected, name) and not name.startswith("_"):
                raise NotProtectedError(self._kind, self._fix)
            if hasattr(ReleasedFrame, name) and not name.startswith("_"):
                raise NotReleasedError(self._kind)
            if name == "protect":
                problem, fix = REFUSED[self._kind]
                raise WrongRoleError(problem, fix=fix)
            raise name_error(self, name, self._kind)

        def __getitem__(self, columns: Any) -> Any:
            """Say which role the frame has: columns of protected rows are selected."""
            raise NotProtectedError(self._kind, self._fix)

        __iter__ = None

    def __repr__(self) -> str:
        return frame_text(self._frame.attrs.get("blowfish"), self._scope)

    def _repr_html_(self) -> str:
        return frame_html(self._frame.attrs.get("blowfish"), self._scope)


class Rows(BlowfishAccessor, Generic[Bound]):
    """Rows that can be protected."""

    @check_call
    def protect(
        self,
        policy: Any,
        *,
        epsilon: Epsilon,
        dataset: str | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        outside: str = "error",
        unit: str | None = None,
        max_rows: int | None = None,
        new: bool = False,
        pool: Pool | str | None = None,
        analyst: str | None = None,
        limits: Mapping[str, Number] | None = None,
    ) -> Bound:
        """Return this frame bound to a policy, a budget and a ledger; every release starts here.

        Args:
            policy: A `bf.Policy`, a pandera schema to make one of, or the path of a policy file (YAML).
            epsilon: The total that all releases together may lose; 0.1 means exactly 1/10.
            dataset: The name the budget is kept under. Protecting the same rows under the same name
                continues the same budget. Required with a file ledger.
            ledger: A path or a `bf.Ledger`; None keeps the budget in this process's memory.
            outside: "error" refuses values outside the declared domain, "clip" puts numbers beyond
                the bounds into the nearest cell (the promise then concerns the clipped values).
            unit: A column that names who a row is about; repeats are refused, unless `max_rows` allows them.
            max_rows: How many rows one person may have, all of which may change at once; None: as the policy
                states (1). Of more that many are kept, by a keyed hash, which is as good as chance.
            new: Allow a new name for rows that have another one in the ledger already: a second budget for
                the same people, on the record.
            pool: A `bf.Pool` that the dataset is in for good, or the name of one that the ledger has:
                datasets about the same people share its total, and each charge counts against both.
            analyst: Who asks, as the ledger's entries are to state it; None: as `bf.Ledger(analyst=)` does.
            limits: What each analyst may charge, such as {"ana": "1/2"}, when the dataset is first protected;
                `Ledger.set_limit` changes it.

        Returns:
            A pandas frame to ask through its own `.blowfish`; of another engine's frame its verbs.

        Raises:
            OutsideDomainError: Some row is outside the declared domain (names columns only).
            StaleFrameError, PolicyMismatchError, BudgetMismatchError: The name is bound to other rows,
                another policy, another total.
            SecondNameError: The rows have another name in this ledger; see `new`.
        """
        stated: dict[str, Any] = {"epsilon": epsilon, "dataset": dataset, "ledger": ledger}
        stated |= {"new": new, "pool": pool, "analyst": analyst, "limits": limits, "max_rows": max_rows}
        return self._bind(policy, **stated, outside=outside, unit=unit)

    def _bind(self, policy: Any, **stated: Any) -> Bound:
        marked: Bound = binding.protect(self._frame, policy, **stated)
        return marked


class UnprotectedFrame(Rows[pd.DataFrame]):
    """`df.blowfish` of a pandas frame that is not protected yet."""


class UnprotectedTable(Rows["Protected"]):
    """`frame.blowfish` of a polars or Dask frame: what a curator may do before its rows are protected."""

    _fix = "protected = frame.blowfish.protect(policy, epsilon=1), then protected.hist(...)"

    def _bind(self, policy: Any, **stated: Any) -> Protected:
        return protect(self._frame, policy, **stated)

    def __repr__(self) -> str:
        return "not protected yet: frame.blowfish.protect(policy, epsilon=1, ...) returns its verbs"


@specialise(pd.DataFrame, Tables)
class Protected(BlowfishAccessor, Verbs[pd.DataFrame, Tables]):
    """Protected rows, of pandas or another engine, and what they can be asked; `bf.protect` makes one.

    Rows stay where they are: another engine is asked for counts by cell, which get their noise here. Results
    are pandas frames with their receipts.
    """

    _kind = "protected"
    __getitem__ = Verbs.__getitem__

    def __init__(self, table: Any, scope: Scope | None = None) -> None:
        if not isinstance(table, Frame) or not isinstance(table.attrs.get("blowfish"), Mapping):
            raise FrameError("not a protected table", fix="use bf.protect.")
        super().__init__(table, scope)

    @property
    def plan(self) -> Planner:
        """Return the verbs without data: what a query would cost and how wrong it would be."""
        source = self._opened()
        return Planner(source.policy, self._scope, _public_rows(source))

    @property
    def policy(self) -> Policy:
        """Return the policy this frame is protected by."""
        return self._opened().policy

    @property
    def budget(self) -> Budget:
        """Return total, spent and remaining epsilon, as exact fractions, and why it is closed if it is."""
        source = self._opened()
        return source.ledger.budget(source.dataset.name)

    @property
    def ledger(self) -> Ledger:
        """Return the ledger this frame is charged to."""
        return self._opened().ledger

    @property
    def native(self) -> Any:
        """Return the table as it was given: its rows are private."""
        return self._frame if isinstance(self._frame, pd.DataFrame) else self._frame.native

    @check_call
    def report(self, path: Any, *, releases: Any = ()) -> Path:
        """Write one page for the privacy officer: the promise, the budget, every release, the ledger checked.

        Named releases are read back from the ledger, free; others are shown by their entry alone, unless they
        are given. Nothing is spent, and no row is read.

        Args:
            path: Where to; ends in .html.
            releases: Released frames to show too, each compared with the ledger.

        Returns:
            The file written.
        """
        from pandas_blowfish.explain.report.account import account
        from pandas_blowfish.explain.report.page import page_path, write_page

        source, target = self._opened(), page_path(path)
        return write_page(account(source.ledger, source.dataset.name, of, releases), target)

    def _opened(self) -> Opened:
        return binding.open_frame(self._frame.attrs.get("blowfish"))

    def _narrow(self, step: str, *given: Any) -> Self:
        return type(self)(self._frame, getattr(self._scope, step)(self.policy, *given))

    def _expects_column(self, first: Any) -> bool:
        return self._scope.selected is None or self._scope.expects_column(self.policy, first)

    def _ask(self, verb: str, given: dict[str, Any]) -> Any:
        source = self._opened()
        known = _public_rows(source)
        if verb != "kmeans" and given.get("rows") not in (None, known):
            raise ArgumentError("rows", "not the public number of rows", fix="leave rows= out.")
        if given.get("units") and source.dataset.binding["unit"] is None:
            raise ArgumentError("units", "rows do not say who they are about", fix='protect(..., unit="id")')
        plan = plan_verb(verb, given, source.policy, self._scope, known)
        stated: dict[str, Any] = {"post": given["post"], "name": given["name"]}
        if isinstance(plan, WeakerPlan):
            return answer_weaker(plan, self._frame, source, **stated)
        stated |= {"build": VERBS[verb].build, "shapes": VERBS[verb].shapes}
        return answer(plan, self._frame, source, **stated)


class ProtectedFrame(Protected, Rows[pd.DataFrame]):
    """`df.blowfish` of a protected pandas frame; protecting it again continues its budget."""


def _public_rows(source: Opened) -> int | None:
    rows: int | None = source.dataset.binding["rows"] if source.policy.rows_public else None
    return rows


class ReleasedFrame(FreeQuestions, BlowfishAccessor):
    """`df.blowfish` of a released frame: its receipt, its errors, and more questions, free.

    A `hist` or `cumhist` answers `hist`, `cumhist`, `quantile`, `range`, `median`, `mean`, `var`, `std`,
    `value_counts`, `top` and `mode`; one of several columns, or a `marginal`, also `marginal`; a `kmeans`
    assigns rows, and answers `kmeans` with another k.
    """

    _kind = "release"

    def __repr__(self) -> str:
        return release_text(self._frame)

    def _repr_html_(self) -> str:
        return release_html(self._frame)

    @property
    def receipt(self) -> Receipt:
        """Return the receipt of a released frame."""
        return receipt_of(self._frame)

    @check_call
    def interval(self, level: Number = 0.95) -> pd.DataFrame:
        """Return `low` and `high` for each count, value or size of a released frame.

        Args:
            level: The probability with which each pair, by itself, holds the true answer.
        """
        return interval(self._frame, level)

    @check_call
    def assign(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Return for each row of a frame the number of the nearest centre of a released `kmeans`, free.

        What comes back is about each row: it is no release, and as private as the rows are.

        Args:
            frame: Any rows, protected or not, that have the coordinates as numbers; of centres by group also
                the columns grouped by, whose values pick the group (missing ones theirs, if it was released).

        Returns:
            A Series `cluster` of Int64, missing where a coordinate is, or the group has no centres.
        """
        return assign(self._frame, frame)

    @check_call
    def plot(self, *, ax: Any = None, level: Number = 0.95, columns: Columns | None = None) -> Any:
        """Draw a released frame: error bars, bands of cumulative counts, heat maps of two columns, clusters.

        Args:
            ax: The matplotlib Axes to draw on; None for new ones.
            level: The probability that the bars, or the band, hold the true answer.
            columns: What to draw of it. Of a `kmeans`: one or two coordinates. Of counts of two columns (a
                heat map): both, the one along the bottom first. Of a `sum` or `mean`: some columns.

        Returns:
            The Axes.
        """
        from pandas_blowfish.explain.release.plot import plot

        return plot(self._frame, ax=ax, level=level, columns=columns)


class Either(Protocol[Given, Free]):
    """A verb that may be called as on protected rows, or as on a release."""

    @overload
    def __call__(self, *given: Given.args, **named: Given.kwargs) -> pd.DataFrame: ...

    @overload
    def __call__(self, *given: Free.args, **named: Free.kwargs) -> pd.DataFrame: ...


class EitherTables(Protocol):
    """`marginal` as on protected rows, of one table or several, or as on a release."""

    @overload
    def __call__(self, columns: Columns) -> pd.DataFrame: ...

    @overload
    def __call__(
        self,
        columns: Columns | None = None,
        *,
        epsilon: Epsilon,
        order: None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> pd.DataFrame: ...

    @overload
    def __call__(
        self,
        columns: Columns | Sequence[Columns] | None = None,
        *,
        epsilon: Epsilon,
        order: int | None = None,
        strategy: Strategy = "auto",
        post: bool | str = True,
        name: str | None = None,
    ) -> Tables: ...


def _either(
    protected: Callable[Concatenate[Any, Given], pd.DataFrame],
    released: Callable[Concatenate[Any, Free], pd.DataFrame],  # noqa: ARG001  for its type
) -> Either[Given, Free]:
    return cast("Either[Given, Free]", protected)


class AnyFrame(ProtectedFrame, ReleasedFrame):
    """What `bf.of` is to type checkers, which cannot see the role of a frame: what any role has."""

    hist = _either(Protected.hist, ReleasedFrame.hist)
    cumhist = _either(Protected.cumhist, ReleasedFrame.cumhist)
    quantile = _either(Protected.quantile, ReleasedFrame.quantile)
    range = _either(Protected.range, ReleasedFrame.range)
    mean = _either(Protected.mean, ReleasedFrame.mean)
    median = _either(Protected.median, ReleasedFrame.median)
    var = _either(Protected.var, ReleasedFrame.var)
    std = _either(Protected.std, ReleasedFrame.std)
    value_counts = _either(Protected.value_counts, ReleasedFrame.value_counts)
    mode = _either(Protected.mode, ReleasedFrame.mode)
    top = _either(Protected.top, ReleasedFrame.top)
    marginal: EitherTables
    kmeans = _either(Protected.kmeans, ReleasedFrame.kmeans)


def of(frame: pd.DataFrame) -> AnyFrame:
    """Return `frame.blowfish`, typed: type checkers see the plain attribute as a Series.

    Its type has what frames of any role have; what comes back is that of the frame's own role.
    """
    if not isinstance(frame, pd.DataFrame):
        raise FrameError("not a pandas DataFrame", fix="give a DataFrame.")
    record = frame.attrs.get("blowfish")
    kind = record.get("kind") if isinstance(record, Mapping) else None
    role = {"protected": ProtectedFrame, "release": ReleasedFrame}.get(str(kind), UnprotectedFrame)
    return cast(AnyFrame, role(frame))


def _read_answer(ledger: Ledger, dataset: str, name: str, post: Any) -> Any:
    return find_answer(ledger, dataset, name, post, of)


Ledger.reader = staticmethod(_read_answer)
pd.api.extensions.register_dataframe_accessor("blowfish")(of)  # type: ignore[type-var]  # no class


@check_call
def protect(
    frame: Any,
    policy: Any,
    *,
    epsilon: Epsilon,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    outside: str = "error",
    unit: str | None = None,
    max_rows: int | None = None,
    new: bool = False,
    pool: Pool | str | None = None,
    analyst: str | None = None,
    limits: Mapping[str, Number] | None = None,
) -> Protected:
    """Bind a table of any engine to a policy, a budget and a ledger, and return its verbs.

    Rows outside the declared domain are looked for here, once; a release counts such rows nowhere and never
    fails because of one. Every table is sealed by how often its cells occur, whatever the order of rows (but
    for those of a chain, `bf.Markov`): a dataset may be protected in pandas today and in another engine
    tomorrow, on one budget. Each release first counts the columns it reads once more, to see that they are
    still those (`StaleFrameError`).

    Args:
        frame: A frame of pandas or polars (lazy too), a PyArrow table or dataset, a DuckDB relation, a
            Dask or a `pyspark.sql` DataFrame; a narwhals frame of these; any table of the Arrow PyCapsule
            protocol; or a function without arguments that opens a new stream of record batches each time.
        policy: A `bf.Policy`, a pandera schema to make one of, or the path of a policy file (YAML).
        epsilon: The total that all releases together may lose; 0.1 means exactly 1/10.
        dataset: The name the budget is kept under. Required with a file ledger.
        ledger: A path or a `bf.Ledger`; None keeps the budget in this process's memory.
        outside: "error" or "clip", as in `df.blowfish.protect`.
        unit: A column that names who a row is about; repeats are refused, unless `max_rows` allows them.
        max_rows: How many rows one person may have, as in `df.blowfish.protect`; the same ones are kept on
            every engine. Rows of people who have more are read into memory, those that are kept.
        new: Allow a new name for rows that have another one in the ledger, as in `df.blowfish.protect`.
        pool: A `bf.Pool`, or the name of one: a total that several datasets share, as there.
        analyst: Who asks, as entries are to state it.
        limits: What each analyst may charge, such as {"ana": "1/2"}, when the dataset is first protected.

    Returns:
        An object with every verb of `df.blowfish`, and `where`, `groupby`, `plan`, `budget`, `report`.

    Examples:
        >>> import pandas_blowfish as bf
        >>> patients = bf.protect(bf.datasets.patients(1_000), bf.datasets.patients_policy(), epsilon=1)
        >>> patients.hist("age", epsilon="0.25").shape, patients.budget.remaining
        ((100, 3), Fraction(3, 4))
    """
    stated: dict[str, Any] = {"epsilon": epsilon, "dataset": dataset, "ledger": ledger}
    stated |= {"outside": outside, "unit": unit, "max_rows": max_rows, "new": new}
    stated |= {"pool": pool, "analyst": analyst, "limits": limits}
    table = open_table(frame)
    if isinstance(table, pd.DataFrame):
        return Protected(of(table).protect(policy, **stated))
    if not isinstance(table, Frame):
        what = f"a {type(frame).__module__}.{type(frame).__qualname__} is no table that can be counted"
        raise FrameError(what, fix=f"give {TAKEN}; a path as pl.scan_parquet(path) or pd.read_csv(path).")
    return Protected(binding.protect(table, policy, **stated))
