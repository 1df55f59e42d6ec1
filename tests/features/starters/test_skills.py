"""The skills for coding assistants: every command in them runs, in its order, and every tool, key
and option that they name is there.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from adjudge.features import integrations
from adjudge.features.starters.command import starters
from adjudge.runs.cli.main import app
from adjudge.runs.eval_file import load_eval
from support.commands import adjudge

SKILLS = {
    str(path.parent): content.decode()
    for path, content in starters("skills")
    if path.name == "SKILL.md"
}
ORDER = ("adjudge-eval", "adjudge-label", "adjudge-gate", "adjudge-helps")
"""As an assistant goes through them: each uses the runs of those before it."""
ALLOWED = {
    "adjudge calibrate runs/eval --criteria dates": (0, 5),
    "adjudge run eval.yaml --run runs/gate --fail-under dates=0.4 --confidence 0.95": (0, 4, 5),
    "adjudge run eval.yaml --run runs/next --not-worse-than runs/eval --margin 0.05": (0,),
}
"""Commands whose exit code depends on the verdicts; all others exit with 0."""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def lines(text: str) -> Iterator[str]:
    return (line for block in blocks(text, "bash") for line in block.splitlines())


def test_the_pack_is_these_skills() -> None:
    assert sorted(SKILLS) == sorted(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_the_head_of_a_skill_is_what_assistants_read(name: str) -> None:
    _, head, body = SKILLS[name].split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields.keys() == {"name", "description"}
    assert fields["name"] == name and re.fullmatch(r"[a-z0-9-]{1,64}", name)
    assert "Use when" in fields["description"] and len(fields["description"]) <= 1024
    assert "<" not in fields["description"]
    assert len(body.splitlines()) < 500


def _run(line: str, folder: Path) -> tuple[int, str]:
    """Run a line as a shell would, for the three forms that the skills use."""
    stdin, text = "", line.removesuffix(" < /dev/null")
    if " | " in text:
        printed, text = text.split(" | ")
        program, words = shlex.split(printed)[0], shlex.split(printed)[1:]
        stdin = " ".join(words) + "\n" if program == "echo" else words[0].replace("\\n", "\n")
        assert program in ("echo", "printf"), line
    words = shlex.split(text)
    assert words[0] == "adjudge", line
    done = adjudge(*words[1:], cwd=folder, stdin=stdin)
    return done.returncode, done.stdout + done.stderr


def test_every_command_runs_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "adjudge.toml").write_text('model = "scripted"\n')
    printed: dict[str, str] = {}
    for name in ORDER:
        for line in lines(SKILLS[name]):
            code, printed[line] = _run(line, tmp_path)
            assert code in ALLOWED.get(line, (0,)), (line, code, printed[line])
    # and does what the text around it says
    label = "adjudge label runs/eval --criteria dates --annotator ann"
    assert "0 of 12 labelled" in printed[f"{label} < /dev/null"]
    assert "1 of 12 labelled" in printed[f"echo 1 | {label}"]
    assert "Undone" in printed[f"echo u | {label}"] or "1 of 12" in printed[f"echo u | {label}"]
    assert "because" not in printed[f"{label} < /dev/null"]  # the judge's words
    last = printed["adjudge runs diff runs/without runs/with --expect-better"].splitlines()[-1]
    assert last == "passed: better by checks: gives a day"


def _command_of(words: list[str]) -> click.Command:
    command: click.Command = app
    context = click.Context(app)
    while isinstance(command, click.Group) and words:
        _, found, words = command.resolve_command(context, words)
        assert found is not None, words
        command = found
    return command


@pytest.mark.parametrize("name", ORDER)
def test_what_the_text_names_is_there(name: str) -> None:
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", SKILLS[name], flags=re.S | re.M))
    for span in spans:
        if span.startswith("adjudge ") and " " in span:
            command = _command_of(shlex.split(span)[1:])
            options = {option for param in command.params for option in param.opts}
            assert {*re.findall(r"--[a-z-]+", span)} <= options, span
    # an option that stands alone belongs to a command of the same skill
    known = {
        option
        for line in (*lines(SKILLS[name]), *(span for span in spans if span.startswith("adjudge ")))
        for param in _command_of(
            shlex.split(line.rpartition(" | ")[2].removesuffix(" < /dev/null"))[1:]
        ).params
        for option in param.opts
    }
    alone = {span for span in spans if span.startswith("--")}
    assert {span.split()[0].split("=")[0] for span in alone} <= known, alone - known
    for block in blocks(SKILLS[name], "yaml"):
        assert yaml.safe_load(block)


def test_the_tools_of_the_mcp_server_that_they_name_exist() -> None:
    # read, not imported: the server needs a package that is not always there
    source = Path(integrations.__file__).with_name("mcp_server.py").read_text(encoding="utf-8")
    tools = {*re.findall(r"async def ([a-z_]+)\(", source)}
    named = {span for text in SKILLS.values() for span in re.findall(r"`([a-z]+_[a-z_]+)`", text)}
    assert named and named <= tools


def test_the_gates_that_a_skill_shows_are_read(tmp_path: Path) -> None:
    (block,) = blocks(SKILLS["adjudge-gate"], "yaml")
    for path, content in starters("chat"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    file = tmp_path / "eval.yaml"
    file.write_text(file.read_text() + block)
    assert load_eval(file).gates.confidence == 0.95


def test_they_are_written_where_assistants_look_and_nothing_is_overwritten(tmp_path: Path) -> None:
    done = adjudge("init", "skills", "--language", "ru", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = sorted(path.parent.name for path in tmp_path.glob(".agents/skills/*/SKILL.md"))
    assert found == sorted(ORDER)
    assert not (tmp_path / "adjudge.toml").exists()
    mine = tmp_path / ".agents" / "skills" / "adjudge-eval" / "SKILL.md"
    mine.write_text("mine")
    assert adjudge("init", "skills", cwd=tmp_path).returncode == 0
    assert mine.read_text() == "mine"
    # a link that leads out of the folder is not followed
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".agents").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    strict = {name: value for name, value in os.environ.items() if name != "ADJUDGE_TRUST"}
    refused = adjudge("init", "skills", cwd=tmp_path / "linked", environment=strict)
    assert refused.returncode == 1 and not [*(tmp_path / "outside").iterdir()]
    adjudge("init", "skills", "--folder", "elsewhere", cwd=tmp_path)
    assert (tmp_path / "elsewhere" / "adjudge-gate" / "SKILL.md").is_file()
