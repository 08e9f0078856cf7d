import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGES = [p for p in (HERE.parent / "python.md", HERE.parent.parent / "docs" / "python.md") if p.exists()]


def test_the_page_runs_as_written(tmp_path, monkeypatch):
    for package in ("pandas", "networkx", "langchain_community"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGES[0].read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 5
    space = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), space)
