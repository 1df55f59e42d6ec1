"""A learned judge on the real weights: its states, what keeps them, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from adjudge import DirectJudge, LearnedJudge, LearnSettings, SetupError
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.likelihood import likelihood_prompt
from adjudge.features.learning.prompt_form import PromptForm
from adjudge.features.learning.states import Inside, StateReader
from support.bits import SAME_BITS

CRITERIA = yes_no_criteria("Is it about the sea?")
SEA, LAND = ("ship", "wave", "harbour", "tide"), ("desk", "train", "garden", "clock")
TEXTS = [f"{place}: {(LAND if place % 2 else SEA)[place % 4]}." for place in range(40)]
LABELS = ["No" if place % 2 else "Yes" for place in range(40)]


def prompts_of(*texts: str) -> tuple[PromptForm, list]:  # type: ignore[type-arg]
    ballots = [
        Ballot(
            CRITERIA,
            Instance({"response": text}),
            question_of(CRITERIA),
            "direct",
            "learned",
            mode="likelihood",
        )
        for text in texts
    ]
    return PromptForm.of(ballots[0]), [likelihood_prompt(ballot) for ballot in ballots]


def read(*texts: str, to_end: bool = True) -> list[Inside]:
    form, prompts = prompts_of(*texts)
    found = asyncio.run(StateReader().read_all(form, prompts, to_end=to_end))
    assert all(isinstance(states, Inside) for states in found)
    return found  # type: ignore[return-value]


MIXED = ["A wave hit the ship.", "", "Спасибо, до свидания.", "The clock. " * 30]


def test_a_pass_that_stops_early_gives_the_same_states() -> None:
    for whole, stopped in zip(read(*MIXED), read(*MIXED, to_end=False), strict=True):
        assert np.array_equal(whole.states, stopped.states)
        assert whole.zero_shot is not None
        assert stopped.zero_shot is None


@pytest.mark.skipif(not SAME_BITS, reason="bits were not compared on this CPU")
def test_states_are_the_same_alone_and_in_company() -> None:
    for text, together in zip(MIXED, read(*MIXED), strict=True):
        (alone,) = read(text)
        assert np.array_equal(alone.states, together.states)
        assert alone.zero_shot == together.zero_shot


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LearnedJudge]:
    path = tmp_path_factory.mktemp("states") / "states.npz"
    return path, LearnedJudge.fit(TEXTS, CRITERIA, LABELS, settings=LearnSettings(states=path))


class TestKeptStates:
    def test_only_new_rows_are_read(
        self, kept: tuple[Path, LearnedJudge], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, learned = kept
        settings = LearnSettings(states=path)
        with monkeypatch.context() as patch:
            patch.setattr(StateReader, "read", None)  # reading any row would fail
            again = LearnedJudge.fit(TEXTS, CRITERIA, LABELS, settings=settings)
        assert again.file.text() == learned.file.text()

    def test_the_file_is_that_of_states_read_anew(self, kept: tuple[Path, LearnedJudge]) -> None:
        fresh = LearnedJudge.fit(TEXTS, CRITERIA, LABELS)
        assert fresh.file.text() == kept[1].file.text()

    def test_states_of_another_model_are_refused(
        self, kept: tuple[Path, LearnedJudge], tmp_path: Path
    ) -> None:
        with np.load(kept[0]) as parts:
            np.savez(tmp_path / "s.npz", **{**parts, "model": np.array("local/other")})
        with pytest.raises(SetupError, match="keeps states of local/other"):
            LearnedJudge.fit(
                TEXTS, CRITERIA, LABELS, settings=LearnSettings(states=tmp_path / "s.npz")
            )

    @pytest.mark.parametrize("content", [b"", b"x" * 400, b"PK\x03\x04"])
    def test_other_files_are_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "s.npz").write_bytes(content)
        with pytest.raises(SetupError, match="keeps no states of rows"):
            LearnedJudge.fit(
                TEXTS, CRITERIA, LABELS, settings=LearnSettings(states=tmp_path / "s.npz")
            )
        assert (tmp_path / "s.npz").read_bytes() == content

    def test_states_that_are_no_numbers_are_refused(
        self, kept: tuple[Path, LearnedJudge], tmp_path: Path
    ) -> None:
        with np.load(kept[0]) as parts:
            np.savez(tmp_path / "s.npz", **{**parts, "states": parts["states"] * np.nan})
        with pytest.raises(SetupError, match="keeps no states of rows"):
            LearnedJudge.fit(
                TEXTS, CRITERIA, LABELS, settings=LearnSettings(states=tmp_path / "s.npz")
            )


def test_judges_new_texts_and_is_bound_to_its_model(
    kept: tuple[Path, LearnedJudge], tmp_path: Path
) -> None:
    path = tmp_path / "judge.json"
    kept[1].save(path)
    results = DirectJudge(f"learned/{path}").evaluate(["A tide.", "", "A train."], CRITERIA)
    assert [results[0].option, results[2].option] == ["Yes", "No"]
    content = json.loads(path.read_text())
    del content["checksum"]
    content["head"]["states"] = content["head"]["words"]  # as many weights as there are words
    path.write_text(json.dumps({**content, "checksum": content_hash(content)}))
    with pytest.raises(SetupError, match="its parts are inconsistent"):
        DirectJudge(f"learned/{path}").evaluate("A tide.", CRITERIA)
    content["model"] += "x"
    path.write_text(json.dumps({**content, "checksum": content_hash(content)}))
    with pytest.raises(SetupError, match="the weights, the adapter or the precision differ"):
        DirectJudge(f"learned/{path}")
