"""Rows that a judge learned from measure it nowhere, and are counted where a number is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import Cascade, DirectJudge
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration, LearnedRows
from adjudge.core.domain.label import Label
from adjudge.errors import RunError
from adjudge.features.bench.benchmark import benchmark_of
from adjudge.features.learning.examples import examples_of
from adjudge.features.learning.learner import LearnedJudge, LearnSettings
from adjudge.features.stress.card import judge_cards
from adjudge.runs.diff import run_diff
from adjudge.runs.results.cascades import learnt_by
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.cascades import calibrate_cascades
from adjudge.trust.comparison import compare_runs
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.probabilities import calibrate_probabilities
from support.commands import adjudge

CRITERIA = Criteria("sea", "Is it about the sea?", [CriteriaOption("Yes"), CriteriaOption("No")])
SEA, LAND = ("ship", "wave", "harbour", "tide"), ("desk", "train", "garden", "clock")
ROWS, LEARNED = 100, 60


def text_of(place: int) -> str:
    word = (LAND if place % 2 else SEA)[place % 4]
    return f"Number {place} tells of a {word} and of what came of it that day."


TEXTS = [text_of(place) for place in range(ROWS)]
LABELS = ["No" if place % 2 else "Yes" for place in range(ROWS)]


def expensive(prompt: str) -> str:
    option = "Yes" if any(word in prompt for word in SEA) else "No"
    return json.dumps({"explanation": "It is.", "selected_option": option})


def label_rows(folder: Path, count: int = ROWS) -> None:
    LabelStore(folder).add(
        *(
            Label(
                row=Instance({"response": text}).identity,
                criteria=CRITERIA.name,
                annotator="ada",
                option=label,
                design="random",
                at=1.0 + place,
                seed=1,
                drawn_of=ROWS,
            )
            for place, (text, label) in enumerate(zip(TEXTS[:count], LABELS[:count], strict=True))
        )
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("learned") / "judge.json"
    LearnedJudge.fit(
        TEXTS[:LEARNED], CRITERIA, LABELS[:LEARNED], settings=LearnSettings(words_only=True)
    ).save(path)
    return f"learned/{path}"


@pytest.fixture(scope="module")
def run(model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    DirectJudge(model).evaluate(TEXTS, CRITERIA, run=folder)
    label_rows(folder)
    return folder


def test_prefixes_of_any_length() -> None:
    learned = LearnedRows(["abcd", "xy", ""])
    assert [row in learned for row in ("abcdef", "xyz", "abc", "", "q")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_calibration_is_about_the_other_rows(run: Path) -> None:
    (calibration,) = calibrate_run(run)
    assert calibration.count == ROWS - LEARNED
    assert calibration.agreement is not None
    assert calibration.agreement.count == ROWS - LEARNED
    notes = "\n".join(calibration.notes)
    assert "60 labels do not count, because the judge learned from their rows" in notes
    assert "60 rows that the judge learned from are left out" in notes


def test_probabilities(run: Path) -> None:
    (report,) = calibrate_probabilities(run)
    assert report.temperature.rows == ROWS - LEARNED
    assert "60 labels do not count, because the judge learned from their rows" in "\n".join(
        report.notes
    )


def test_thresholds_of_a_cascade(model: str, tmp_path: Path) -> None:
    cascade = Cascade([DirectJudge(model), DirectJudge(expensive)])
    cascade.evaluate(TEXTS, CRITERIA, run=tmp_path / "run")
    label_rows(tmp_path / "run")
    (report,) = calibrate_cascades(tmp_path / "run")
    assert report.thresholds.labels == ROWS - LEARNED
    assert "60 labels do not count" in "\n".join(report.notes)


class TestBench:
    @pytest.fixture
    def two_judges(self, folder: Path, tmp_path: Path) -> Path:
        judges = Path(folder, "eval.yaml").read_text()
        other = judges.partition("judges:\n")[2].replace("learned/judge.json", "scripted/Yes")
        Path(folder, "two.yaml").write_text(
            judges.replace("kind: direct", "kind: direct\n    name: taught")
            + other.replace("kind: direct", "kind: direct\n    name: constant")
        )
        result = adjudge("run", "two.yaml", "--run", tmp_path / "run", cwd=folder)
        assert result.returncode == 0, result.stderr
        return tmp_path / "run"

    def test_judges_are_ranked_on_rows_they_did_not_learn_from(self, two_judges: Path) -> None:
        label_rows(two_judges)
        benchmark = benchmark_of(two_judges)
        rows = {judge.judge: judge.rows for judge in benchmark.judges}
        assert rows == {"taught": ROWS - LEARNED, "constant": ROWS}
        assert (
            "taught learned from 60 of the labelled rows; its figures cover only the others"
            in benchmark.notes
        )

    def test_judge_without_other_rows_is_not_ranked(self, two_judges: Path) -> None:
        label_rows(two_judges, LEARNED)
        benchmark = benchmark_of(two_judges)
        assert [judge.judge for judge in benchmark.judges] == ["constant"]
        assert "is not ranked, because it learned from all" in "\n".join(benchmark.notes)

    def test_no_other_judge(self, model: str, tmp_path: Path) -> None:
        DirectJudge(model).evaluate(TEXTS, CRITERIA, run=tmp_path / "run")
        label_rows(tmp_path / "run", LEARNED)
        with pytest.raises(RunError, match="learned from all 60 of its labelled rows"):
            benchmark_of(tmp_path / "run")


def test_card_says_what_it_learned_from(run: Path) -> None:
    (card,) = judge_cards(run).cards
    assert any("learned from 60 rows" in line for line in card.learnt)
    assert card.calibrations[0].count == ROWS - LEARNED
    leanings = {leaning.name: leaning.text for leaning in card.leanings}
    assert "60 labelled rows that the judge learned from" in leanings["rows it learned from"]
    settings = [line for line in card.learnt if "no calibration" in line]
    assert not settings


def test_card_names_whose_labels_and_votes_it_learned_from() -> None:
    source: JsonDict = {"labels": 60, "annotators": ["ada", "ben"], "until": "2026-11-02"}
    votes: JsonDict = {"labels": 0, "votes": 2, "votes_of": "openai/dear"}
    models: JsonDict = {
        name: {"learned_rows": [name], "learned_from": lesson}
        for name, lesson in (("learned/a", source), ("learned/b", votes))
    }
    lines = list(learnt_by("tone", JudgeConfiguration(models=models)))
    assert "tone: learned from 60 labels of ada, ben, the last of 2026-11-02" in lines
    assert "tone: learned from 2 votes of openai/dear, with their systematic errors" in lines


def test_card_names_the_labels_of_a_step_once() -> None:
    lesson: JsonDict = {"labels": 60, "annotators": ["ada"], "until": "2026-11-02"}
    models: JsonDict = {"learned/a": {"learned_rows": ["a"], "learned_from": lesson}}
    steps = (JudgeConfiguration(models=models), JudgeConfiguration(models={"openai/dear": {}}))
    cascade = JudgeConfiguration(models=models, steps=steps)
    lines = [str(line) for line in learnt_by("tone", cascade)]
    assert sum("60 labels of ada" in line for line in lines) == 1


def test_difference_of_two_runs(model: str, run: Path, tmp_path: Path) -> None:
    DirectJudge(model).evaluate(TEXTS, CRITERIA, run=tmp_path / "again")
    label_rows(tmp_path / "again")
    with run_diff(run, tmp_path / "again") as diff:
        (comparison,) = compare_runs(run, tmp_path / "again", diff)
    assert "60 labels do not count, because the judge learned from their rows" in "\n".join(
        comparison.notes
    )


@pytest.fixture(scope="module")
def folder(model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    lines = [f"{place},{text}" for place, text in enumerate(TEXTS)]
    (folder / "data.csv").write_text("\n".join(["id,response", *lines]))
    Path(folder, "judge.json").write_bytes(Path(model.removeprefix("learned/")).read_bytes())
    judge = (
        "judges:\n  - kind: direct\n    {models}\n    criteria:\n      - name: sea\n"
        '        description: "Is it about the sea?"\n        options: ["Yes", "No"]\n'
    )
    (folder / "eval.yaml").write_text(
        "data: data.csv\n" + judge.format(models="models: [learned/judge.json]")
    )
    return folder


def test_attack_counts_rows_that_the_judge_learned_from(folder: Path) -> None:
    attack = adjudge("attack", "eval.yaml", "--sample", "20", "--run", "attack", cwd=folder)
    assert attack.returncode == 0, attack.stderr
    assert "of the attacked rows are rows that the judge learned from" in " ".join(
        attack.stdout.split()
    )


def test_drift(folder: Path) -> None:
    for words in (
        ("run", "eval.yaml", "--run", "first"),
        ("drift", "init", "first", "-o", "anchors.json"),
        ("drift", "check", "anchors.json", "eval.yaml"),
    ):
        result = adjudge(*words, cwd=folder)
        assert result.returncode == 0, result.stderr
    assert "no change" in result.stdout


class TestCascadeWithAPromise:
    @pytest.fixture
    def promising(self, tmp_path: Path) -> str:
        texts = [text_of(place) for place in range(400)]
        DirectJudge(expensive).evaluate(texts, CRITERIA, run=tmp_path / "votes")
        examples = examples_of(tmp_path / "votes", source="votes", model="expensive")
        settings = LearnSettings(words_only=True, cascade=True)
        LearnedJudge.from_examples(examples, settings).save(tmp_path / "judge.json")
        return f"learned/{tmp_path / 'judge.json'}"

    def test_estimate_names_the_rows_it_expects_to_save(self, promising: str) -> None:
        cascade = Cascade([DirectJudge(promising), DirectJudge(expensive)])
        items = DirectJudge(expensive).cases(TEXTS, CRITERIA)
        (saving,) = cascade.estimate(items).savings
        assert saving.last == "expensive"
        assert saving.rows == ROWS
        assert saving.set_by == 200
        results = cascade.evaluate(TEXTS, CRITERIA)
        spared = sum(len(result.steps) == 1 for result in results)
        assert saving.spared == pytest.approx(spared, abs=10)
        assert spared > 50

    def test_report_says_what_was_saved_and_risked(self, promising: str, tmp_path: Path) -> None:
        cascade = Cascade([DirectJudge(promising), DirectJudge(expensive)])
        cascade.evaluate(TEXTS, CRITERIA, run=tmp_path / "run")
        shown = " ".join(adjudge("runs", "show", tmp_path / "run").stdout.split())
        assert "more errors than expensive alone, except with probability 0.05" in shown
        assert "expensive was not asked about" in shown
        assert "no calibration" not in shown

    def test_only_the_first_step_is_asked_in_any_case(self, promising: str) -> None:
        cascade = Cascade([DirectJudge(promising), DirectJudge(expensive)])
        companion = cascade.companion(CRITERIA)
        assert companion is not None
        judge = DirectJudge(expensive)
        (ballot,) = judge.plan(judge.cases(TEXTS[:1], CRITERIA)[0], ())
        assert companion(ballot) is None
