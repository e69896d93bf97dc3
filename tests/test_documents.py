"""README and docs: every block runs as printed, every link leads somewhere, every name is explained.

One page is one session, in a scratch folder, with warnings as errors. In a ```python block

- `expression  # -> text` promises what str(expression) is (on the next line, if it is long),
- `statement  # raises SomeError` promises that exception,
- a ```text block right below shows what was printed (and the message of what was raised); `...` stands for
  anything.

In a ```bash block lines that begin with `pandas-blowfish` run; `# exit 3` promises that exit code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import pandas_blowfish as bf
from pandas_blowfish import accessor, errors

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", *PAGES]
PACKAGE = ROOT / "pandas_blowfish"
MAINTAINED = [ROOT / "CONTRIBUTING.md", ROOT / "PROOFS.md", *DOCUMENTS]  # name files of the tree
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # also {figure}
ERRORS = {
    name: each
    for name, each in vars(errors).items()
    if inspect.isclass(each) and issubclass(each, errors.BlowfishError)
}


class Block(NamedTuple):
    """A fenced block, and what the block right below it shows as printed."""

    language: str
    code: str
    line: int
    shown: str | None


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _blocks(text: str) -> list[Block]:
    """Return the python and bash blocks of a page, each with the text block right below it."""
    found = list(FENCE.finditer(text))
    out = []
    for fence, after in zip(found, [*found[1:], None], strict=False):
        below = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        if fence[1] in ("python", "bash"):
            line = text.count("\n", 0, fence.start()) + 1
            out.append(Block(fence[1], fence[2], line, after[2] if below and after else None))
    return out


def _run_python(block: Block, scope: dict[str, object], page: str) -> None:
    """Run a block statement by statement and keep its promises; print what is raised on purpose."""
    tree = ast.parse("\n" * block.line + block.code, page)
    lines = ["", *("\n" * block.line + block.code).split("\n")]
    for statement in tree.body:
        source, end = lines[statement.lineno : (statement.end_lineno or 0) + 1], statement.end_lineno or 0
        where = f"{page}:{end}: {lines[end].strip()}"
        raises = re.search(r"# raises (\w+)", "\n".join(source))
        promised = re.search(r"# -> (.*)", lines[end]) or re.match(r"# -> (.*)", lines[end + 1])
        if raises:
            expected = _exception(raises[1])
            with pytest.raises(expected) as caught:
                exec(compile(ast.Module([statement], []), page, "exec"), scope)
            assert expected in (type(caught.value), errors.BlowfishError), f"{where}: {caught.type.__name__}"
            print(f"{type(caught.value).__name__}: {caught.value}")
        elif promised:
            assert isinstance(statement, ast.Expr), f"{where}: only an expression has a value"
            value = eval(compile(ast.Expression(statement.value), page, "eval"), scope)
            assert str(value) == promised[1].strip(), where
        else:
            exec(compile(ast.Module([statement], []), page, "exec"), scope)


def _matches(printed: str, shown: str) -> bool:
    """Return whether text is as shown, whatever its blanks; `...` stands for anything, also nothing."""
    pattern = re.sub(r"(\\ )?\\\.\\\.\\\.(\\ )?", ".*", re.escape(" ".join(shown.split())))
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def _exception(name: str) -> type[BaseException]:
    found = getattr(errors, name, None) or getattr(importlib.import_module("builtins"), name)
    assert isinstance(found, type)
    assert issubclass(found, BaseException)
    return found


def _run_bash(block: Block, page: str) -> None:
    """Run the lines of a block that call the command."""
    for line in block.code.replace("\\\n", " ").splitlines():
        command, _, promised = line.partition("# exit ")
        if command.startswith("pandas-blowfish"):
            from pandas_blowfish.cli import main

            try:
                code = main(shlex.split(command, comments=True)[1:])
            except SystemExit as left:
                code = left.code
            assert (code or 0) == int(promised or 0), f"{page}:{block.line}: {line}"


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Return a scope in a scratch folder, with a budget of its own and without windows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pandas_blowfish.books.ledger._DEFAULT", {})
    modules, environment = dict(sys.modules), dict(os.environ)
    yield {"__name__": "__main__"}
    pyplot.close("all")
    sys.modules.update(modules)  # a page may pretend that a package is missing
    os.environ.clear()
    os.environ.update(environment)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.exists()], ids=_id)
def test_runs_as_printed(path, session, capsys):
    """Every block of a page, in order, in one session; what it promises is what comes out."""
    for block in _blocks(path.read_text(encoding="utf-8")):
        capsys.readouterr()
        if block.language == "python":
            _run_python(block, session, _id(path))
        else:
            _run_bash(block, _id(path))
        printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
        if block.shown is not None:
            place = f"{_id(path)}:{block.line} printed\n{printed}\nbut shows\n{block.shown}"
            assert _matches(printed, block.shown), place


def test_blocks_below_a_directive_are_found():
    """A figure or a table of contents hides no block from the tests."""
    page = "```{figure} a.svg\n:alt: a\n```\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n"

    assert _blocks(page) == [Block("python", "1 + 1\n", 5, "2\n")]


def test_every_error_is_shown():
    """Each public exception has a section that raises it, and names a fix."""
    sections = re.split(r"^#{2,3} ", (DOCS / "errors.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    by_name = {section.split("\n", 1)[0].strip(" `"): section for section in sections}

    for name in ERRORS:
        assert name in by_name, f"docs/errors.md has no section on {name}"
        raised = re.findall(r"# raises (\w+)", by_name[name])
        if name == "BlowfishError":  # the base class, never raised by itself
            assert set(raised) <= set(ERRORS), name
        else:
            shown = f'"type": "{name}"' in by_name[name]  # by the command line
            assert name in raised or shown, f"the section on {name} does not raise it"
        assert "**Fix" in by_name[name], f"the section on {name} has no fix"


def test_every_verb_has_a_how_to():
    """Whatever can be called on df.blowfish is called on some how-to page."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "howto").glob("*.md"))
    for name, member in inspect.getmembers(accessor.AnyFrame):
        if not name.startswith("_") and callable(member):
            assert f".{name}(" in pages, f"no how-to calls {name}"


