"""Every exception of the library, under one base class; none ever shows a value from a row.

Each message states what happened, what is allowed and how to fix it, and each error carries its
facts as attributes. Names of columns and declared bounds may appear, rows never do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from pandas_blowfish.markup import short


class BlowfishError(Exception):
    """Base class of every error raised on purpose by this library."""

    def __str__(self) -> str:
        """Return the plain message (a KeyError would quote it)."""
        return str(self.args[0]) if self.args else ""


def _message(what: str, allowed: str = "", fix: str = "") -> str:
    """Return the three-part text of an error."""
    parts = {"allowed": allowed, "fix": fix}
    return "\n".join([what, *(f"  {key}: {text}" for key, text in parts.items() if text)])


class ArgumentError(BlowfishError, ValueError):
    """An argument has a value that no reading makes sense of."""

    def __init__(self, argument: str, problem: str, *, allowed: str = "", fix: str = "") -> None:
        self.argument, self.problem, self.allowed, self.fix = argument, problem, allowed, fix
        super().__init__(_message(f"{argument}: {problem}.", allowed, fix))


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that is not taken."""


class EpsilonError(ArgumentError):
    """An epsilon is not a positive finite number."""


class ExpressionError(ArgumentError):
    """A filter's text is not one of the comparisons that are understood."""

    def __init__(self, text: object, problem: str, fix: str = "") -> None:
        self.text = text if isinstance(text, str) else type(text).__name__
        shown = self.text if len(self.text) <= 120 else f"{self.text[:120]}..."
        allowed = "a column against constants, joined by and, or, not, such as \"age >= 18 and sex == 'F'\""
        fix = f"{fix}." if fix and not fix.endswith(".") else fix
        super().__init__(f"where({shown!r})", problem.rstrip("."), allowed=allowed, fix=fix)


class SchemaError(BlowfishError, ValueError):
    """A schema does not state what a domain needs, or states what we cannot honour."""

    about = "column"

    def __init__(self, column: str | None, problem: str, *, fix: str) -> None:
        self.column, self.problem, self.fix = column, problem, fix
        where = f"{self.about} {column!r}: " if column is not None else "schema: "
        super().__init__(_message(f"{where}{problem}.", fix=fix))


class SecretError(SchemaError):
    """A secret does not fit the column it is written on."""

    about = "secret of"


class AttachedPolicyError(SchemaError):
    """A policy attached to a schema does not agree with what the schema itself states now."""

    def __init__(self, differences: Mapping[str, tuple[str, str]]) -> None:
        self.differences = dict(differences)  # by column: what the schema states, what the policy states
        lines = [
            f"\n  {name}: the schema states {one}; the policy {two}"
            for name, (one, two) in differences.items()
        ]
        more = f"\n  and {len(lines) - 12} more" if len(lines) > 12 else ""
        fix = (
            "attach a policy of this schema again, bf.attach(schema, policy), or take away the metadata that "
        )
        fix += "differs: the columns' own, or schema.metadata['blowfish']."
        problem = f"the attached policy and the schema differ{''.join(lines[:12])}{more}"
        super().__init__(None, problem, fix=fix)


class DeclaredValueError(BlowfishError, ValueError):
    """A constant written by the user is not a declared value of its column."""

    def __init__(self, column: str, problem: str, *, allowed: str) -> None:
        self.column, self.problem, self.allowed = column, problem, allowed
        super().__init__(_message(f"column {column!r}: {problem}.", allowed))


class UndeclaredColumnError(BlowfishError, KeyError):
    """A query named a column that has no declared domain."""

    def __init__(self, column: object, declared: Sequence[str], fix: str = "") -> None:
        self.column, self.declared = column, list(declared)
        fix = fix or "add it to the schema; a domain is never read from the rows."
        super().__init__(_message(f"column {column!r} has no declared domain.", ", ".join(declared), fix))


