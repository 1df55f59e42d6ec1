"""A corrected number, or a refusal in words."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import (
    AspectCritic,
    DirectJudge,
    Instance,
    PairwiseInstance,
    PairwiseJudge,
    QuantitativeCriteria,
    RagEvaluator,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.label import Label
from adjudge.core.domain.sampled import QuantitativeResult
from adjudge.errors import SetupError
from adjudge.stats.correction import corrected_mean
from adjudge.stats.distributions import beta_quantile
from adjudge.trust import Calibration, calibrate, calibrate_run
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.calibration_words import agreement_figures
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.report import trust_sentence
from support.labels import identity, model
from support.trust import Row, labelled, labels_of, population, run_of

NUMBER_ONLY = CalibrationSettings(agreement=None)


def only(found: Sequence[Calibration]) -> Calibration:
    (one,) = found
    return one


@pytest.fixture
def rows() -> list[Row]:
    return population(400)


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(tmp_path_factory.mktemp("judged") / "run", population(400))


@pytest.fixture
def run(tmp_path: Path, judged_run: Path) -> Path:
    """The run of ``rows``, which a test may put labels into."""
    return Path(shutil.copytree(judged_run, tmp_path / "run"))


def test_the_corrected_rate_is_the_post_stratified_one_and_holds_the_truth(
    run: Path, rows: list[Row]
) -> None:
    found = only(calibrate_run(labelled(run, labels_of(rows[:120])), settings=NUMBER_ONLY))
    verdicts = ["PASS" if passed else "FAIL" for _, _, passed in rows]
    labels = [float(good) if place < 120 else None for place, (_, good, _) in enumerate(rows)]
    assert found.corrected == corrected_mean(verdicts, labels, ["FAIL", "PASS"])
    assert found.naive.value == fmean(passed for _, _, passed in rows)
    assert (
        found.corrected is not None
        and found.corrected.lower is not None
        and found.corrected.upper is not None
    )
    assert found.corrected.lower < fmean(good for _, good, _ in rows) < found.corrected.upper
    assert found.refusal is None
    assert found.labels_by_verdict == {
        "FAIL": sum(not passed for *_, passed in rows[:120]),
        "PASS": sum(passed for *_, passed in rows[:120]),
    }


def test_results_in_memory_give_the_same_as_their_run(tmp_path: Path, rows: list[Row]) -> None:
    from adjudge import AspectCritic

    critic = AspectCritic(
        "Says yes.", model(lambda prompt: "PASS" if "said yes" in prompt else "FAIL"), name="dates"
    )
    results = critic.evaluate(
        [Instance({"response": text}) for text, _, _ in rows], run=tmp_path / "run"
    )
    labels = labels_of(rows[:80])
    kept = only(calibrate_run(tmp_path / "run", labels))
    made = calibrate(results, labels, lock=kept.lock)
    assert {**made.to_dict(), "judge": ""} == {**kept.to_dict(), "judge": ""}


def test_too_few_labels_are_refused_with_how_many_would_do(run: Path, rows: list[Row]) -> None:
    found = only(calibrate_run(labelled(run, labels_of(rows[:12])), settings=NUMBER_ONLY))
    assert found.corrected is None
    assert found.refusal is not None and found.refusal.code == "too_few_labels"
    assert found.refusal.text.startswith("too few labels: 12; needed: 8 more")
    assert "; recommended: 38 more" in found.refusal.text


def test_a_judge_no_better_than_a_coin_is_corrected_and_told_of(tmp_path: Path) -> None:
    rows = population(300, good=0.5, sensitivity=0.5, specificity=0.5)
    found = only(
        calibrate_run(
            labelled(run_of(tmp_path / "run", rows), labels_of(rows[:60])), settings=NUMBER_ONLY
        )
    )
    assert found.refusal is None and found.corrected is not None
    assert found.corrected.lower is not None and found.corrected.upper is not None
    assert found.corrected.lower < (found.labels_only.value or 0) < found.corrected.upper
    assert any("says nothing about the truth" in note for note in found.notes)


def test_a_judge_that_adds_nothing_is_told_of(tmp_path: Path) -> None:
    rows = population(300, good=0.5, sensitivity=0.7, specificity=0.55, seed=3)
    found = only(
        calibrate_run(
            labelled(run_of(tmp_path / "run", rows), labels_of(rows)), settings=NUMBER_ONLY
        )
    )
    assert found.refusal is None and found.corrected is not None
    assert any("the judge saves no labels" in note for note in found.notes)
    assert found.labels_only.value == fmean(good for _, good, _ in rows)


def test_a_number_that_is_looked_at_while_labelling_has_wider_limits_and_says_so(
    run: Path, rows: list[Row]
) -> None:
    labelled(run, labels_of(rows[:60]))
    once = only(calibrate_run(run, settings=NUMBER_ONLY))
    often = only(calibrate_run(run, settings=replace(NUMBER_ONLY, sequential=True)))
    assert once.corrected is not None and often.corrected is not None
    assert often.corrected.value == pytest.approx(once.corrected.value)
    assert often.corrected.method == "post-stratified, sequential"
    assert 1.1 * (once.corrected.width or 0) < (often.corrected.width or 0)
    assert any("however often you look at it" in note for note in often.notes)
    with pytest.raises(SetupError, match="a cluster column"):
        calibrate_run(run, settings=replace(NUMBER_ONLY, sequential=True, cluster="response"))
    with pytest.raises(SetupError, match="--by"):
        calibrate_run(run, settings=replace(NUMBER_ONLY, sequential=True, by="response"))


def test_labels_of_chosen_rows_never_enter(run: Path, rows: list[Row]) -> None:
    labelled(run, labels_of(rows[:60]))
    before = only(calibrate_run(run, settings=NUMBER_ONLY))
    wrong = [row for row in rows[60:] if row[1] != row[2]]
    labelled(run, labels_of(wrong, design="chosen"))
    after = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert after.corrected == before.corrected
    assert any("of chosen rows" in note for note in after.notes)


def test_labels_of_chosen_rows_alone_are_refused(run: Path, rows: list[Row]) -> None:
    found = only(
        calibrate_run(labelled(run, labels_of(rows[:60], design="chosen")), settings=NUMBER_ONLY)
    )
    assert found.refusal is not None and found.refusal.code == "chosen_rows"


def test_labels_that_a_model_made_are_refused_unless_that_is_said(
    run: Path, rows: list[Row]
) -> None:
    labelled(run, labels_of(rows[:60], kind="model"))
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert found.refusal is not None and found.refusal.code == "model_made_labels"
    told = only(calibrate_run(run, settings=replace(NUMBER_ONLY, labels_are_model_made=True)))
    assert told.corrected is not None and told.labels.model_made
    assert any("made by a model" in note for note in told.notes)


def test_rows_drawn_within_another_judges_verdicts_are_no_random_ones(
    run: Path, rows: list[Row]
) -> None:
    lock = label_scale(run, None).identity
    own = labels_of(rows[:60], design="random_within_verdict", drawn_under=lock)
    assert only(calibrate_run(run, own, settings=NUMBER_ONLY)).refusal is None
    foreign = labels_of(rows[:60], design="random_within_verdict", drawn_under="another")
    refused = only(calibrate_run(run, foreign, settings=NUMBER_ONLY)).refusal
    assert refused is not None and refused.code == "another_judge"


def test_failed_judgments_without_labels_give_bounds_and_no_number(
    tmp_path: Path, rows: list[Row]
) -> None:
    run = run_of(tmp_path / "run", rows, failed=lambda text: text.split()[1].endswith("7"))
    judged_rows = [row for row in rows[:150] if not row[0].split()[1].endswith("7")]
    found = only(calibrate_run(labelled(run, labels_of(judged_rows)), settings=NUMBER_ONLY))
    assert found.failed == 40
    assert found.corrected is not None and found.corrected.value is None
    assert found.corrected.lower is not None and found.corrected.upper is not None
    assert found.corrected.upper - found.corrected.lower > 0.1
    assert any("40 failed judgments have no label" in note for note in found.notes)


def test_failed_judgments_with_labels_are_a_part_of_the_number(
    tmp_path: Path, rows: list[Row]
) -> None:
    run = run_of(tmp_path / "run", rows, failed=lambda text: text.split()[1].endswith("7"))
    found = only(calibrate_run(labelled(run, labels_of(rows[:200])), settings=NUMBER_ONLY))
    assert found.corrected is not None and found.corrected.value is not None
    assert found.labels_by_verdict["failed"] == 20


def test_rows_of_one_conversation_say_less_than_as_many_others(tmp_path: Path) -> None:
    rows = [(f"row {number} said {'yes' if talk % 4 else 'no'}.", talk % 3 > 0, bool(talk % 4))
            for number, talk in enumerate(place // 5 for place in range(300))]  # fmt: skip
    from adjudge import AspectCritic

    critic = AspectCritic(
        "Says yes.", model(lambda prompt: "PASS" if "said yes" in prompt else "FAIL"), name="dates"
    )
    instances = [
        Instance({"talk": str(place // 5), "response": text})
        for place, (text, _, _) in enumerate(rows)
    ]
    results = critic.evaluate(instances)
    labels = [
        Label(
            row=one.identity,
            criteria="dates",
            annotator="a",
            option="PASS" if row[1] else "FAIL",
            design="random",
        )
        for one, row in zip(instances[:150], rows, strict=False)
    ]
    plain, grouped = (
        calibrate(results, labels, settings=replace(NUMBER_ONLY, cluster=name))
        for name in (None, "Talk")
    )
    assert (grouped.labels_only.width or 0) > 1.5 * (plain.labels_only.width or 1)
    with pytest.raises(SetupError, match=r"no column 'speech'; it has talk, response"):
        calibrate(results, labels, settings=replace(NUMBER_ONLY, cluster="speech"))


def test_copies_of_one_text_count_as_one(tmp_path: Path) -> None:
    rows = population(60)
    copies = [row for row in rows for _ in range(4)]
    run = run_of(tmp_path / "run", copies)
    many = only(calibrate_run(run, labels_of(rows), settings=NUMBER_ONLY)).labels_only
    few = only(
        calibrate_run(run_of(tmp_path / "few", rows), labels_of(rows), settings=NUMBER_ONLY)
    ).labels_only
    assert many.value == few.value
    assert (many.width or 0) > 0.9 * (few.width or 1)


# -- other scales ---------------------------------------------------------------

GRADES = Criteria(
    "grade",
    "How good is it?",
    [
        CriteriaOption("bad", score=0),
        CriteriaOption("fair", score=5),
        CriteriaOption("good", score=10),
    ],
)


def graded(folder: Path, count: int = 240) -> tuple[Path, list[Label], float]:
    choice, texts, labels = random.Random(2), [], []
    names, points = ("bad", "fair", "good"), {"bad": 0, "fair": 5, "good": 10}
    truth = []
    for number in range(count):
        true = choice.choice(names)
        said = true if choice.random() < 0.85 else choice.choice(names)
        texts.append(f"row {number} is {said}.")
        truth.append(points[true])
        if number < 100:
            labels.append(
                Label(
                    row=identity(texts[-1]),
                    criteria="grade",
                    annotator="ann",
                    option=true,
                    design="random",
                )
            )

    def script(request: Request) -> str:
        text = request.prompt.text
        found = next(name for name in names if f" is {name}." in text)
        return json.dumps({"explanation": "", "selected_option": found})

    DirectJudge(ScriptedModel(script)).evaluate(texts, GRADES, run=folder)
    return folder, labels, fmean(truth)


def test_shares_and_mean_agree_if_annotators_are_evenly_split(tmp_path: Path) -> None:
    """On every row that is good, a second annotator says bad: half of each, in shares as in the
    mean. The shares had dropped those rows.
    """
    run, labels, _ = graded(tmp_path / "run")
    others = [replace(one, annotator="bob") for one in labels]
    others = [replace(one, option="bad") if one.option == "good" else one for one in others]
    found = only(calibrate_run(run, [*labels, *others], settings=NUMBER_ONLY))
    shares = {option: one.value or 0 for option, one in found.shares.items()}
    assert sum(shares.values()) == pytest.approx(1)
    assert found.corrected is not None
    mean = 5 * shares["fair"] + 10 * shares["good"]
    assert found.corrected.value == pytest.approx(mean)
    assert shares["good"] > 0.1


def test_several_options_give_the_mean_score_on_their_own_scale_and_each_share(
    tmp_path: Path,
) -> None:
    run, labels, truth = graded(tmp_path / "run")
    found = only(calibrate_run(run, labels))
    assert (
        found.corrected is not None
        and found.corrected.lower is not None
        and found.corrected.upper is not None
    )
    assert 0 < found.corrected.lower < truth < found.corrected.upper < 10
    assert set(found.shares) == {"bad", "fair", "good"}
    assert sum(one.value or 0 for one in found.shares.values()) == pytest.approx(1)
    assert (
        found.agreement is not None
        and "quadratic kappa" in found.agreement.figures
        and "Spearman" in found.agreement.figures
    )
    titles = [str(title) for title, _ in agreement_figures(found.agreement)]
    assert "alpha (ordinal)" in titles and "alpha" not in titles
    assert found.agreement.to_dict()["alpha_level"] == "ordinal"


def test_numbers_are_corrected_too(tmp_path: Path) -> None:
    choice = random.Random(4)
    truth = [choice.uniform(2, 9) for _ in range(200)]
    said = [min(10.0, max(0.0, one + 1 + choice.gauss(0, 0.7))) for one in truth]
    texts = [f"row {place}: {value:.3f}!" for place, value in enumerate(said)]

    def script(request: Request) -> str:
        number = request.prompt.text.split("row ")[-1].split(": ")[1].split("!")[0]
        return json.dumps({"explanation": "", "score": float(number)})

    criteria = QuantitativeCriteria("How long is it?", ScriptedModel(script))

    async def judge_all() -> list[QuantitativeResult]:
        return [await criteria.evaluate(text) for text in texts]

    results = asyncio.run(judge_all())
    name = results[0].criteria.name
    labels = [
        Label(
            row=one.instance.identity, criteria=name, annotator="ann", score=value, design="random"
        )
        for one, value in list(zip(results, truth, strict=True))[:60]
    ]
    found = calibrate(results, labels)
    assert (
        found.corrected is not None
        and found.corrected.value is not None
        and found.naive.value is not None
    )
    assert found.corrected.method == "PPI++ with t"
    assert abs(found.corrected.value - fmean(truth)) < 0.4 < found.naive.value - fmean(truth)
    assert (found.corrected.width or 0) < 0.8 * (found.labels_only.width or 0)


def test_comparisons_give_the_win_rate_of_the_first_system(tmp_path: Path) -> None:
    choice, pairs, truth = random.Random(5), [], []
    for number in range(200):
        true = choice.random() < 0.65
        said = true if choice.random() < 0.85 else not true
        pairs.append(
            [
                f"row {number} {'zwin' if said else 'zlose'}",
                f"row {number} {'zlose' if said else 'zwin'} and more",
            ]
        )
        truth.append(true)
    script = model(lambda prompt: "A" if prompt.index("zwin") < prompt.index("zlose") else "B")
    run = tmp_path / "run"
    PairwiseJudge(script).evaluate(pairs, "Which is better?", run=run)
    name = label_scale(run, None).name
    labels = [
        Label(
            row=Instance({"response": pair}).identity,
            criteria=name,
            annotator="ann",
            winner=0 if true else 1,
            design="random",
        )
        for pair, true in list(zip(pairs, truth, strict=True))[:80]
    ]
    found = only(calibrate_run(run, labels))
    assert found.measure.name == "response 1"
    assert found.corrected is not None and found.corrected.value == pytest.approx(
        fmean(truth), abs=0.1
    )
    assert found.agreement is not None and set(found.agreement.baselines) == {
        "majority",
        "random",
        "longest",
    }


def of_two_systems(
    run: Path, sides: Sequence[tuple[str, ...]], seed: int
) -> tuple[list[PairwiseInstance], list[bool]]:
    """A run in which each row names its systems, and whether "new" wins there:
    the judge says so.
    """
    choice, rows, wins = random.Random(seed), [], []
    for number, systems in enumerate(sides):
        won = choice.random() < 0.16
        best = (
            "new" if won and "new" in systems else next(name for name in systems if name != "new")
        )
        texts = [
            f"row {number} by {name} {'zwin' if name == best else 'zlose'}" for name in systems
        ]
        rows.append(PairwiseInstance(responses=texts, metadata={"systems": systems}))
        wins.append(won)
    script = model(lambda prompt: "A" if prompt.index("zwin") < prompt.index("zlose") else "B")
    PairwiseJudge(script).evaluate(rows, "Which is better?", run=run)
    return rows, wins


def test_systems_that_change_sides_keep_their_win_rate(tmp_path: Path) -> None:
    """The names were those of the first row: a judge's .159 became .587."""
    choice = random.Random(3)
    sides = [choice.choice((("new", "old"), ("old", "new"))) for _ in range(200)]
    rows, wins = of_two_systems(tmp_path / "run", sides, 5)
    name = label_scale(tmp_path / "run", None).name
    labels = [
        Label(
            row=row.identity,
            criteria=name,
            annotator="ann",
            winner=side.index("new" if won else "old"),
            design="random",
        )
        for row, side, won in list(zip(rows, sides, wins, strict=True))[:120]
    ]
    found = only(calibrate_run(tmp_path / "run", labels))
    rate = fmean(wins) if sides[0][0] == "new" else 1 - fmean(wins)
    assert (found.measure.name, found.naive.value) == (sides[0][0], pytest.approx(rate))
    assert found.corrected is not None and found.corrected.value == pytest.approx(rate, abs=0.03)
    assert found.agreement is not None and found.agreement.figures["accuracy"].value == 1


