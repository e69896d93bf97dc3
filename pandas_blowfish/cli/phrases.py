"""Messages for Python put into words of the shell: one table of phrases. Never sees rows."""

from __future__ import annotations

_TEXT = 'stored as text: pd.to_{} converts it, with errors="coerce" what it cannot to missing'
_CELLS = "some cells are no {}: fix them, or --na MARK for a text that means missing"
# the longer ones first: each is looked for in what those before have left
SHELL = {
    _TEXT.format("numeric"): _CELLS.format("numbers"),
    _TEXT.format("datetime"): _CELLS.format("instants as 2026-01-31 or 2026-01-31T12:00"),
    "na_values= of read_csv turns marks into nulls": "--na MARK makes a text mean missing",
    "one of schema and column has a time zone: tz_localize, or declare it": (
        "one of policy and column has a time zone: `tz:` declares it"
    ),
    "nullable=True, or fill": "`nullable: true`, or fill the cells",
    "absent from the frame": "absent from the file",
    "counts them; fix the rows": "counts them; fix the rows, or give --na MARK for a text that means missing",
    "bf.check(frame, policy)": "`pandas-blowfish check`",
    'outside="clip"': "--outside clip",
    'take others in one cell with bf.full(other="other")': "take others in one cell with `other: other`",
    'other="other"': "`other: other`",
    "nullable=True": "`nullable: true`",
    "Ledger.raise_budget": "`pandas-blowfish ledger FILE --dataset NAME --raise TOTAL --reason TEXT`",
    "Ledger.record_exact": "in Python Ledger.record_exact",
    'protect(..., unit="patient_id", max_rows=3)': "--unit COLUMN --max-rows 3",
    "protect(..., max_rows=3)": "--max-rows 3",
    'protect(..., unit="id")': "--unit COLUMN",
    "leave max_rows out": "leave --max-rows out",
    "max_rows=1, or": "--max-rows 1, or",
    "its name=": "its --name",
    "another name=": "another --name",
    "have a name=": "have a name",
    "protect with that epsilon": "give that --epsilon, or none",
    "allowed: epsilon='": "allowed: --epsilon '",
    "protect with the first one": "give the first one",
    "protect a frame with this ledger and name first": "`pandas-blowfish release --new` begins one",
    "release from the frame protect() returned": "release from the file as it was",
    "use .where() rather than filtering": "begin the query with where(...) rather than filtering the file",
    " An in-memory ledger lives in one process: to share a frame between processes protect it with "
    'ledger="budget.db".': "",
    "add Check.in_range(first, last) to its schema column, and step= to its secret": (
        "give it `min:`, `max:` and `step:` in the policy"
    ),
    "add Check.in_range(low, high) to the schema (and step= for floats)": (
        "give it `min:` and `max:` in the policy (and `step:` for floats)"
    ),
    "Check.in_range(low, high)": "`min:` and `max:`",
    "Check.isin([...])": "`values: [...]`",
    "write isin([...]) with a list": "write `values: [...]`",
    "pa.Column(pd.CategoricalDtype([...], ordered=True))": "`ordered: true`",
    "bf.partition": "`secret: partition`",
    "bf.public()": "`secret: public`",
    "the schema": "the policy",
}


def in_shell(text: str) -> str:
    """Return a text with each phrase of Python in words of the shell.

    Examples:
        >>> in_shell('widen the schema, fix the rows, or outside="clip"')
        'widen the policy, fix the rows, or --outside clip'
    """
    for phrase, words in SHELL.items():
        text = text.replace(phrase, words)
    return text


def message_in_shell(message: str) -> str:
    """Return an error's message with what is allowed and its fix in words of the shell.

    Its first line may hold names, which stay as they are.
    """
    first, *rest = message.split("\n")
    lines = [in_shell(line) if line.startswith(("  allowed: ", "  fix: ")) else line for line in rest]
    return "\n".join([first, *lines])
