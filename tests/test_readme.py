"""The README's code runs as printed, in a scratch folder."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_readme_runs_as_printed(tmp_path, monkeypatch, capsys):
    """All blocks, in order, in one session; what `# ->` promises is what comes out."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}

    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), scope)
        for line in block.splitlines():
            if "# ->" in line:
                expression, _, promised = line.partition("# ->")
                assert str(eval(expression.strip(), scope)) == promised.strip(), line

    assert len(BLOCKS) >= 4
    assert (tmp_path / "budget.db").exists()


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "LICENSE", "CONTRIBUTING.md", "PROOFS.md"])
def test_documents_exist(name):
    """A fresh clone has its documents."""
    assert (ROOT / name).stat().st_size > 400