def test_of_three_systems_there_is_no_win_rate_and_rank_is_named(tmp_path: Path) -> None:
    pairs = (("new", "old"), ("old", "third"), ("third", "new"))
    sides = [pairs[place % 3] for place in range(60)]
    rows, wins = of_two_systems(tmp_path / "run", sides, 5)
    name = label_scale(tmp_path / "run", None).name
    labels = [
        Label(row=row.identity, criteria=name, annotator="ann", winner=int(won), design="random")
        for row, won in zip(rows, wins, strict=True)
    ]
    found = only(calibrate_run(tmp_path / "run", labels))
    assert found.refusal is not None
    assert (found.refusal.code, "3 systems are compared" in found.refusal.text) == (
        "several_systems",
        True,
    )
    assert "'adjudge rank' ranks them" in found.refusal.text
    assert (found.corrected, found.naive.value, found.labels_only.value) == (None, None, None)
    assert found.agreement is not None and found.agreement.count == 60
    assert found.needed.labels is None and "3 systems are compared" in found.needed.reason


def test_each_dimension_of_rag_answers_is_calibrated_by_itself(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        schema = json.dumps(request.schema)
        names = json.loads(schema)["properties"]["selected_option"]["enum"]
        return json.dumps(
            {
                "explanation": "",
                "selected_option": names[-1 if "good" in request.prompt.text else 0],
            }
        )

    rows = [
        {
            "user_input": f"question {n}?",
            "response": f"{'good' if n % 3 else 'poor'} answer {n}",
            "contexts": ["c"],
        }
        for n in range(300)
    ]
    RagEvaluator(model=ScriptedModel(script), dimensions=("clarity", "conciseness")).evaluate(
        rows, run=tmp_path / "run"
    )
    from support.exported import judgments

    stored = [Instance(one["fields"]) for one in judgments(tmp_path / "run")]
    labels = [
        Label(
            row=one.identity,
            criteria="clarity",
            annotator="a",
            option="4" if "good" in str(one.fields["response"]) else "1",
            design="random",
        )
        for one in stored[:60]
    ]
    found = only(calibrate_run(tmp_path / "run", labels, settings=NUMBER_ONLY))
    assert (found.criteria, found.measure.range) == ("clarity", (0.0, 4.0))
    assert found.corrected is not None and found.corrected.value == pytest.approx(3.0, abs=0.15)
    assert found.naive.value == pytest.approx(fmean(4 if n % 3 else 0 for n in range(300)))


def _width(found: Calibration) -> float:
    assert found.corrected is not None
    assert found.corrected.lower is not None and found.corrected.upper is not None
    return found.corrected.upper - found.corrected.lower


def test_labels_by_another_wording_or_with_another_option_are_told_of(
    run: Path, rows: list[Row]
) -> None:
    good = labels_of(rows[:60])
    strange = [
        replace(one, row=other.row, option="maybe")
        for one, other in zip(good, labels_of(rows[60:65]), strict=False)
    ]
    reworded = [replace(one, criteria_identity="other") for one in good[:3]]
    found = only(calibrate_run(run, [*reworded, *good[3:], *strange], settings=NUMBER_ONLY))
    assert found.count == 60
    assert "5 labels name no option of this criterion and are left out" in found.notes
    without = only(calibrate_run(run, [*reworded, *good[3:]], settings=NUMBER_ONLY))
    assert (without.skipped, found.skipped) == (0, 5)
    for left, right in ((without.corrected, found.corrected), (without.naive, found.naive)):
        assert left is not None and right is not None and left.value == right.value
    assert _width(found) > _width(without) + 0.02, "the drawn rows may be anything"
    assert "3 labels were given to another wording of this criterion" in found.notes


def test_a_judge_without_any_verdict_has_no_corrected_number(
    tmp_path: Path, rows: list[Row]
) -> None:
    run = run_of(tmp_path / "run", rows[:40], failed=lambda _: True)
    found = only(calibrate_run(run, labels_of(rows[:30])))
    assert found.refusal is not None and "no labelled row has a verdict" in found.refusal.text
    assert (found.naive.value, found.labels_only.count) == (None, 30)


def test_labels_of_rows_that_are_not_there_are_told_of(run: Path, rows: list[Row]) -> None:
    away = [
        replace(one, row=digit * 32) for digit, one in zip("def", labels_of(rows[:3]), strict=False)
    ]
    found = only(calibrate_run(run, [*labels_of(rows[:60]), *away], settings=NUMBER_ONLY))
    assert "3 labels are about rows that this judge has not judged" in found.notes


def test_sensitivity_knows_of_rows_that_belong_together(tmp_path: Path) -> None:
    rows = population(120, sensitivity=0.8)
    run = labelled(
        run_of(tmp_path / "run", [(text, good, passed) for text, good, passed in rows * 2]),
        labels_of(rows),
    )
    found = only(calibrate_run(run, settings=NUMBER_ONLY)).confusion.sensitivity
    assert found is not None and found.count == 2 * sum(good for _, good, _ in rows)
    once = [passed for _, good, passed in rows if good]
    hits, misses = sum(once), len(once) - sum(once)
    assert found.lower is not None and found.lower <= beta_quantile(0.025, hits, misses + 1) + 1e-9
    assert found.upper is not None and found.upper >= beta_quantile(0.975, hits + 1, misses) - 1e-9


def test_a_level_is_never_rounded_to_certainty(run: Path, rows: list[Row]) -> None:
    found = only(
        calibrate_run(
            labelled(run, labels_of(rows[:60])), settings=replace(NUMBER_ONLY, level=0.999)
        )
    )
    assert "at 99.9%" in trust_sentence(found)


def test_copies_of_one_text_are_no_further_labels_of_a_score() -> None:
    """Thirty labelled texts, four times over: the interval is about that of the thirty."""
    choice = random.Random(3)
    truth = [choice.uniform(2, 8) for _ in range(45)]
    said = [f"{min(10.0, value + choice.uniform(0, 2)):.1f}" for value in truth]

    def script(request: Request) -> str:
        number = request.prompt.text.split("row ")[-1].split(": ")[1].split("!")[0]
        return json.dumps({"explanation": "", "score": float(number)})

    def found(times: int) -> Calibration:
        criteria = QuantitativeCriteria("How good is it?", ScriptedModel(script))

        async def judge_all() -> list[QuantitativeResult]:
            return [
                await criteria.evaluate(f"row {n}: {said[n]}!")
                for n in range(45)
                for _ in range(times)
            ]

        results = asyncio.run(judge_all())
        labels = [
            Label(
                row=one.instance.identity,
                criteria=one.criteria.name,
                annotator="ann",
                score=truth[n],
                design="random",
            )
            for n, one in enumerate(results[::times][:30])
        ]
        return calibrate(results, labels, settings=NUMBER_ONLY)

    once, often = found(1).corrected, found(4).corrected
    assert once is not None and often is not None
    assert (often.width or 0) > 0.8 * (once.width or 1)


def test_copies_of_one_text_have_the_labels_that_were_given_under_their_own_ids() -> None:
    from adjudge import AspectCritic

    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="dates")
    results = critic.evaluate(
        [Instance({"response": "yes"}, id=name) for name in ("q1", "q7", "q9")]
    )
    said = Label(
        row=results[0].instance.identity,
        criteria="dates",
        annotator="ann",
        option="PASS",
        design="random",
        seed=0,
        id="q1",
    )
    found = calibrate(results, [said, replace(said, option="FAIL", id="q7")])
    # nobody labelled q9, and its copies were labelled differently
    assert found.confusion.table == {"FAIL": {"PASS": 1}, "PASS": {"PASS": 1}}
    note = "1 row has no label, because copies of its text were labelled differently"
    assert note in found.notes
    alike = calibrate(results, [said, replace(said, id="q7")])
    assert alike.confusion.table == {"PASS": {"PASS": 3}}
    assert note not in alike.notes
    # what was said of all copies holds for those that were not labelled apart
    of_all = calibrate(results, [replace(said, id=None), replace(said, option="FAIL", id="q7")])
    assert of_all.confusion.table == {"FAIL": {"PASS": 1}, "PASS": {"PASS": 2}}
    # two people labelled a copy each: they differ on q9, and nobody labelled it
    apart = calibrate(results, [said, replace(said, option="FAIL", id="q7", annotator="bob")])
    assert note in apart.notes