class UnknownTableError(BlowfishError, KeyError):
    """A release of several tables was asked for one that it does not have."""

    def __init__(self, columns: object, tables: Sequence[Sequence[str]]) -> None:
        self.columns, self.tables = columns, [tuple(each) for each in tables]
        known = [", ".join(map(repr, each)) for each in tables[:12]]
        known += [f"{len(tables) - 12:,} more"] if len(tables) > 12 else []
        fix = "name the columns of a table that was asked for, in any order."
        wanted = {str(columns)} if isinstance(columns, str) else set(map(str, columns))  # type: ignore[call-overload]
        holds = next((each for each in tables if wanted and wanted < set(each)), None)
        if holds is not None:
            names = ", ".join(map(repr, holds))
            fix = f"tables[{names}].blowfish.marginal({sorted(wanted)!r}) sums it up, free."
        super().__init__(_message(f"this release has no table of {columns!r}.", "; ".join(known), fix))


class UnboundedColumnError(BlowfishError, ValueError):
    """A query needs the cells of a column that declares no bounds."""

    def __init__(self, column: str, why: str = "so it has no cells to count") -> None:
        self.column, self.why = column, why
        fix = "add Check.in_range(low, high) to the schema (and step= for floats)."
        super().__init__(_message(f"column {column!r} declares no bounds, {why}.", fix=fix))


class UnlistedColumnError(BlowfishError, ValueError):
    """A query needs the cells of a column whose keys are read from rows, and there are no rows yet."""

    def __init__(self, column: str) -> None:
        self.column = column
        fix = "protect the rows and plan on them, df.blowfish.plan; or plan on the keys that you expect, "
        fix += f"policy.with_keys({{{column!r}: [...]}}).plan."
        what = f"column {column!r}: its keys are read from the rows when they are protected, "
        super().__init__(_message(f"{what}and until then it has no cells.", fix=fix))


class DomainTooLargeError(BlowfishError, ValueError):
    """An answer, or an enumeration, would have more cells than can be handled."""

    def __init__(self, what: str, size: int, limit: int, *, fix: str) -> None:
        self.what, self.size, self.limit = what, size, limit
        super().__init__(_message(f"{what} has {size:,} entries; the limit is {limit:,}.", fix=fix))


class UnknownStrategyError(BlowfishError, ValueError):
    """A strategy was named that does not exist for this query."""

    def __init__(self, strategy: object, known: Sequence[str]) -> None:
        self.strategy, self.known = strategy, list(known)
        super().__init__(_message(f"unknown strategy {strategy!r}.", ", ".join(known)))


