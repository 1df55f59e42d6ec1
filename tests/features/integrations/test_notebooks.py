"""The tutorial notebook runs from its first cell to its last; in a real kernel
where there is one.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.engine.progress_bar import ProgressBar

EXAMPLES = Path(__file__).parents[3] / "examples"
TUTORIAL, AGENTS = EXAMPLES / "tutorial.ipynb", EXAMPLES / "agents.ipynb"


def cells(path: Path = TUTORIAL) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def shown(source: str, names: dict[str, object]) -> object:
    """What a cell shows: its last expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), str(TUTORIAL), "exec"), names)
    return (
        eval(compile(ast.Expression(last.value), str(TUTORIAL), "eval"), names)
        if isinstance(last, ast.Expr)
        else None
    )


def test_every_cell_of_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    outputs = [shown("".join(cell["source"]), names) for cell in cells()]
    _, one, mean, report, calibrated, _ = outputs
    assert "PASS" in one._repr_html_()  # type: ignore[attr-defined]
    assert mean == 0.75
    assert "<table>" in report._repr_html_()  # type: ignore[attr-defined]
    assert calibrated.corrected.lower < calibrated.corrected.value < 0.75  # type: ignore[attr-defined]
    assert "200 of 200 judged" in capsys.readouterr().err


@pytest.mark.parametrize("path", [TUTORIAL, AGENTS], ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    assert [cell for cell in cells(path) if cell["outputs"] or cell["execution_count"]] == []


def test_every_cell_about_agents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    outputs: list[Any] = [shown("".join(cell["source"]), names) for cell in cells(AGENTS)]
    _, steps, scores, judged, differences = outputs
    assert len(steps) == 4
    assert scores == {"calls": 1.0, "arguments": 1.0, "errors": 0.0, "steps": 4.0}
    (reached, (cited,)), (missed, _) = judged
    assert (reached, missed, cited.found, cited.step) == ("Reached", "Not reached", "proven", 3)
    assert all("new is better" in one for one in differences)


def test_progress_tells_what_has_no_score(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressBar(4)
    critic = AspectCritic("Is it polite?", ScriptedModel(["PASS", "nonsense"]), max_repairs=0)
    critic.evaluate(["a", "b", "c", "d"], progress=progress)
    assert (progress.done, progress.failed) == (4, 2)
    assert "4 of 4 judged" in capsys.readouterr().err
    assert "2 without a score" in str(progress)
    assert 'max="4" value="4"' in progress._repr_html_()


def test_the_tutorial_runs_in_a_real_kernel_and_draws_its_progress(tmp_path: Path) -> None:
    nbclient = pytest.importorskip(
        "nbclient", reason="nbclient is not installed: make test-neighbours tries it"
    )
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(TUTORIAL, 4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]
    pages = [one["data"].get("text/html", "") for one in outputs if "data" in one]
    assert any('max="200" value="200"' in page for page in pages)
    assert any("<table>" in page for page in pages)
