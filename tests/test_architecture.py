"""Imports point one way, and only the kernel touches rows, randomness or budget."""

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType

import pytest

from pandas_blowfish.plan.protocol import OwnNoise, Question, Round, Strategy

PACKAGE = Path(__file__).resolve().parents[1] / "pandas_blowfish"
MODULES = sorted(PACKAGE.rglob("*.py"))

# what each layer may import from the project, besides itself and errors, markup, types, version
BELOW_PLAN = {"exact", "policy", "facts"}
BELOW_KERNEL = BELOW_PLAN | {"plan", "beyond", "count", "books"}
MAY_IMPORT = {
    "exact": set(),
    "policy": {"exact"},
    "facts": {"exact", "policy"},
    "plan": BELOW_PLAN,
    "beyond": BELOW_PLAN | {"plan"},
    "count": BELOW_PLAN | {"plan"},
    "books": BELOW_PLAN | {"plan"},
    "kernel": BELOW_KERNEL,
    "arrangement": {"exact"},
    "release": BELOW_PLAN | {"plan", "books", "arrangement"},
    "table_set": {"books"},
    "spreadsheet": set(),
    "label_text": {"books", "spreadsheet"},
    "export": {"release", "spreadsheet", "label_text", "table_set", "arrangement"},
    "datasets": {"policy"},
    "verbs": {"beyond"},
    "queries": BELOW_KERNEL | {"kernel", "release", "spreadsheet", "table_set", "verbs", "arrangement"},
    "testing": {"exact", "books", "kernel"},
    "explain": BELOW_PLAN | {"plan", "beyond", "books", "queries", "release", "spreadsheet", "arrangement"},
    "accessor": {"policy", "plan", "beyond", "count", "books", "queries", "release", "table_set", "explain"}
    | {"verbs"},
    "polars": {"accessor"},
    "dask": {"accessor"},
    "report": {"policy", "books", "queries", "explain", "release", "accessor"},
    "cli": BELOW_KERNEL | {"kernel", "queries", "release", "export", "accessor", "report", "demo"},
    "__main__": {"cli"},
}
# policies and tables are what people hold in their hands: some methods call upwards, inside the function
UPWARD = {("policy/policy.py", "facts"), ("policy/policy.py", "beyond"), ("table_set.py", "explain")}
RANDOM = {"random", "secrets", "numpy.random"}
BUDGET = {"sqlite3"}
# of a frame that may hold rows, other layers may read what describes it, and nothing else
DESCRIBES = {"attrs", "dtypes", "columns"}
GIVEN_BACK = {("accessor.py", "native")}  # a table of another engine, as it was given
RELEASED = {
    "release.py",
    "arrangement.py",
    "table_set.py",
    "export.py",
    "label_text.py",
    "spreadsheet.py",
    "demo.py",
    "datasets.py",
}  # see released or synthetic frames only


