"""Cascades: the dear model is asked only where the cheap one is not sure enough, over a real
socket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, Cascade, DirectJudge, Instance, ScriptedModel, SetupError, Status
from adjudge.core.domain.results import AspectResult
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.learnt_settings import CascadeThresholds, Learnt
from adjudge.errors import BudgetSpent
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.stored_votes import KnownVotes
from adjudge.stats.threshold import Threshold
from adjudge.trust import calibrate_cascades
from adjudge.trust.cascades import CascadeSettings
from support.asking import marked, truth
from support.cascades import (
    CHEAP,
    DEAR,
    VOTES,
    answers,
    dear_calls,
    judged,
    label,
    learnt,
    steps,
    unsure,
)
from support.exported import judgments
from support.fake_provider import FakeProvider

ROWS = 120
UNSURE = sum(map(unsure, marked(ROWS)))


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as one:
        one.answer = answers
        yield one


@pytest.fixture(scope="module")
def asked_all(provider: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the cascade without a calibration, with labels."""
    run = tmp_path_factory.mktemp("all") / "run"
    judged(Cascade(steps(provider)), ROWS, run)
    return label(run, ROWS)


@pytest.fixture(scope="module")
def calibration(asked_all: Path) -> Path:
    return learnt(
        asked_all.parent / "cascade.json",
        *calibrate_cascades(asked_all, settings=CascadeSettings(risk=0.2)),
    )


def test_without_a_calibration_everybody_is_asked_and_the_last_decides(asked_all: Path) -> None:
    found = list(judgments(asked_all, votes=True))
    assert {one["decided_by"] for one in found} == {DEAR}
    assert {len(one["votes"]) for one in found} == {VOTES + 2}
    assert [step["accepted"] for step in found[0]["steps"]] == [False, True]


def test_the_dear_model_is_asked_only_where_the_cheap_one_is_unsure(
    provider: FakeProvider, calibration: Path, tmp_path: Path
) -> None:
    before = dear_calls(provider)
    results = judged(Cascade(steps(provider), calibration=calibration), ROWS, tmp_path / "run")
    assert dear_calls(provider) - before == 2 * UNSURE
    assert [one.verdict for one in results] == list(map(truth, marked(ROWS)))
    assert [one.decided_by for one in results] == [
        DEAR if unsure(text) else CHEAP for text in marked(ROWS)
    ]
    (section,) = report_of_run(tmp_path / "run").sections
    assert section.cascade is not None
    assert (section.cascade.spared, section.cascade.calls_saved) == (
        ROWS - UNSURE,
        2 * (ROWS - UNSURE),
    )
    assert section.cascade.costs is not None and section.cascade.costs[0] < section.cascade.costs[1]


