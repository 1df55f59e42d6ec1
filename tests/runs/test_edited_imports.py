"""An application is another one after an edit of any file that it imports."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

from adjudge.core.reading.user_code import load_code
from adjudge.runs.code_files import CodeFiles
from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.plan import resolve

PROGRAM: Final = "from bot import reply\nprint(reply())\n"
FILES: Final = {
    "at_the_top.py": "from bot import reply\n\n\ndef a(row):\n    return reply()\n",
    "inside.py": "def a(row):\n    from bot import reply\n    return reply()\n",
    "program.py": PROGRAM,
    "package/__init__.py": "",
    "package/__main__.py": PROGRAM,
    "bot.py": "from words import good\n\n\ndef reply():\n    return good\n",
    "words.py": "good = 'good'\n",
}
CODE: Final[tuple[dict[str, object], ...]] = (
    {"function": "at_the_top.py:a"},
    {"function": "inside.py:a"},
    {"model": "inside.py:a"},
    {"command": "python program.py"},
    {"command": ["python", "-m", "program"]},
    {"command": ["python", "-m", "package"]},
    {"mcp": "python program.py"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**FILES, "rows.csv": "id,question\nr1,why\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def with_target(folder: Path, target: dict[str, object]) -> EvalFile:
    judges = [{"kind": "check", "checks": [{"contains": "a"}]}]
    text = yaml.safe_dump({"data": "rows.csv", "target": target, "judges": judges})
    return parse_eval(text, folder / "eval.yaml")


@pytest.mark.parametrize("edited", ["bot.py", "words.py"])
@pytest.mark.parametrize("target", CODE, ids=str)
def test_an_edited_import_is_another_application(
    folder: Path, target: dict[str, object], edited: str
) -> None:
    file = with_target(folder, target)

    def version() -> str:
        return CodeFiles(file).of_target(file.target[0])

    before = version()
    assert version() == before
    (folder / "other.py").write_text("x = 1\n")
    assert version() == before
    (folder / edited).write_text(FILES[edited] + "\n")
    assert version() != before


def test_a_program_that_loads_what_it_does_not_show_counts_every_program(folder: Path) -> None:
    (folder / "at_the_top.py").write_text("import runpy\n\n\ndef a(row): ...\n")
    file = with_target(folder, {"function": "at_the_top.py:a"})
    before = CodeFiles(file).of_target(file.target[0])
    (folder / "words.py").write_text("good = 'bad'\n")
    assert CodeFiles(file).of_target(file.target[0]) != before


def test_judges_and_models_count_their_imports(folder: Path) -> None:
    (folder / "mine.py").write_text("import words\nclass J: ...\n")
    judges = [{"kind": "python", "judge": "mine.py:J"}]
    models = "inside.py:a"
    text = yaml.safe_dump({"data": "rows.csv", "models": models, "judges": judges})
    file = parse_eval(text, folder / "eval.yaml")

    def versions() -> tuple[str, str]:
        code = CodeFiles(file)
        return code.of_judge(file.judges[0]), code.of_model(next(iter(file.all_models)))

    before = versions()
    (folder / "words.py").write_text("good = 'bad'\n")
    assert all(new != old for new, old in zip(versions(), before, strict=True))


def test_imports_inside_a_function_are_found_and_loaded_again_after_an_edit(folder: Path) -> None:
    file = with_target(folder, {"function": "inside.py:a"})
    for word in ("good", "bad"):
        (folder / "words.py").write_text(f"good = {word!r}\n")
        resolve(with_target(folder, {"function": "inside.py:a"}))
        assert load_code(f"{file.path.parent / 'inside.py'}:a")({}) == word