def _layer(path: Path) -> str:
    """Return the layer a module belongs to: its folder, or its own name at the top."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def _runtime_nodes(tree: ast.AST, *, inside: bool = True) -> list[ast.AST]:
    """Return all nodes but those under `if TYPE_CHECKING`, and those inside functions if asked for."""
    found, todo = [], [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo.extend(node.orelse)
            continue
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and not inside:
            continue
        found.append(node)
        todo.extend(ast.iter_child_nodes(node))
    return found


def _imports(path: Path, *, at_import: bool = False) -> set[str]:
    """Return the dotted names a module imports at run time, or just those it needs to be imported itself."""
    names: set[str] = set()
    for node in _runtime_nodes(ast.parse(path.read_text()), inside=not at_import):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    """exact <- policy <- facts <- plan <- {count, books} <- kernel <- queries <- accessor."""
    layer = _layer(path)
    if layer in ("__init__", "demo"):
        pytest.skip("the top of the package imports everything")
    allowed = {layer, "errors", "markup", "progress", "types", "version"} | MAY_IMPORT.get(layer, set())
    name = path.relative_to(PACKAGE).as_posix()
    upward = {upper for module, upper in UPWARD if module == name}

    used, at_import = _layers(_imports(path)), _layers(_imports(path, at_import=True))

    assert used <= allowed | upward
    assert upward <= used, "an exception that is not needed"
    assert at_import <= allowed


def _layers(names: set[str]) -> set[str]:
    """Return the layers of the package among some dotted names."""
    return {name.split(".")[1] for name in names if name.startswith("pandas_blowfish.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_kernel_draws_or_spends(path):
    """Random sources and the ledger's database are imported by the kernel alone."""
    forbidden = {
        name for name in _imports(path) if name in RANDOM | BUDGET or name.startswith("numpy.random")
    }
    calls = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}

    if _layer(path) not in ("kernel", "books"):
        assert not forbidden
        assert not calls & {"urandom", "default_rng", "RandomState"}
        assert not any(
            isinstance(node, ast.Attribute)
            and ast.unparse(node) in ("np.random", "numpy.random", "os.urandom")
            for node in ast.walk(ast.parse(path.read_text()))
        )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_kernel_touches_rows(path):
    """Elsewhere a frame is handed on whole: only its attrs, dtypes and columns are read."""
    if _layer(path) in ("kernel", "count") or path.name in RELEASED:
        return
    tree = ast.parse(path.read_text())

    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            owner = ast.unparse(node.value)
            if owner in ("frame", "self._frame", "df"):
                assert isinstance(node, ast.Attribute), f"rows are read at line {node.lineno}"
                described = node.attr in DESCRIBES or (path.name, node.attr) in GIVEN_BACK
                assert described, f"rows are read at line {node.lineno}"
        if isinstance(node, ast.Call):
            named = ast.unparse(node.func)
            given = {ast.unparse(argument) for argument in node.args}
            if named in (
                "len",
                "list",
                "sum",
                "max",
                "min",
                "sorted",
                "pd.DataFrame",
                "np.asarray",
                "np.array",
            ):
                assert not given & {"frame", "self._frame", "df"}, f"rows are read at line {node.lineno}"


def test_the_rules_can_fail(tmp_path):
    """A module that breaks each rule is found: the checks are not empty."""
    bad = tmp_path / "bad.py"
    bad.write_text("import random\nfrom pandas_blowfish.kernel.noise import replay\nx = frame['a']\n")
    late = tmp_path / "late.py"
    late.write_text("def f():\n    from pandas_blowfish.kernel.noise import replay\n")

    assert _layers(_imports(late)) == {"kernel"}
    assert not _imports(late, at_import=True)
    assert "random" in _imports(bad)
    assert "pandas_blowfish.kernel.noise" in _imports(bad)
    assert any(isinstance(node, ast.Subscript) for node in ast.walk(ast.parse(bad.read_text())))


def test_every_module_is_a_noun_of_moderate_length():
    """Files stay readable in one sitting, and open with a sentence."""
    for path in MODULES:
        text = path.read_text()
        assert len(text.splitlines()) <= 500, path
        assert ast.get_docstring(ast.parse(text)), path


def test_tests_mirror_the_package():
    """Every module of the layers has a test file at the mirrored path."""
    tests = Path(__file__).parent
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        if path.name == "__init__.py" or len(relative.parts) == 1:
            continue
        mirrored = tests / relative.parent / f"test_{path.name}"
        assert mirrored.exists(), f"no {mirrored.relative_to(tests)}"


MOST_MODULES = 14  # of a folder, besides its __init__
SHARED_STEMS = {"question", "sensitivity", "solve"}  # the same rooms in every question family
ENDINGS = ("ings", "ing", "ies", "ers", "er", "ed", "es", "s", "d", "e", "y")
# folders and names that are still to be put right; each is taken off when it is
CROWDED = {""}  # the public face
STEMS = {"dask", "polars", "tally"}
CLASSES: set[str] = set()
ALIKE = {
    ("count", "counted"),
    ("solve", "solved"),
}


