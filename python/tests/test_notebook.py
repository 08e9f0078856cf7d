from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = [p for p in (HERE.parent / "notebook", HERE.parent.parent / "examples" / "notebook") if p.exists()]


@pytest.mark.parametrize("path", sorted(FOLDERS[0].glob("*.ipynb")), ids=lambda p: p.name)
def test_notebooks_run(path, tmp_path):
    for package in ("pandas", "networkx", "ipykernel"):
        pytest.importorskip(package)
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(bool(o) for o in outputs) >= 4
