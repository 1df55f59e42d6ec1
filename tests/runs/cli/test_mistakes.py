"""A hundred and more mistakes that people make, each with what is said to them:
``data/mistakes.txt`` is to be read by people, and every line of it must say what is wrong, where,
and the way out. ``python tests/cli/test_mistakes.py`` writes it anew (with ``PYTHONPATH=tests``).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from adjudge.runs.cli.main import app
from support.commands import adjudge

GOLDEN = Path(__file__).parent / "data" / "mistakes.txt"
DATA = "data: rows.csv\nmodels: scripted/PASS\n"
JUDGE = "judges: [{kind: aspect, criteria: It is short.}]\n"
TYPED = (
    "evaluate eval.yaml",
    "eval eval.yaml",
    "chek x",
    "--verison",
    "check",
    "check x",
    "check x --criterion a --aspect harmful",
    "check x --aspect harmfull",
    "check x --criterion ''",
    "check x --criterion a -m gpt4o",
    "check x --criterion a -m openai/",
    "check x --criterion a -m opnai/gpt-4o",
    "check x --criterion a -m http://127.0.0.1:9/v1",
    "check x --criterion a --votes 0",
    "check x --criterion a --votes three",
    "check x --criterion a --max-usd -1",
    "check x --criterion a --language de",
    "check x --criterion a --fail-under 80",
    "check x --criterion a --confidence 95",
    "check x --criterion a --confidence 0.95",
    "check x --criterion a --margin 0.1",
    "check --file nowhere.csv --criterion a",
    "check x --file rows.csv --criterion a",
    "check --file rows.csv --criterion a --column nonsense",
    "check --file rows.csv --criterion a --column response=nope",
    "check --file rows.csv --criterion a -m scripted/PASS --id nope",
    "check x --criterion a --id id",
    "check --file . --criterion a",
    "check --file empty.csv --criterion a",
    "check --file header.csv --criterion a",
    "check --file broken.jsonl --criterion a",
    "check --file picture.png --criterion a",
    "check --file report.pdf --criterion a",
    "check --file report.docx --criterion a",
    "check --file latin.csv --criterion a -m scripted/PASS",
    "check --file rows.csv --criterion a -m scripted/PASS -o out.pdf",
    "check --file rows.csv --criterion a -m scripted/PASS -o rows.csv",
    "check --file rows.csv --criterion a -m scripted/PASS -o nowhere/deep/out.csv",
    "check x --criterion a --header X",
    "check x --criterion a --header 'Authorization: abc'",
    "check x --criterion a --api-key-env sk-abcdefghijklmnop",
    "check x --criterion a -m openai/gpt-4o --api-key-env NOT_SET",
    "check x --criterion a -m openai/gpt-4o",
    "check x --criterion a -m anthropic/claude-x",
    "check x --contains a --criterion b",
    "check x --regex '('",
    "check x --check 'wrods: 3'",
    "check x --check 'words: 3'",
    "check x --check '{'",
    "judge x",
    "judge x --criteria nope",
    "judge x --criteria own.yaml",
    "judge x --criteria bad.yaml",
    "judge --criteria conciseness",
    "compare a",
    "compare a b",
    "compare a b --criteria conciseness",
    "compare --file rows.csv --criteria better_answer",
    "rag",
    "rag nowhere.csv",
    "rag rows.csv",
    "rag rows.csv --dimensions truth",
    "rag rows.csv --weights a",
    "criteria show nope",
    "criteria show",
    "models pull nope",
    "models list --x",
    "runs show nowhere",
    "runs show .",
    "runs diff nowhere there",
    "runs diff nowhere",
    "resume nowhere",
    "resume .",
    "report nowhere",
    "label nowhere",
    "calibrate nowhere",
    "import nowhere.json",
    "import rows.csv --from nope",
    "import empty.csv --run runs/x",
    "serve rows.csv",
    "bench nowhere.yaml",
    "bench rows.csv -m scripted/PASS -c politeness",
    "init nope",
    "generate",
    "rank nowhere",
)
"""Mistakes on the command line."""
WRITTEN = (
    (None, "run"),
    (None, "run nowhere.yaml"),
    ("", "run eval.yaml"),
    ("data: rows.csv\n", "run eval.yaml"),
    (JUDGE, "run eval.yaml"),
    ("- a\n- b\n", "run eval.yaml"),
    ("data: [", "run eval.yaml"),
    ("data: a: b\n", "run eval.yaml"),
    ("data: rows.csv\njudges:\n\t- {kind: aspect, criteria: a b}\n", "run eval.yaml"),
    ("data: rows.csv\nmodels: opnai/gpt-4o\n" + JUDGE, "run eval.yaml"),
    (DATA + JUDGE, "run eval.yaml -m gpt4o"),
    (DATA + JUDGE + "zzz: 1\n", "run eval.yaml"),
    (DATA + "judge: x\n" + JUDGE, "run eval.yaml"),
    (DATA + "judges: [{kind: apsect, criteria: a b}]\n", "run eval.yaml"),
    (DATA + "judges: [{criteria: a b}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: aspect}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: aspect, criteria: polite}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: direct, criteria: [conciseness, conciseness]}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: aspect, criteria: a b, votes: 0}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: aspect, criteria: a b, votes: many}]\n", "run eval.yaml"),
    (DATA + "judges: []\n", "run eval.yaml"),
    (DATA + JUDGE + "gates: {fail_under: 80}\n", "run eval.yaml"),
    (DATA + JUDGE + "gates: {fail_under: {nope: 0.5}}\n", "run eval.yaml"),
    (DATA + JUDGE + "gates: {not_worse_than: runs/nowhere}\n", "run eval.yaml"),
    (DATA + JUDGE + "outputs: [out.doc]\n", "run eval.yaml"),
    (DATA + JUDGE + "budget: {max_usd: free}\n", "run eval.yaml"),
    (DATA + JUDGE + "budget: {usd: 1}\n", "run eval.yaml"),
    ("data: nope.csv\nmodels: scripted/PASS\n" + JUDGE, "run eval.yaml"),
    (DATA + JUDGE + "language: fr\n", "run eval.yaml"),
    (
        "data: rows.csv\nmodels: [{model: openai/gpt-4o, api_key: sk-abc}]\n" + JUDGE,
        "run eval.yaml",
    ),
    ("data: rows.csv\nmodels: [$NOPE]\n" + JUDGE, "run eval.yaml"),
    ("data: rows.csv\nmodels: ['${OPENAI_API_KEY}']\n" + JUDGE, "run eval.yaml"),
    (DATA + JUDGE + "target: app.py:f\n", "run eval.yaml --yes"),
    (DATA + JUDGE + "target: {url: 'http://127.0.0.1:9/', command: x}\n", "run eval.yaml --yes"),
    (DATA + JUDGE + "target: openai/gpt-4o\n", "run eval.yaml"),
    (DATA + JUDGE + "target: [a b, a b]\n", "run eval.yaml --yes"),
    (DATA + JUDGE + "target: a b\nrepeat: 0\n", "run eval.yaml"),
    (DATA + "checks: [{contian: x}]\n", "run eval.yaml"),
    (DATA + "checks: [{regex: '('}]\n", "run eval.yaml"),
    (DATA + "checks: [{json: {schema: nope.json}}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: aspect, criteria: a b, after: checks}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: python, judge: nope}]\n", "run eval.yaml --yes"),
    (DATA + "checks: {python: 'own.py:f'}\n", "run eval.yaml"),
    (DATA + "judges: [{kind: pairwise, criteria: better_answer}]\n", "run eval.yaml"),
    (
        DATA + "judges: [{kind: aspect, criteria: a b, models: scripted/PASS, "
        "cascade: [scripted/PASS, scripted/FAIL]}]\n",
        "run eval.yaml",
    ),
    (DATA + "judges: [{kind: rag, dimensions: [truth]}]\n", "run eval.yaml"),
    (DATA + "judges: [{kind: direct, criteria: nope.yaml}]\n", "run eval.yaml"),
    (
        DATA + "judges: [{kind: aspect, name: a, criteria: a b}, "
        "{kind: aspect, name: a, criteria: c d}]\n",
        "run eval.yaml",
    ),
    (DATA + JUDGE, "run eval.yaml --limit 0"),
    (DATA + JUDGE, "run eval.yaml --fork nowhere"),
    (DATA + JUDGE, "run eval.yaml --batch"),
    (DATA + JUDGE, "run eval.yaml --resume"),
    (DATA + JUDGE, "run eval.yaml -o x.exe"),
)
"""Eval files that are wrong, and how they are run."""
FILES = {
    "rows.csv": b"id,question,answer\n1,why,because\n2,how,so\n",
    "empty.csv": b"",
    "header.csv": b"question,answer\n",
    "broken.jsonl": b'{"answer": "a"}\n{"answer": \n',
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "report.pdf": b"%PDF-1.7\n" + bytes(30),
    "report.docx": b"PK\x03\x04" + bytes(40),
    "latin.csv": b"question,answer\nwhy,caf\xe9\n",
    "own.yaml": b"name: x\n",
    "bad.yaml": b"name: x\ndescription: [\n",
}


class Mistake(NamedTuple):
    text: str | None
    """The eval file."""
    line: str

    @property
    def title(self) -> str:
        """How the golden file tells it from others."""
        shown = "" if not self.text else "".join(f"    {one}\n" for one in self.text.splitlines())
        return f"$ adjudge {self.line}\n{shown}"


MISTAKES = [
    *(Mistake(None, line) for line in TYPED),
    *(Mistake(text, line) for text, line in WRITTEN),
]


def said(mistake: Mistake, folder: Path) -> str:
    """What the command says, with its exit code."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    if mistake.text is not None:
        (folder / "eval.yaml").write_text(mistake.text)
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = adjudge(*shlex.split(mistake.line), cwd=folder, environment={**own, "COLUMNS": "100"})
    return f"{done.stderr.rstrip()}\n[{done.returncode}]\n"