class ScaleError(BlowfishError, ValueError):
    """The noise a query needs is too large to be drawn exactly in 64 bits."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        what = f"the noise scale this query needs exceeds {limit:,}: the answer would be noise only."
        super().__init__(_message(what, fix="ask with a larger epsilon, or a query of smaller sensitivity."))


class FrameError(BlowfishError, ValueError):
    """A frame cannot be used for what was asked; names columns only."""

    def __init__(self, problem: str, *, fix: str, columns: Sequence[str] = ()) -> None:
        self.problem, self.fix, self.columns = problem, fix, list(columns)
        super().__init__(_message(f"{problem}.", fix=fix))


class EngineError(FrameError):
    """Another engine failed while rows were described or counted; its own words might show a value."""

    def __init__(self, engine: str, what: str, kind: str) -> None:
        self.engine, self.what, self.kind = engine, what, kind
        fix = "see that it answers a plain query by itself, then ask again; "
        fix += "nothing was charged (a file rewritten?)." if what == "checked" else "what was charged stays."
        super().__init__(f"{engine} raised {kind} while rows were {what}", fix=fix)


class DataFileError(FrameError):
    """A file of rows cannot be read; names the place, and shows nothing of a row."""


class OutsideDomainError(FrameError):
    """Some row holds a value, or a null, that its column does not declare."""

    def __init__(self, columns: Sequence[str]) -> None:
        names = ", ".join(map(repr, columns))
        fix = (
            "bf.check(frame, policy) counts them; fix the rows, widen the schema, declare nullable=True, or "
        )
        fix += 'outside="clip" for an order, other="other" for values that are not listed, or leave the '
        fix += "column out of the schema if no query needs it."
        super().__init__(f"rows lie outside the declared domain of {names}", columns=columns, fix=fix)


class FactMismatchError(FrameError):
    """The rows do not agree with a known answer of the policy, which is named as it is written."""

    def __init__(self, facts: Sequence[str], fix: str = "") -> None:
        self.facts = list(facts)
        more = f" and {len(self.facts) - 5} more" if len(self.facts) > 5 else ""
        what = f"the rows do not agree with the known answer of {', '.join(self.facts[:5])}{more}"
        fix = fix or "bf.check(frame, policy) lists such facts; fix the rows or the answers."
        super().__init__(what, fix=fix)


class WrongRoleError(FrameError, AttributeError):
    """A frame was asked for what frames of another role have: rows, protected rows, releases."""


class NotProtectedError(WrongRoleError):
    """A release was asked of a frame that carries no protection record."""

    def __init__(self, kind: object = None, fix: str = "df = df.blowfish.protect(policy, epsilon=1)") -> None:
        plain = ("this frame is not protected", f"{fix}; pivot, CSV and some merges lose the record.")
        released = ("this frame is a release, not protected rows", "ask the frame protect() returned.")
        what, fix = released if kind == "release" else plain
        super().__init__(what, fix=fix)


class NotReleasedError(WrongRoleError):
    """A question about a release was asked of a frame that is not one."""

    def __init__(self, kind: object = None) -> None:
        fix = "ask it of the frame a verb returned, such as df.blowfish.hist(...); keep its attrs."
        protected = "this frame is protected rows, not a release: it carries no receipt"
        super().__init__(protected if kind == "protected" else "this frame carries no receipt", fix=fix)


class UnknownVerbError(BlowfishError, AttributeError):
    """A view was asked for a name that it does not have, such as one that only pandas has."""

    def __init__(self, name: str, what: str, fix: str = "") -> None:
        self.name, self.fix = name, fix
        super().__init__(_message(f"{what}.", fix=fix))


class ReceiptError(FrameError):
    """The receipt of a release was edited, or does not fit the frame that carries it."""

    def __init__(self, what: str) -> None:
        self.what = what
        fix = "take the release as its verb returned it; one with a name= is in the ledger, at no cost."
        super().__init__(f"the receipt is not one that a release carries: {what}", fix=fix)


class StaleFrameError(FrameError):
    """The rows are not the rows that were sealed under this dataset name."""

    def __init__(self, dataset: str, what: str) -> None:
        self.dataset, self.what = dataset, what
        fix = "release from the frame protect() returned; to ask about some of its rows "
        fix += "use .where() rather than filtering; other rows are another dataset with its own name."
        if "same rows in another order" in what:
            fix = "the policy's chain is about rows in order of time: put them back into that order."
        super().__init__(f"{what} not what was sealed as dataset {dataset!r}", fix=fix)


class LedgerError(BlowfishError):
    """Something is wrong with a ledger."""


class LedgerNotFoundError(LedgerError, FileNotFoundError):
    """The ledger a frame or a call points to does not exist here."""

    def __init__(self, location: str) -> None:
        self.location = location
        what = f"ledger {location!r} does not exist here; a lost ledger is never replaced by a new one."
        fix = "give the right path, or restore the file. An in-memory ledger lives in one process: "
        fix += 'to share a frame between processes protect it with ledger="budget.db".'
        super().__init__(_message(what, fix=fix))


class UnknownDatasetError(LedgerError, KeyError):
    """The ledger holds no dataset of this name."""

    def __init__(self, dataset: str, known: Sequence[str]) -> None:
        self.dataset, self.known = dataset, list(known)
        fix, allowed = "protect a frame with this ledger and name first.", ", ".join(known) or "it is empty"
        super().__init__(_message(f"the ledger holds no dataset {dataset!r}.", allowed, fix))


class LedgerTamperedError(LedgerError):
    """The hash chain does not hold: an entry was edited, deleted, reordered or cut off."""

    def __init__(self, entry: int | None, problem: str, fix: str = "") -> None:
        self.entry, self.problem = entry, problem
        where = f"entry {entry}: " if entry is not None else ""
        super().__init__(_message(f"{where}{problem}.", fix=fix or "restore the ledger from a trusted copy."))


class LedgerKeyError(LedgerError):
    """BLOWFISH_LEDGER_KEY is set for an unkeyed ledger, or missing or wrong for a keyed one."""

    def __init__(self, problem: str, fix: str = "set BLOWFISH_LEDGER_KEY as when it was begun.") -> None:
        self.problem, self.fix = problem, fix
        super().__init__(_message(f"{problem}.", fix=fix))


class SealKeyError(LedgerKeyError):
    """The key of a ledger's seals is missing, is another one, or still lies in an old ledger."""