def test_a_run_that_is_stopped_in_the_middle_asks_nothing_twice(
    provider: FakeProvider, calibration: Path, tmp_path: Path
) -> None:
    cascade, run, before = (
        Cascade(steps(provider), calibration=calibration),
        tmp_path / "run",
        len(provider.bodies),
    )
    needed = VOTES * ROWS + 2 * UNSURE
    with pytest.raises(BudgetSpent):
        judged(cascade, ROWS, run, budget=Budget(max_calls=needed // 2))
    assert len(provider.bodies) - before <= needed // 2
    left = cascade.estimate(
        [Instance({"response": text}) for text in marked(ROWS)], KnownVotes(run)
    )
    results = judged(cascade, ROWS, run)
    assert len(provider.bodies) - before == needed
    assert left.calls[0] <= needed - needed // 2 <= left.calls[1]
    judged(cascade, ROWS, run)
    assert len(provider.bodies) - before == needed
    assert all(one.status is Status.SCORED for one in results)


def test_an_estimate_knows_who_is_sure_already(
    provider: FakeProvider, calibration: Path, tmp_path: Path
) -> None:
    cascade, items = (
        Cascade(steps(provider), calibration=calibration),
        [Instance({"response": text}) for text in marked(ROWS)],
    )
    assert cascade.estimate(items).calls[0] == VOTES * ROWS
    assert cascade.estimate(items).calls[1] >= (VOTES + 2) * ROWS
    judged(cascade, ROWS, tmp_path / "run")
    assert cascade.estimate(items, KnownVotes(tmp_path / "run")).calls == (0, 0)


@pytest.mark.parametrize(
    "changed", [{"temperature": 0.5}, {"max_repairs": 1}, {"mode": "generate"}, {"language": "ru"}]
)
def test_thresholds_of_another_judge_are_refused(
    provider: FakeProvider, calibration: Path, changed: dict[str, object]
) -> None:
    with pytest.raises(
        SetupError,
        match=(
            r"the threshold of openai/gpt-4o-mini for 'marks' cannot be used, because the judge "
            r"has changed"
        ),
    ):
        Cascade(steps(provider, **changed), calibration=calibration)


def test_thresholds_of_other_steps_and_other_criteria_are_refused(
    provider: FakeProvider, calibration: Path
) -> None:
    cheap, dear = steps(provider)
    with pytest.raises(
        SetupError,
        match="learned for the steps openai/gpt-4o-mini, openai/gpt-4o, but this cascade has",
    ):
        Cascade([dear, cheap], calibration=calibration)
    with pytest.raises(
        SetupError, match="contains no thresholds of a cascade for 'other'; it has 'marks'"
    ):
        Cascade(steps(provider, name="other"), calibration=calibration)


# -- without a server ----------------------------------------------------------


def says(option: str, name: str) -> ScriptedModel:
    return ScriptedModel(
        lambda _: json.dumps({"explanation": "e", "selected_option": option}), name
    )


def critics(cheap: str = "PASS", dear: str = "FAIL", **settings: object) -> list[AspectCritic]:
    models = (says(cheap, "cheap"), says(dear, "dear"))
    return [AspectCritic("Is it good?", one, 2, name="good", **settings) for one in models]  # type: ignore[arg-type]


def thresholds(*needed: float | None) -> Learnt:
    """As if learned of ``critics``."""
    from adjudge.core.domain.judge_configuration import JudgeConfiguration
    from adjudge.core.engine.identity import step_identities

    identities = step_identities(JudgeConfiguration.of(Cascade(critics()).configuration()), "good")
    made = [
        Threshold(
            step=step,
            identity=identity,
            confidence=one,
            rows=100,
            reason="" if one is not None else "too few",
        )
        for (step, identity), one in zip(identities.items(), needed, strict=True)
    ]
    return Learnt(
        (
            CascadeThresholds(
                criteria="good",
                risk=0.1,
                delta=0.05,
                labels=100,
                date="2026-01-01",
                steps=tuple(made),
            ),
        )
    )


def one_result(learnt: Learnt, **settings: object) -> AspectResult:
    (result,) = Cascade(critics(), calibration=learnt, **settings).evaluate(["x"])  # type: ignore[arg-type]
    return result


def test_nobody_who_is_sure_enough_is_no_verdict_and_no_number() -> None:
    result = one_result(thresholds(1.1, 1.1))
    assert (result.status, result.verdict, result.score, result.decided_by) == (
        Status.ABSTAINED,
        None,
        None,
        None,
    )
    assert result.reason == "no step of the cascade was confident enough"
    assert [(one.step, one.verdict, one.confidence) for one in result.steps] == [
        ("cheap", "PASS", 1.0),
        ("dear", "FAIL", 1.0),
    ]
    assert len(result.votes) == 4 and result.panel == ()


def test_the_last_step_decides_where_that_is_asked_for() -> None:
    result = one_result(thresholds(1.1, 1.1), otherwise="last")
    assert (result.status, result.verdict, result.decided_by) == (Status.SCORED, "FAIL", "dear")


def test_a_step_that_is_never_accepted_is_not_asked() -> None:
    result = one_result(thresholds(None, 0.9))
    assert [one.step for one in result.steps] == ["dear"] and {
        vote.model for vote in result.votes
    } == {"dear"}
    result = one_result(thresholds(1.1, None))
    assert (result.status, {vote.model for vote in result.votes}) == (Status.ABSTAINED, {"cheap"})


def test_a_cascade_in_which_nobody_may_be_accepted_is_refused() -> None:
    with pytest.raises(
        SetupError,
        match=r"accepts no step of the cascade for 'good'.*cheap: too few; dear: too few",
    ):
        Cascade(critics(), calibration=thresholds(None, None))
    assert one_result(thresholds(None, None), otherwise="last").decided_by == "dear"


def test_a_step_that_fails_hands_the_row_on_and_a_last_one_that_fails_has_failed() -> None:
    broken = replace(critics()[0], models=ScriptedModel(lambda _: "?", "cheap"), max_repairs=0)
    (result,) = Cascade([broken, critics()[1]]).evaluate(["x"])
    assert (result.verdict, result.steps[0].confidence) == ("FAIL", None)
    (result,) = Cascade(
        [critics()[0], replace(critics()[1], models=ScriptedModel(lambda _: "?", "dear"))]
    ).evaluate(["x"])
    assert (result.status, result.verdict) == (Status.FAILED, None)


def test_direct_judges_are_steps_too() -> None:
    def judge(name: str, option: str) -> DirectJudge:
        return DirectJudge(says(option, name), self_consistency=2)

    cascade = Cascade([judge("cheap", "Yes"), judge("dear", "No")])
    (result,) = cascade.evaluate(["x"], "Is it good?")
    assert (result.option, result.decided_by, result.to_dict()["decided_by"]) == (
        "No",
        "dear",
        "dear",
    )
    assert "model_scores" not in result.to_dict()
    with pytest.raises(SetupError, match="name the criteria"):
        cascade.evaluate(["x"])


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: critics()[:1], "at least two steps"),
        (lambda: [critics()[0], critics()[0]], "two steps of the cascade use cheap"),
        (
            lambda: [critics()[0], DirectJudge(says("Yes", "dear"))],
            "all be AspectCritics, or all DirectJudges",
        ),
        (lambda: critics(early_stop=True), "cannot stop early"),
        (lambda: [critics()[0], replace(critics()[1], definition="Is it bad?")], "ask the same"),
        (
            lambda: [
                critics()[0],
                replace(critics()[1], models=[says("PASS", "a"), says("PASS", "b")]),
            ],
            "one model, not 2: a, b",
        ),
    ],
)
def test_steps_that_cannot_be_are_refused(made: object, text: str) -> None:
    with pytest.raises(SetupError, match=text):
        Cascade(made())  # type: ignore[operator]


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": "adjudge calibration 1", "cascades": [{}], "weights": []}'],
)
def test_a_file_that_is_no_calibration_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(SetupError, match=r"x\.json is not a calibration written by adjudge"):
        Cascade(critics(), calibration=tmp_path / "x.json")
    with pytest.raises(SetupError, match=r"none\.json cannot be read: No such file"):
        Cascade(critics(), calibration=tmp_path / "none.json")


def test_what_was_learnt_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = thresholds(0.75, None)
    made.write(tmp_path / "x.json")
    assert Learnt.read(tmp_path / "x.json") == made
