"""Learned judges on words alone: learning, judging, and files that are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge import Cascade, DirectJudge, Instance
from adjudge.core.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.label import Label
from adjudge.errors import SetupError
from adjudge.features.learning.examples import examples_of
from adjudge.features.learning.learner import LearnedJudge, LearnSettings
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.labels.store import LabelStore

CRITERIA = yes_no_criteria("Is it about the sea?")
WORDS = LearnSettings(words_only=True)
UNPROVEN = {
    "confidence": 0.5,
    "risk": 0.02,
    "delta": 0.05,
    "rows": 10,
    "accepted": 10,
    "worse": 0,
    "better": 0,
    "reference": "",
    "proven": True,
}
"""A promise that its own counts do not show."""
WET, DRY = ("ship", "wave", "harbour", "tide"), ("desk", "train", "garden", "clock")


def text_of(place: int, *, wet: bool) -> str:
    word = (WET if wet else DRY)[place % 4]
    return f"Number {place} tells of a {word} and of what came of it that day."


def rows_of(count: int) -> tuple[list[str], list[str]]:
    wet = [place % 2 == 0 for place in range(count)]
    return (
        [text_of(place, wet=one) for place, one in enumerate(wet)],
        ["Yes" if one else "No" for one in wet],
    )


@pytest.fixture(scope="module")
def learned() -> LearnedJudge:
    return LearnedJudge.fit(*_with_criteria(120), settings=WORDS)


def _with_criteria(
    count: int, criteria: Criteria = CRITERIA
) -> tuple[list[str], Criteria, list[str]]:
    texts, labels = rows_of(count)
    return texts, criteria, labels


@pytest.fixture
def path(learned: LearnedJudge, tmp_path: Path) -> Path:
    learned.save(tmp_path / "judge.json")
    return tmp_path / "judge.json"


def test_judges_texts_it_has_not_seen(path: Path) -> None:
    judge = DirectJudge(f"learned/{path}")
    results = judge.evaluate(["A wave hit the ship.", "The clock on the desk."], CRITERIA)
    assert [one.option for one in results] == ["Yes", "No"]


def test_is_worth_it_only_beyond_chance(learned: LearnedJudge) -> None:
    assert learned.figures.is_worth_it
    texts, labels = rows_of(80)
    shuffled = [labels[place * 37 % 80 // 2 * 2 % 80 + (place // 3) % 2] for place in range(80)]
    found = LearnedJudge.fit(texts, CRITERIA, shuffled, settings=WORDS)
    assert not found.figures.is_worth_it


def test_many_rows_are_cut_to_as_many_as_teach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.features.learning.examples.MOST_EXAMPLES", 60)
    texts, labels = rows_of(120)
    found = LearnedJudge.fit([*texts, texts[0]], CRITERIA, [*labels, labels[0]], settings=WORDS)
    assert len(found.file.rows) == 60
    assert [str(note) for note in found.notes] == [
        "1 repeated row is left out",
        "60 more rows are left out, because the others are enough to teach the judge",
    ]


def test_contradicting_labels_of_one_text_teach_nothing(learned: LearnedJudge) -> None:
    texts, labels = rows_of(120)
    texts, labels = [*texts, "Who knows?", "Who knows?"], [*labels, "Yes", "No"]
    orders = (slice(None), slice(None, None, -1))
    for order in orders:
        found = LearnedJudge.fit(texts[order], CRITERIA, labels[order], settings=WORDS)
        assert found.file.text() == learned.file.text()
        assert "1 row is left out because its annotators are evenly split" in map(str, found.notes)
    texts, labels = [*texts, "Who knows?"], [*labels, "No"]
    majority = LearnedJudge.fit(texts, CRITERIA, labels, settings=WORDS)
    assert len(majority.file.rows) == 121


def test_same_labels_make_the_same_bytes_in_any_order(learned: LearnedJudge) -> None:
    texts, labels = rows_of(120)
    again = LearnedJudge.fit(texts[::-1], CRITERIA, labels[::-1], settings=WORDS)
    assert again.file.text() == learned.file.text()


@pytest.mark.parametrize("options", [("Wet", "Dry"), ("Dry", "Wet"), ("No", "Yes")])
def test_options_in_any_order_and_of_any_name(options: tuple[str, str], tmp_path: Path) -> None:
    good, bad = ("Yes", "No") if "Yes" in options else ("Wet", "Dry")
    criteria = Criteria("sea", "Is it about the sea?", [CriteriaOption(one) for one in options])
    texts, labels = rows_of(120)
    named = [good if one == "Yes" else bad for one in labels]
    LearnedJudge.fit(texts, criteria, named, settings=WORDS).save(tmp_path / "j.json")
    judge = DirectJudge(f"learned/{tmp_path / 'j.json'}", check_positional_bias=good == "Wet")
    (wet, dry) = judge.evaluate(["A wave hit the ship.", "The clock on the desk."], criteria)
    assert (wet.option, dry.option) == (good, bad)


def test_russian(tmp_path: Path) -> None:
    criteria = yes_no_criteria("Это о море?")
    words = [("сад", "поезд"), ("корабль", "волна")]
    texts = [f"Рассказ {n}: {words[bool(n % 3)][n % 2]}." for n in range(90)]
    labels = ["Yes" if place % 3 else "No" for place in range(90)]
    found = LearnedJudge.fit(texts, criteria, labels, language="ru", settings=WORDS)
    found.save(tmp_path / "j.json")
    judge = DirectJudge(f"learned/{tmp_path / 'j.json'}", language="ru")
    (found_one,) = judge.evaluate(["Большая волна и корабль"], criteria)
    assert found_one.option == "Yes"
    with pytest.raises(SetupError, match="for another criterion, language or wording"):
        DirectJudge(f"learned/{tmp_path / 'j.json'}").evaluate(["волна"], criteria)


class TestRefused:
    def test_too_few_labels(self) -> None:
        with pytest.raises(SetupError, match="needs 30 and 5"):
            LearnedJudge.fit(*_with_criteria(29), settings=WORDS)

    def test_too_few_of_the_rarer_answer(self) -> None:
        texts, _ = rows_of(40)
        with pytest.raises(SetupError, match="4 of them with the rarer"):
            LearnedJudge.fit(texts, CRITERIA, ["Yes"] * 4 + ["No"] * 36, settings=WORDS)

    def test_rows_of_one_group(self) -> None:
        texts, labels = rows_of(40)
        with pytest.raises(SetupError, match="in 1 independent groups"):
            LearnedJudge.fit(texts, CRITERIA, labels, groups=["one"] * 40, settings=WORDS)

    def test_three_options(self) -> None:
        criteria = Criteria("x", "How?", [CriteriaOption(one) for one in "abc"])
        with pytest.raises(SetupError, match="two options"):
            LearnedJudge.fit(["t"] * 1 + [f"t{n}" for n in range(40)], criteria, ["a"] * 41)

    @pytest.mark.parametrize("settings", [{"risk": 0.0}, {"risk": float("nan")}, {"delta": 2.0}])
    def test_shares_that_promise_nothing(self, settings: dict[str, float]) -> None:
        with pytest.raises(SetupError, match="must be between 0 and 1"):
            LearnSettings(cascade=True, **settings)  # type: ignore[arg-type]

    def test_cross_without_a_cascade(self) -> None:
        with pytest.raises(SetupError, match="set 'cascade' too"):
            LearnSettings(cross=True)

    def test_another_criterion(self, path: Path) -> None:
        with pytest.raises(SetupError, match="another criterion"):
            DirectJudge(f"learned/{path}").evaluate("A ship", yes_no_criteria("Is it short?"))

    def test_writing(self, path: Path) -> None:
        with pytest.raises(SetupError, match="generates no text"):
            DirectJudge(f"learned/{path}", mode="generate").evaluate("A ship", CRITERIA)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda kept: kept["head"].update(intercept=9.0), "changed or damaged"),
            (lambda kept: kept.update(format="x"), "another format"),
            (lambda kept: kept.update(format="adjudge learned judge 2"), "another format"),
            (lambda kept: kept.update(features="words 0"), "counts words differently"),
        ],
    )
    def test_changed_files(self, path: Path, change: object, said: str) -> None:
        kept = json.loads(path.read_text())
        change(kept)  # type: ignore[operator]
        path.write_text(json.dumps(kept))
        with pytest.raises(SetupError, match=said):
            DirectJudge(f"learned/{path}")

    @pytest.mark.parametrize(
        "change",
        [
            lambda kept: kept["head"].update(words="AAAA"),
            lambda kept: kept["head"].update(intercept="1"),
            lambda kept: kept["head"].update(zero_shot=-0.5),  # would reverse the verdict
            lambda kept: kept["head"].update(zero_shot=0.5),  # without a model to ask
            lambda kept: kept["head"].update(curve=[1, 2, 3]),
            lambda kept: kept.update(form={}),
            lambda kept: kept.update(rows=[1]),
            lambda kept: kept["form"].update(options=["Yes", "Yes"]),
            lambda kept: kept["form"].update(orders=[]),
            lambda kept: kept.update(acceptance={"confidence": 2.0}),
            lambda kept: kept.update(layers=[18, 21]),
            lambda kept: kept.update(head=None),
            lambda kept: kept["head"].update(intercept=10**400),
            lambda kept: kept["head"].update(curve=[1e308, 1e308]),
            lambda kept: kept.update(rows=["a"]),  # would stand for many rows
            lambda kept: kept.update(learned_from={"annotators": ["x" * 10**6]}),
            lambda kept: kept.update(acceptance=UNPROVEN),
        ],
    )
    def test_hostile_files_with_a_right_checksum(self, path: Path, change: object) -> None:
        kept = json.loads(path.read_text())
        del kept["checksum"]
        change(kept)  # type: ignore[operator]
        path.write_text(json.dumps({**kept, "checksum": content_hash(kept)}))
        with pytest.raises(SetupError, match="are inconsistent") as caught:
            DirectJudge(f"learned/{path}")
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000, '"x"'])
    def test_other_files(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(SetupError, match="not a learned judge"):
            DirectJudge(f"learned/{path}")

    def test_a_pipe_that_never_ends(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "x.json")
        with pytest.raises(SetupError, match="it is not a file"):
            DirectJudge(f"learned/{tmp_path / 'x.json'}")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(SetupError, match="cannot be read"):
            DirectJudge(f"learned/{tmp_path / 'none.json'}")


def _label_all(folder: Path, texts: list[str], labels: list[str]) -> None:
    store = LabelStore(folder)
    for place, (text, label) in enumerate(zip(texts, labels, strict=True)):
        store.add(
            Label(
                row=Instance({"response": text}).identity,
                criteria=CRITERIA.name,
                annotator="ada",
                option=label,
                design="random",
                at=1.0 + place,
                seed=1,
                drawn_of=len(texts),
            )
        )


def test_rows_it_learned_from_do_not_measure_it(tmp_path: Path) -> None:
    texts, labels = rows_of(100)
    taught = LearnedJudge.fit(texts[:60], CRITERIA, labels[:60], settings=WORDS)
    taught.save(tmp_path / "judge.json")
    judge = DirectJudge(f"learned/{tmp_path / 'judge.json'}")
    judge.evaluate(texts, CRITERIA, run=tmp_path / "run")
    _label_all(tmp_path / "run", texts, labels)
    (found,) = calibrate_run(tmp_path / "run")
    assert found.count == 40
    assert any(
        "60 labels do not count, because the judge learned from their rows" in str(one)
        for one in found.notes
    )


def dear(prompt: str) -> str:
    """An expensive judge that is always right."""
    said = "Yes" if any(word in prompt for word in WET) else "No"
    return json.dumps({"explanation": "It is.", "selected_option": said})


class TestCascade:
    def test_learns_a_threshold_and_saves_calls(self, tmp_path: Path) -> None:
        texts, _ = rows_of(400)
        DirectJudge(dear).evaluate(texts, CRITERIA, run=tmp_path / "run")
        examples = examples_of(tmp_path / "run", source="votes", model="dear")
        settings = LearnSettings(words_only=True, cascade=True)
        found = LearnedJudge.from_examples(examples, settings)
        assert found.file.acceptance is not None
        assert found.file.acceptance.rows == 200  # the other half taught the head
        assert len(found.file.rows) == 400  # neither half measures the cascade
        assert found.file.acceptance.reference == "dear"
        found.save(tmp_path / "judge.json")
        steps = [DirectJudge(f"learned/{tmp_path / 'judge.json'}"), DirectJudge(dear)]
        results = Cascade(steps).evaluate([text_of(900, wet=True), "Nothing."], CRITERIA)
        assert [one.option for one in results] == ["Yes", "No"]
        assert len(results[0].steps) == 1

    def test_refuses_another_expensive_judge(self, tmp_path: Path) -> None:
        texts, _ = rows_of(400)
        DirectJudge(dear).evaluate(texts, CRITERIA, run=tmp_path / "run")
        examples = examples_of(tmp_path / "run", source="votes", model="dear")
        settings = LearnSettings(words_only=True, cascade=True, cross=True)
        found = LearnedJudge.from_examples(examples, settings)
        assert found.file.acceptance is not None
        assert not found.file.acceptance.proven
        found.save(tmp_path / "judge.json")
        first = DirectJudge(f"learned/{tmp_path / 'judge.json'}")
        with pytest.raises(SetupError, match="relative to dear"):
            Cascade([first, DirectJudge("scripted/Yes,No")]).evaluate("A ship", CRITERIA)

    def test_votes_of_a_model_that_was_not_asked(self, tmp_path: Path) -> None:
        DirectJudge(dear).evaluate(rows_of(4)[0], CRITERIA, run=tmp_path / "run")
        with pytest.raises(SetupError, match="no votes of 'other'"):
            examples_of(tmp_path / "run", source="votes", model="other")