class InsufficientBudgetError(LedgerError):
    """A charge would take the dataset over its total."""

    def __init__(self, dataset: str, requested: Fraction, remaining: Fraction, total: Fraction) -> None:
        self.dataset, self.requested, self.remaining, self.total = dataset, requested, remaining, total
        ask, left, whole = map(short, (requested, remaining, total))
        what = f"dataset {dataset!r}: requested {ask}, remaining {left}, total {whole}."
        fix = "ask with a smaller epsilon, reuse an earlier release by its name=, "
        fix += "or raise the total on the record with Ledger.raise_budget."
        super().__init__(_message(what, f"epsilon <= {left}" if remaining else "what costs 0", fix))


class PoolBudgetError(InsufficientBudgetError):
    """A charge would take the pool of its dataset over the pool's total."""

    def __init__(
        self, pool: str, dataset: str, requested: Fraction, remaining: Fraction, total: Fraction
    ) -> None:
        super().__init__(dataset, requested, remaining, total)
        self.pool = pool
        ask, left, whole = map(short, (requested, remaining, total))
        what = f"pool {pool!r}: requested {ask} for dataset {dataset!r}, remaining {left}, total {whole}."
        fix = "ask with a smaller epsilon, or raise the pool's total on the record with Ledger.raise_budget."
        self.args = (_message(what, f"epsilon <= {left}" if remaining else "what costs 0", fix),)


class AnalystLimitError(InsufficientBudgetError):
    """A charge would take its analyst over the limit that was agreed on."""

    def __init__(
        self, dataset: str, analyst: str, requested: Fraction, remaining: Fraction, limit: Fraction
    ) -> None:
        super().__init__(dataset, requested, remaining, limit)
        self.analyst, self.limit = analyst, limit
        ask, left, most = map(short, (requested, remaining, limit))
        what = f"dataset {dataset!r}: {analyst!r} requested {ask}, remaining {left} of a limit of {most}."
        fix = "ask with a smaller epsilon, or change the limit on the record with Ledger.set_limit."
        self.args = (_message(what, f"epsilon <= {left}" if remaining > 0 else "what costs 0", fix),)


class ClosedDatasetError(LedgerError):
    """A dataset takes no more charges."""

    about = "is closed"
    fix = "releases that have a name= stay readable; another dataset name is a new budget, on the record."

    def __init__(self, dataset: str, reason: str, *, for_good: bool = False) -> None:
        self.dataset, self.reason, self.for_good = dataset, reason, for_good
        fix = f"no total opens it again; {self.fix}" if for_good else ""
        super().__init__(_message(f"dataset {dataset!r} {self.about}: {reason}.", fix=fix))


class OnceError(ClosedDatasetError):
    """A dataset has had the one release that its promise allows."""

    about, fix = "does not take this release", "the first one is found again by its name."


