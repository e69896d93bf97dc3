"""Runs the notebooks from clean kernels and stores their outputs: `make notebooks`, or `execute.py 03 05`.

Kernels are those of the Python that runs this script, whatever kernels are registered on the machine; each
starts in a temporary folder of its own. What differs from run to run and says nothing (times, versions) is
left out.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
TIMEOUT = 300  # seconds a cell may take on a busy machine; all of them need a few
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class ThisPython(KernelSpecManager):
    """Knows one kernel: the Python that runs now."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002
        """Return this Python's kernel under any name."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


def notebooks(*wanted: str) -> list[Path]:
    """Return the notebooks whose names begin with one of some texts, or all, in order."""
    return [path for path in sorted(FOLDER.glob("*.ipynb")) if path.name.startswith(wanted or "")]


def execute(path: Path, *, before: str = "", folder: str | os.PathLike[str] | None = None) -> Any:
    """Return a notebook as it is after all its cells were run in a new kernel.

    Args:
        path: The notebook; the file is not changed.
        before: Code that is run first, in the same kernel, and leaves no cell behind.
        folder: Where the kernel starts; None for a temporary folder.
    """
    importlib.import_module("matplotlib.font_manager")  # lists the machine's fonts, once, before kernels do
    book = nbformat.read(path, as_version=4)
    if before:
        book.cells.insert(0, nbformat.v4.new_code_cell(before))
    scripts = str(Path(sys.executable).parent)
    env = os.environ | {
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "COLUMNS": "100",
        "TQDM_DISABLE": "1",
    }
    with tempfile.TemporaryDirectory() as new:
        env |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), new)  # what a notebook makes is gone with it
        manager = AsyncKernelManager(kernel_spec_manager=ThisPython(), connection_file=f"{new}/kernel.json")
        manager.transport = "ipc" if os.name == "posix" else "tcp"  # nobody else listens
        client = NotebookClient(book, km=manager, timeout=TIMEOUT, record_timing=False)
        client.execute(cleanup_kc=True, env=env, cwd=str(folder or new))  # ends the kernel, too
    if before:
        del book.cells[0]
    return tidied(book)


def tidied(book: Any) -> Any:
    """Return a notebook without what differs from run to run: versions, times, the numbers of cells."""
    book.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        cell.metadata.pop("execution", None)
        cell.execution_count = number
        cell.outputs = merged(cell.outputs)
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    return book


def merged(outputs: list[Any]) -> list[Any]:
    """Return outputs with what was printed in several pieces as one."""
    whole: list[Any] = []
    for output in outputs:
        before = whole[-1] if whole else {}
        if output.output_type == "stream" and before.get("name") == output.name:
            before.text += output.text
        else:
            whole.append(output)
    return whole


def main() -> None:
    """Execute the notebooks in place, one after the other."""
    for path in notebooks(*sys.argv[1:]):
        print(path.name, end=" ", flush=True)
        nbformat.write(execute(path), path)
        print(f"{path.stat().st_size / 1000:,.0f} kB")


if __name__ == "__main__":
    main()