def golden() -> dict[str, str]:
    """Title → what is said."""
    found = {}
    for part in GOLDEN.read_text(encoding="utf-8").split("\n\n$ ")[0:]:
        whole = part if part.startswith("$ ") else f"$ {part}"
        title, _, rest = whole.partition("→ ")
        found[title] = rest.rstrip() + "\n"
    return found


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.line)
def test_a_mistake_is_said_with_the_way_out(mistake: Mistake, tmp_path: Path) -> None:
    found = said(mistake, tmp_path)
    assert "Traceback" not in found
    assert not found.endswith("[0]\n"), "it was no mistake"
    assert found == golden()[mistake.title]


def flags_of(words: list[str]) -> set[str]:
    """The options of a command, those above it included."""
    command: click.Command = app
    found = {name for one in app.params for name in one.opts}
    for word in words:
        if not isinstance(command, click.Group):
            break
        below = command.get_command(click.Context(command), word)
        if below is None:
            break
        command = below
        found |= {name for one in below.params for name in (*one.opts, *one.secondary_opts)}
    return found | {"--help"}


def test_no_advice_names_a_flag_that_the_command_lacks() -> None:
    for mistake in MISTAKES:
        advice = golden()[mistake.title]
        known = flags_of(shlex.split(mistake.line))
        for other in re.findall(r"adjudge ((?:[a-z]+ ?){1,2})", advice):
            known |= flags_of(other.split())
        typed = {word.partition("=")[0] for word in shlex.split(mistake.line)}
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", advice))
        assert named - known - typed == set(), mistake.title


def test_there_are_a_hundred_and_twenty() -> None:
    assert len({one.title for one in MISTAKES}) >= 120


def _parts() -> Iterator[str]:
    for mistake in MISTAKES:
        folder = Path(tempfile.mkdtemp())
        yield f"{mistake.title}→ {said(mistake, folder)}"
        shutil.rmtree(folder)


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text("\n".join(_parts()), encoding="utf-8")