def _stem_paths() -> dict[str, list[str]]:
    """Return where each name of a module occurs."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            found.setdefault(path.stem, []).append(path.relative_to(PACKAGE).as_posix())
    return found


def _root(name: str) -> str:
    """Return a name without an ending that a reader overlooks."""
    return next(
        (name[: -len(end)] for end in ENDINGS if name.endswith(end) and len(name) - len(end) > 2), name
    )


def test_no_folder_is_crowded():
    """A folder is a concept with about a dozen files."""
    sizes = Counter(
        path.relative_to(PACKAGE).parent.as_posix() for path in MODULES if path.stem != "__init__"
    )

    assert {folder.strip(".") for folder, size in sizes.items() if size > MOST_MODULES} <= CROWDED


def test_no_module_name_occurs_twice():
    """A name is one place, but for the rooms that every question family has."""
    twice = {stem for stem, paths in _stem_paths().items() if len(paths) > 1}

    assert twice <= SHARED_STEMS | STEMS


def test_no_class_name_occurs_twice():
    """A class is one thing, whatever folder names it."""
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, times in names.items() if times > 1} <= CLASSES


def test_no_module_names_differ_by_an_ending_only():
    """`count` and `counted` side by side would say nothing about either."""
    alike: dict[str, set[str]] = {}
    for stem in _stem_paths():
        alike.setdefault(_root(stem), set()).add(stem)

    assert {tuple(sorted(stems)) for stems in alike.values() if len(stems) > 1} <= ALIKE


def _families() -> dict[str, str]:
    """Return the family of each question and strategy, by the name of its class."""
    found = {}
    for folder in ("line", "tables", "linear", "totals", "clusters", "ranks", "quantiles"):
        for path in (PACKAGE / "plan" / folder).glob("*.py"):
            module = importlib.import_module(f"pandas_blowfish.plan.{folder}.{path.stem}")
            for name, kind in vars(module).items():
                own = isinstance(kind, type) and kind.__module__ == module.__name__
                if own and (issubclass(kind, (Question, OwnNoise)) or hasattr(kind, "apply")):
                    found[name] = folder
    return found


def test_nobody_asks_which_strategy_or_question_it_holds():
    """Outside its family a strategy is called by the protocol, never told apart by its class."""
    families = _families()
    assert {"Identity", "Spans", "Counts", "Tree", "Residual", "NoisySums", "Soft"} <= set(families)
    kinds = {"Question", "Strategy", "Round", "OneRound", "OneTable", "InRounds", "OwnNoise"}

    asked = []
    for path in MODULES:
        parts = path.relative_to(PACKAGE).parts
        folder = parts[1] if parts[0] == "plan" and len(parts) > 2 else None
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
                named = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                outside = {name for name in named if name in kinds or families.get(name, folder) != folder}
                asked += [f"{'/'.join(parts)}:{node.lineno} {name}" for name in outside]

    assert not asked


PARTICIPLES = {
    *("told", "said", "held", "kept", "made", "found", "given", "known", "seen", "shown", "meant", "drawn"),
    *("again", "each", "looked", "apart", "begun", "written", "brought", "taken", "asked", "sent"),
}


def test_functions_are_named_by_verbs():
    """A public function or method does something: its name is no bare participle."""
    named = []
    for path in MODULES:
        body = ast.parse(path.read_text()).body
        classes = [node for node in body if isinstance(node, ast.ClassDef)]
        for node in [*body, *(each for own in classes for each in own.body)]:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if any("property" in ast.unparse(each) for each in node.decorator_list):
                continue  # a value, named by a noun or an adjective
            ends = node.name.endswith("ed") and "_" not in node.name and node.name not in ("seed", "need")
            if ends or node.name in PARTICIPLES:
                named.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}")

    assert not named


def _members(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class itself defines."""
    for name, member in vars(kind).items():
        if not name.startswith("_") and isinstance(
            member, (FunctionType, property, cached_property, classmethod, staticmethod)
        ):
            yield name, member


def test_methods_of_families_are_documented_once():
    """What overrides a documented method may leave the docstring to it; everything else has its own."""
    silent = []
    for path in [PACKAGE / "plan" / "protocol.py", *(PACKAGE / "plan").glob("*/*.py")]:
        module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        for kind in vars(module).values():
            if getattr(kind, "__module__", "") != module.__name__ or not isinstance(kind, type):
                continue
            above = [vars(base) for base in (*kind.__mro__[1:], Question, Strategy, Round)]
            for name, member in _members(kind):
                same = [member, *(own[name] for own in above if name in own)]
                if not kind.__name__.startswith("_") and not any(each.__doc__ for each in same):
                    silent.append(f"{module.__name__}.{kind.__name__}.{name}")

    assert not silent
