"""A run that began with an earlier wording of a prompt is continued in that wording."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.judges.aspect import aspect_criteria
from adjudge.core.ledger.key import key_of
from adjudge.core.prompts import renderer
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.prompts.renderer import SANDWICH, earlier_version, wording
from adjudge.runs.results.prompts import shown_prompts

FILE = "aspect.jinja"
OF_1_0 = "a8e5cb88970cb12a8c2ef71c2dc465b826c6deb7df57969b2c8046b2d74147e7"
"""The wording that the run folders of 1.0 (``tests/samples/run_1_0``) hold."""
NEW = (
    "variables: definition, options, field, parts\n--- system\nIn new words: {{ definition }}\n"
    '--- user\n{{ parts | join("\\n\\n") }}\n'
)


def forget() -> None:
    for cached in (renderer.load, renderer.wording, renderer._templates):
        cached.cache_clear()
    renderer._frames.clear()


@pytest.fixture
def later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Templates as a later version would word them."""
    folder = shutil.copytree(renderer._TODAY, tmp_path / "templates")
    for language in LANGUAGES:
        (folder / language / FILE).write_text(NEW, encoding="utf-8")
    yield folder
    monkeypatch.undo()
    forget()


def test_the_wording_of_1_0_is_still_known() -> None:
    assert earlier_version(FILE, OF_1_0) == "aspect_1"
    assert earlier_version(FILE, "0" * 64) == earlier_version("direct.jinja", OF_1_0) == ""


def test_a_resumed_run_asks_the_rest_in_the_words_it_began_with(
    tmp_path: Path,
    later_version: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return json.dumps({"explanation": "so", "selected_option": "PASS"})

    critic, old_run = AspectCritic("It is short.", model), tmp_path / "old"
    critic.evaluate(["one"], run=old_run)
    assert wording(FILE, "en") == OF_1_0
    monkeypatch.setattr(renderer, "_TODAY", later_version)
    forget()
    critic.evaluate(["one", "two"], run=old_run)
    critic.evaluate(["three"], run=tmp_path / "new")
    assert [prompt.startswith("In new words") for prompt in asked] == [False, False, True]
    assert "worded" not in caplog.text
    with closing(sqlite3.connect(old_run / "ledger.sqlite")) as connection:
        (shown,) = shown_prompts(connection, "AspectCritic", 1)
    assert shown is not None and shown.checked
    assert "\n\n".join(content for _, content in shown.turns) == asked[1]


@pytest.mark.parametrize("suffix", ["", SANDWICH])
def test_a_vote_of_a_run_in_an_earlier_wording_is_found(
    later_version: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    short = aspect_criteria("short", "It is short.")
    one = Instance({"response": "one"})
    ballot = Ballot(short, one, question_of(short), f"aspect{suffix}", "m", "en")
    begun_with = renderer.wordings("en")
    before = key_of(ballot, "m", begun_with)
    monkeypatch.setattr(renderer, "_TODAY", later_version)
    forget()
    assert key_of(ballot, "m", begun_with) == before
    assert key_of(ballot, "m", renderer.wordings("en")) != before