def test_copied_labels_do_not_make_too_few_labels_enough(tmp_path: Path) -> None:
    """Twelve labels of texts that are there four times were counted as 48."""
    rows = population(100)
    copies = [row for row in rows for _ in range(4)]
    run = labelled(run_of(tmp_path / "run", copies), labels_of(rows[:12]))
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert found.refusal is not None and found.refusal.code == "too_few_labels"
    assert found.refusal.text.startswith("too few labels: 12; needed: 8 more")
    assert "; recommended: 38 more" in found.refusal.text
    assert found.refusal.text.endswith("(the label of copies counts once)")
    # if every row has a label, no more of them can be had
    few = run_of(tmp_path / "few", copies[:40])
    found = only(calibrate_run(few, labels_of(rows[:10]), settings=NUMBER_ONLY))
    assert found.refusal is None and found.count == 10


def test_labels_of_another_systems_answers_are_not_told_of_this_one(tmp_path: Path) -> None:
    rows = [
        Instance(
            {"response": f"[{place}] by {name}"},
            metadata={"row": {"answered_row": place, "system": name}},
        )
        for place in range(40)
        for name in ("one", "two")
    ]
    AspectCritic("Gives a date.", model(lambda _: "PASS"), name="dates").evaluate(
        rows, run=tmp_path / "run"
    )
    labels = [
        Label(row=row.identity, criteria="dates", annotator="ann", option="PASS", design="random")
        for row in rows
    ]
    found = calibrate_run(labelled(tmp_path / "run", labels), settings=NUMBER_ONLY)
    assert [one.system for one in found] == ["one", "two"]
    for one in found:
        assert one.labels.designs == {"random": 40}
        assert not any("has not judged" in note for note in one.notes), one.notes


