"""Every notebook runs from a clean kernel without a warning, and is stored with its pictures."""

import importlib.util
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

import pandas_blowfish as bf

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
MOST = 400_000  # bytes of a notebook, so that it can be read online
PICTURES = {  # how many each story shows
    "01_first_release": 2,
    "02_choosing_a_policy": 4,
    "03_ordered_data": 4,
    "04_locations": 7,
    "05_public_facts": 4,
    "06_clusters": 5,
    "07_nightly_pipeline": 2,
    "08_paper_figure": 3,
    "09_laptop_to_cluster": 2,
    "10_exploring_the_pandas_way": 4,
}
# warnings are errors but those of the notebook machinery about itself
STRICT = """
import warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)  # pandera imports it
for machinery in ("ipykernel", "IPython", "jupyter_client", "matplotlib_inline", "traitlets", "zmq"):
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=machinery)
"""
PLACES = re.compile(r"/(?:tmp|home|root|work|Users|private|var/folders)/|[A-Z]:\\\\|object at 0x|\.Styler at")


def _script():
    spec = importlib.util.spec_from_file_location("notebooks_execute", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


execute = _script()
BOOKS = {path.stem: path for path in execute.notebooks()}


def _code(book):
    return [cell for cell in book.cells if cell.cell_type == "code"]


def _kinds(cell):
    """Return what a cell shows: what is printed, and of what is displayed the richest kind."""
    shown = [output.get("name") or sorted(output.data)[0] for output in cell.outputs]
    return sorted(set(shown))


def _pictures(book):
    outputs = [output for cell in _code(book) for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def _texts(book):
    """Return every text that a notebook shows, sources left out."""
    for cell in _code(book):
        for output in cell.outputs:
            yield output.get("text", "")
            yield from (text for kind, text in output.get("data", {}).items() if kind != "image/png")


def test_there_are_ten():
    """The stories are numbered, and each is known to this file and to the index."""
    index = (FOLDER / "README.md").read_text()

    assert list(BOOKS) == sorted(PICTURES)
    assert [name[:2] for name in BOOKS] == [f"{number:02d}" for number in range(1, 11)]
    assert all(f"({name}.ipynb)" in index for name in BOOKS)


@pytest.mark.parametrize("name", PICTURES)
def test_runs_from_a_clean_kernel(name, tmp_path):
    """All cells run in a new kernel, warnings being errors, and show what the stored notebook shows."""
    stored = nbformat.read(BOOKS[name], as_version=4)

    fresh = execute.execute(BOOKS[name], before=STRICT, folder=tmp_path)

    assert [cell.source for cell in fresh.cells] == [cell.source for cell in stored.cells]
    assert [_kinds(cell) for cell in _code(fresh)] == [_kinds(cell) for cell in _code(stored)]
    assert _pictures(fresh) == PICTURES[name]
    assert not list(tmp_path.iterdir()), "something was written outside a temporary folder"


@pytest.mark.parametrize("name", PICTURES)
def test_is_stored_with_its_outputs(name):
    """Pictures and tables are in the file, which is small and names no machine."""
    book = nbformat.read(BOOKS[name], as_version=4)

    nbformat.validate(book)
    assert BOOKS[name].stat().st_size < MOST
    assert _pictures(book) == PICTURES[name]
    assert [cell.execution_count for cell in _code(book)] == list(range(1, len(_code(book)) + 1))
    assert not any(output.get("name") == "stderr" for cell in _code(book) for output in cell.outputs)
    for text in _texts(book):
        assert not PLACES.search(text), text
        assert "Warning" not in text
    assert set(book.metadata) == {"kernelspec", "language_info"}
    assert book.metadata.kernelspec.name == "python3"
    assert all(not cell.metadata for cell in book.cells)


@pytest.mark.parametrize("name", PICTURES)
def test_tells_a_story(name):
    """It begins with its number and title, ends with what was seen, and its links lead somewhere."""
    cells = nbformat.read(BOOKS[name], as_version=4).cells
    words = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")

    assert cells[0].source.startswith(f"# {int(name[:2])}. ")
    assert "## What you have seen" in cells[-1].source
    assert re.search(r"\*\*(Next|Back to the start):\*\*", cells[-1].source)
    for target in re.findall(r"\]\(([^)]+)\)", words):
        assert (FOLDER / target).exists(), target


def test_kernels_are_this_python(tmp_path):
    """A notebook runs in the environment of the tests, and what was printed in pieces is one output."""
    path = tmp_path / "small.ipynb"
    code = "import sys, pandas_blowfish\nfor n in range(3):\n    print(n, flush=True)\nsys.prefix"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)

    book = execute.execute(path, before="import warnings")

    assert len(book.cells) == 1
    printed, value = book.cells[0].outputs
    assert printed.text == "0\n1\n2\n"
    assert value.data["text/plain"] == repr(sys.prefix)
    assert value.execution_count == book.cells[0].execution_count == 1


def test_errors_are_not_hidden(tmp_path):
    """A cell that fails, or warns where warnings are errors, fails the run."""
    path = tmp_path / "bad.ipynb"
    code = "import warnings\nwarnings.warn('look out', UserWarning)"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)

    with pytest.raises(CellExecutionError, match="look out"):
        execute.execute(path, before=STRICT)


def test_only_bundled_data_are_used():
    """Every table comes from `bf.datasets`, and every dataset with a policy is used by some notebook."""
    sources = "\n".join(
        cell.source for path in BOOKS.values() for cell in _code(nbformat.read(path, as_version=4))
    )
    used = set(re.findall(r"bf\.datasets\.(\w+)", sources))

    assert used <= set(dir(bf.datasets))
    assert {
        "messy_csv",
        "patients",
        "salaries",
        "tweets",
        "admissions",
        "shoppers",
        "losses",
        "visits",
    } <= used
    assert "http" not in sources.replace('="http', "")
