"""What the documents show runs, and what they point to is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Request, ScriptedModel
from adjudge.cli.main import app
from adjudge.sandbox.none import NoSandbox

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


def _dates(request: Request) -> str:
    """A judge of dates that takes any number of four digits for a year."""
    text = request.prompt.messages[-1].content
    said = "PASS" if re.search(r"\b\d{4}\b", text) else "FAIL"
    return json.dumps({"explanation": "scripted", "selected_option": said if '"PASS"' in json.dumps(request.schema) else "B"})


def test_commands_of_the_page_on_trust_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In their order, one after the other; a comment says where one ends with another code than 0."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adjudge.gateway.open._by_id", lambda id, *_: ScriptedModel(_dates, name=id))
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "trust.md").read_text(encoding="utf-8"), re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    for line in lines:
        wanted = int(found[1]) if (found := re.search(r"# exit (\d)", line)) else 0
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:], standalone_mode=False)
        assert done.exception is None, f"{line}: {done.exception}"
        assert done.return_value == wanted, f"{line}: {done.output}"
    assert len(lines) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z][\w-]*)", page.read_text(), re.M)}
    assert named <= targets
