"""What the documents show runs, and what they point to is there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from adjudge import Request, ScriptedModel
from adjudge.sandbox.none import NoSandbox
from support.commands import adjudge

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPETS = [(page, code) for page in PAGES for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)]


def _answer(request: Request) -> str:
    """The first option, the number 3, or a program, as the request asks."""
    asked = json.dumps(request.schema or {})
    if "selected_option" in asked:
        return json.dumps({"selected_option": json.loads(asked)["properties"]["selected_option"].get("enum", [1])[0]})
    if '"score"' in asked:
        return json.dumps({"explanation": "scripted", "score": 3})
    return "```python\noutput = 55\n```" if "output = …" in request.prompt.text else "A text."


@pytest.mark.parametrize(("page", "code"), SNIPPETS, ids=lambda value: value.name if isinstance(value, Path) else "")
def test_python_in_the_documents_runs(page: Path, code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With scripted models behind the names: keys and money are the reader's. What they write needs no sandbox."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adjudge.gateway.open._by_id", lambda id, *_: ScriptedModel(_answer, name=id))
    monkeypatch.setattr("adjudge.strategy.runtime.find_sandbox", lambda name=None: NoSandbox())
    exec(compile(code, str(page), "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z][\w-]*)", page.read_text(), re.M)}
    assert named <= targets


COMMANDS = re.findall(r"^(adjudge .+)$", (ROOT / "docs" / "import.md").read_text(encoding="utf-8"), re.M)


def test_the_commands_of_the_import_page_run(tmp_path: Path) -> None:
    """One after the other, as a reader would give them."""
    samples = ROOT / "tests" / "samples"
    shutil.copy(samples / "imports" / "inspect_0.3.285.json", tmp_path / "inspect.json")
    shutil.copy(samples / "imports" / "deepeval_4.3.1_latest_run_full.json", tmp_path / "deepeval.json")
    shutil.copy(samples / "pandalm.jsonl", tmp_path / "pandalm.jsonl")
    assert len(COMMANDS) > 5
    for command in COMMANDS:
        done = adjudge(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert "0 judgments differ, of 4 in both runs" in done.stdout