class FactsChangedError(LedgerError):
    """A public fact was recorded between the plan of a release and its charge."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        what = f"dataset {dataset!r}: a public fact was recorded meanwhile, so nothing was charged."
        super().__init__(_message(what, fix="ask again: the answer is planned under all facts."))


class BudgetMismatchError(LedgerError, ValueError):
    """A dataset was protected again with another total."""

    def __init__(self, dataset: str, asked: Fraction, total: Fraction) -> None:
        self.dataset, self.asked, self.total = dataset, asked, total
        what = f"dataset {dataset!r} has a total of {short(total)}, not {short(asked)}."
        fix = "protect with that epsilon; Ledger.raise_budget raises the total on the record."
        super().__init__(_message(what, f"epsilon={short(total)!r}", fix))


class PolicyMismatchError(LedgerError, ValueError):
    """A dataset was protected again under another policy, clipping or unit."""

    def __init__(self, dataset: str, what: str, facts: Sequence[str] = ()) -> None:
        self.dataset, self.what, self.facts = dataset, what, list(facts)
        more = ", with all facts recorded since or none; without facts also one that implies it"
        allowed = f"the same one{more if what == 'policy' else ''}"
        fix = "protect with the first one, or use another dataset name (a new budget, on the record)."
        if facts:
            named = f"{', '.join(self.facts[:5])}{', ...' if len(facts) > 5 else ''}"
            fix = f"Ledger.record_exact({dataset!r}, ...) records what is public since, answers too: {named}."
        text = f"dataset {dataset!r} was first protected with another {what}."
        super().__init__(_message(text, allowed, fix))


class SecondNameError(LedgerError, ValueError):
    """Rows that have a name, and so a budget, in a ledger were protected under another name."""

    def __init__(self, dataset: str, first: str) -> None:
        self.dataset, self.first = dataset, first
        what = f"the rows of dataset {dataset!r} are sealed in this ledger already, as {first!r}"
        fix = f"protect(..., dataset={first!r}) continues its budget; new=True begins another, on the record."
        super().__init__(_message(f"{what}: a second name is a second budget for the same people.", fix=fix))


class UnknownAnswerError(LedgerError, KeyError):
    """The ledger keeps no answer under this name."""

    def __init__(self, dataset: str, name: str, known: Sequence[str]) -> None:
        self.dataset, self.name, self.known = dataset, name, list(known)
        fix = "only releases with a name= are kept; one that was interrupted after its charge is not."
        allowed = ", ".join(map(repr, self.known[:20])) + (", ..." if len(self.known) > 20 else "")
        what = f"the ledger keeps no answer {name!r} of dataset {dataset!r}."
        super().__init__(_message(what, allowed or "none has a name", fix))


class NameTakenError(LedgerError, ValueError):
    """A release name already stands for another query on the same dataset."""

    def __init__(self, dataset: str, name: str, query: object = None) -> None:
        self.dataset, self.name, self.query = dataset, name, query
        what = f"the name {name!r} already stands for another query on dataset {dataset!r}"
        fix = "repeat that query exactly, or choose another name=."
        super().__init__(_message(f"{what}: {query}." if query else f"{what}.", fix=fix))


class UnsoundPlanError(BlowfishError):
    """What was about to be measured would lose more than is charged: nothing was counted."""

    def __init__(self, what: str) -> None:
        self.what = what
        allowed = "releases that lose at most what they are charged, found out anew before each"
        fix = "nothing was counted; please report the policy and the call: a plan should never be refused so."
        super().__init__(_message(f"the plan is refused: {what}.", allowed, fix))


class TestNoiseError(LedgerError):
    """Replayed test noise was about to be charged to a file ledger."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    def __init__(self) -> None:
        what = "bf.testing.replay noise is predictable and may not be charged to a file ledger."
        super().__init__(_message(what, fix="leave the replay block, or protect in memory."))


class MissingPackageError(BlowfishError, ImportError):
    """Something asked for needs a package that is an extra."""

    def __init__(self, package: str, fix: str) -> None:
        super().__init__(_message(f"{package} is not installed.", fix=fix), name=package)