def test_several_answers_to_one_question_are_no_independent_rows(tmp_path: Path) -> None:
    """Forty questions answered five times each: their labels are worth no two hundred."""

    def script(request: Request) -> str:
        found = re.search(r"\[(\d+)\]", request.prompt.text)
        passed = found is not None and int(found[1]) % 3 > 0
        return json.dumps({"explanation": "x", "selected_option": "PASS" if passed else "FAIL"})

    def made(name: str, **columns: object) -> Calibration:
        rows = [
            Instance(
                {"response": f"[{place // 5}] time {place % 5}"},
                metadata={"row": {**columns, "answered_row": place // 5 if columns else place}},
            )
            for place in range(200)
        ]
        AspectCritic("Gives a date.", ScriptedModel(script), name="dates").evaluate(
            rows, run=tmp_path / name
        )
        labels = [
            Label(
                row=row.identity,
                criteria="dates",
                annotator="ann",
                option="FAIL" if place // 5 % 4 else "PASS",
                design="random",
            )
            for place, row in enumerate(rows)
        ]
        (found,) = calibrate_run(labelled(tmp_path / name, labels))
        return found

    alone, repeated = made("alone"), made("repeated", system="one")
    assert alone.corrected is not None
    assert repeated.corrected is not None
    assert (repeated.corrected.value, repeated.system) == (alone.corrected.value, "")
    assert (repeated.corrected.width or 0) > 1.7 * (alone.corrected.width or 1)
    assert (repeated.labels_only.width or 0) > 1.7 * (alone.labels_only.width or 1)


def test_labels_outside_the_draw_of_drawn_rows_count_and_the_note_says_so(
    run: Path, rows: list[Row]
) -> None:
    labelled(run, labels_of(rows[:60]))
    before = only(calibrate_run(run, settings=NUMBER_ONLY))
    outside = [
        replace(label, annotator="other", option="FAIL")
        for label in labels_of(rows[:20], design="chosen")
    ]
    labelled(run, [*outside, *labels_of(rows[60:65], design="chosen")])
    after = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert before.corrected is not None and after.corrected is not None
    assert (after.corrected.value or 0) < (before.corrected.value or 0)
    assert any("20 labels were given outside the draw" in note for note in after.notes)
    assert any("5 labels of chosen rows" in note for note in after.notes)


@pytest.mark.parametrize("of_run", [True, False])
def test_of_labels_given_from_python_the_last_one_for_a_row_counts(
    tmp_path: Path, rows: list[Row], of_run: bool
) -> None:
    critic = AspectCritic(
        "Says yes.", model(lambda prompt: "PASS" if "said yes" in prompt else "FAIL"), name="dates"
    )
    results = critic.evaluate(
        [Instance({"response": text}) for text, _, _ in rows], run=tmp_path / "run"
    )

    def calibrated(labels: Sequence[Label]) -> Calibration:
        if of_run:
            return only(calibrate_run(tmp_path / "run", iter(labels), settings=NUMBER_ONLY))
        return calibrate(results, iter(labels), settings=NUMBER_ONLY)

    last = labels_of(rows[:80])
    first = [
        replace(label, option="FAIL" if label.option == "PASS" else "PASS") for label in last[:40]
    ]
    once, twice = calibrated(last), calibrated([*first, *last])
    assert twice.corrected == once.corrected
    assert twice.labels.labels == once.labels.labels
    said = "40 labels do not count, because their annotator labelled the row again later"
    assert said in str(twice.to_dict()["notes"])
    assert not any("labelled the row again" in note for note in once.notes)