def _anchors(page: Path) -> set[str]:
    """Return the anchors that viewers of Markdown give to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [path for path in MAINTAINED if path.exists()], ids=_id)
def test_links_lead_somewhere(path):
    """Relative links name files that are there; nothing is fetched from elsewhere.

    Pictures below `_build` are drawn with the pages: `test_docs_build_and_name_everything` looks for them.
    """
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if not target.startswith(("http:", "https:", "mailto:", "_build/pictures/")):
            page = path.parent / target if target else path
            assert page.exists(), f"{_id(path)} links to {target}"
            if anchor and not path.is_relative_to(DOCS):  # those are looked up in the built pages
                assert anchor in _anchors(page), f"{_id(path)} links to {target}#{anchor}"
    if path.is_relative_to(DOCS):
        assert not re.search(r"!\[[^]]*\]\(http|<img|<script", text), f"{_id(path)} loads something"


def _source(name: str) -> Path:
    """Return what a document names, relative to the package or the repository; a bare name lies anywhere."""
    found = [base / name for base in (PACKAGE, ROOT) if (base / name).exists()]
    if not found and "/" not in name:
        found = sorted(PACKAGE.rglob(name))
    return found[0] if found else PACKAGE / name


@pytest.mark.parametrize("path", [path for path in MAINTAINED if path.exists()], ids=_id)
def test_named_sources_exist(path):
    """Every `folder/file.py` and `folder/` that a document names is in the tree."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    named = re.findall(r"`([a-z]\w*(?:/\w+)*/?\w*\.py)(?:::\w+)?`", text)
    named += re.findall(r"`((?:[a-z]\w*/)+)`", text)

    for name in named:
        assert _source(name).exists(), f"{_id(path)} names {name}"


def test_how_it_works_names_every_folder():
    """The tour has a line for each folder with modules, and "Where is" names what is defined in its file."""
    text = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} - {"."}
    where = text[text.index("## Where is") : text.index("## Where do I put")]
    rows = re.findall(r"^\|.*\| `(\S+\.py)` \| `(\w+)` \|$", where, re.MULTILINE)

    assert not {folder for folder in folders if f"`{folder}/`" not in text}
    assert len(rows) > 12
    for file, name in rows:
        assert re.search(rf"^\s*(?:def|class) {name}\b", _source(file).read_text(), re.MULTILINE), (
            file,
            name,
        )


def _claims(pattern: str, text: str) -> dict[str, tuple[list[Path], int]]:
    """Return the files of each claim, and how many lines are stated for all of them together."""
    found = {}
    for match in re.finditer(pattern, text, re.MULTILINE):
        names = re.findall(r"[\w/]+(?:\.py|/)", match["files"])
        found[match["claim"]] = ([_source(name) for name in names], int(match["lines"].replace(",", "")))
    return found


def _lines(path: Path) -> int:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def test_what_an_auditor_reads_is_as_long_as_stated():
    """SECURITY.md's lines are true within a few per cent, and the kernel's docstring has the same list."""
    row = r"^\| (?P<claim>[^|]+) \| (?P<files>[^|]+) \| (?P<lines>[\d,]+) \|$"
    paragraph = r"^(?P<claim>\S.*) \((?P<lines>[\d,]+) lines\):\n(?P<files>(?: {4}\S.*\n)+)"
    claims = _claims(row, (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    kernel = _claims(paragraph, importlib.import_module("pandas_blowfish.kernel").__doc__ or "")

    assert len(claims) >= 4
    assert kernel == claims
    for claim, (files, stated) in claims.items():
        total = sum(_lines(path) for path in files)
        rounded = -(-total // 50) * 50
        assert files, claim
        assert abs(stated - total) <= max(50, 0.05 * total), f"{claim}: {total} lines, state {rounded:,}"


@pytest.mark.xdist_group("sphinx")
def test_docs_build_and_name_everything(tmp_path):
    """`make docs` passes with warnings as errors, its links lead somewhere, the reference has every name."""
    from sphinx.util.inventory import InventoryFile

    built = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(DOCS), str(built)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr

    inventory = InventoryFile.loads((built / "objects.inv").read_bytes(), uri="")
    named = {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}
    missing = [name for name in bf.__all__ if f"pandas_blowfish.{name}" not in named]
    missing += [name for name in ERRORS if f"pandas_blowfish.errors.{name}" not in named]
    for role in (accessor.UnprotectedFrame, bf.Protected, accessor.ReleasedFrame):
        path = "pandas_blowfish" + (".accessor." if role is not bf.Protected else ".") + role.__name__
        members = [name for name, _ in inspect.getmembers(role) if name[0] != "_"]
        missing += [f"{path}.{name}" for name in members if f"{path}.{name}" not in named]
    assert not missing
    checked = subprocess.run(
        [sys.executable, str(DOCS / "links.py"), str(built)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    shown = (built / "index.html").read_text(encoding="utf-8")
    for name in ("ages", "adults", "age-secret"):  # in dark ink, and in light ink
        assert f'only-light" src="_images/{name}.png"' in shown
        assert f'only-dark" src="_images/{name}-dark.png"' in shown
    assert "quantile" in (built / "searchindex.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["README.md", "CHANGELOG.md", "LICENSE", "CONTRIBUTING.md", "PROOFS.md", "SECURITY.md"]
)
def test_documents_exist(name):
    """A fresh clone has its documents."""
    assert (ROOT / name).stat().st_size > 400


FALSE = ("just enough", "unbiased, whole", "factors 1.11 and 2.23")  # what pages said, and is not so


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_page_says_what_is_not_so(path):
    """Noise under overlapping facts is bounded, not just enough; unbiased counts may have decimals."""
    text = " ".join(path.read_text(encoding="utf-8").split())

    assert not [words for words in FALSE if words in text]


def test_unbiased_counts_may_have_decimals():
    """Where the number of rows is public the estimates are fitted to it, so that they are not whole."""
    df = bf.datasets.patients(500).blowfish.protect(bf.datasets.patients_policy(), epsilon=100)

    found = [df.blowfish.hist("age", epsilon=1, post=False)["count"] for _ in range(4)]

    assert any((counts % 1 != 0).any() for counts in found)
