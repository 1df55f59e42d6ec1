"""``explain`` in an eval file: asked after the verdicts, in the same run and budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    Request,
    ScriptedModel,
    SetupError,
)
from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.judges.learnt_settings import Learnt, LearntTemperature
from adjudge.errors import BudgetSpent
from adjudge.features.explain.opinions import explain_run
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.execute import OpinionsAsked, estimate, execute
from adjudge.runs.folder import records_of, run_info, spent_in
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.second_opinions import temperatures_of
from adjudge.stats.temperature import at_temperature
from adjudge.trust.labels.scales import judge_scales
from support.decision_server import serving
from support.page import served

Answer = Callable[[Request], str]
OPTIONS = (CriteriaOption("Yes"), CriteriaOption("No"))
HOSTILE = "It says <b>no</b>."
ASPECT = "judges: [{kind: aspect, name: kind, criteria: It is kind.}]\n"


def said(option: str, why: str = "because") -> str:
    return json.dumps({"explanation": why, "selected_option": option})


def judging(request: Request) -> str:
    text = request.prompt.text
    return "" if "broken" in text else said("PASS" if "good" in text else "FAIL")


class Evaluation:
    """An eval file over four rows, asked with these models; what the writer was sent."""

    def __init__(
        self,
        folder: Path,
        judges: str = ASPECT,
        more: str = "explain: writer\n",
        models: Mapping[str, Answer] = NOTHING,
    ) -> None:
        rows = ("good", "bad", "broken", "bad too")
        folder.joinpath("rows.csv").write_text(
            "id,answer\n" + "".join(f"{number},{text}\n" for number, text in enumerate(rows))
        )
        self.prompts: list[str] = []
        self.asked: list[str] = []
        answers: dict[str, Answer] = {"judge": judging, "writer": lambda _: said("PASS", HOSTILE)}
        self.answers = {**answers, **models}
        head = "" if "models:" in more else "models: judge\n"
        self.text = f"data: rows.csv\n{head}{judges}{more}"
        self.folder = folder / "runs" / "eval"
        self.path = folder / "eval.yaml"

    def open(self, entry: ModelEntry) -> Any:
        def ask(request: Request) -> str:
            self.asked.append(entry.model)
            if entry.model == "writer":
                self.prompts.append(request.prompt.text)
            return self.answers[entry.model](request)

        return entry.model if ":" in entry.model else ScriptedModel(ask, entry.model)

    def plan(self, **settings: Any) -> Any:
        return resolve(parse_eval(self.text, self.path), opened=self.open, **settings)

    def run(self, **settings: Any) -> list[object]:
        with execute(self.plan(**settings)) as events:
            return list(events)

    def records(self) -> dict[str | None, JudgmentRecord]:
        return {one.id: one for one in records_of(self.folder, votes=True)}


def test_rows_that_failed_get_an_opinion_after_all_verdicts(tmp_path: Path) -> None:
    plain = Evaluation(tmp_path, more="")
    plain.run()
    before = plain.records()
    (plain.folder / "ledger.sqlite").unlink()
    explained = Evaluation(tmp_path)
    plan = explained.plan()
    outcome = RunOutcome(plan)
    with execute(plan, kept=outcome.facts) as events:
        for event in events:
            outcome.see(event)
    after = explained.records()
    # an unreadable reply is repaired twice; the writer comes last
    assert explained.asked[-3:] == ["writer"] * 3
    assert "writer" not in explained.asked[:-3]
    assert {
        name: one.second_opinion and one.second_opinion.because for name, one in after.items()
    } == {
        "0": None,
        "1": "not the best verdict",
        "2": "no verdict",
        "3": "not the best verdict",
    }
    for name, one in after.items():  # and nothing else is another
        votes = [replace(vote, at=None, latency=0.0) for vote in one.votes or ()]
        other = [replace(vote, at=None, latency=0.0) for vote in before[name].votes or ()]
        assert replace(one, second_opinion=None, votes=None) == replace(before[name], votes=None)
        assert votes == other
    assert not any("because" in prompt for prompt in explained.prompts)  # the judge's own reason
    note = (
        "second opinions of writer on 3 judgments: 0 agree, 2 differ, 1 cannot be compared; they "
        "change no verdict, number or gate"
    )
    for report in (outcome.report(), report_of_run(explained.folder)):
        assert note in map(str, report.notes)
        assert report.used["writer"].calls == 3
    assert after["1"].to_dict()["second_opinion"]["explanation"] == HOSTILE  # type: ignore[index, call-overload]
    assert after["1"].columns()["second_opinion_by"] == "writer"
    # nothing is asked twice, or said to be asked
    again = explained.run()
    assert len(explained.prompts) == 3
    assert not any(isinstance(event, OpinionsAsked) for event in again)
    assert explained.records() == after
    with served(tmp_path / "runs") as page:
        text = page.get(f"{page.run('eval')}/row/2").text
    assert "Second opinion of writer" in text and "differs" in text
    assert "It says &lt;b&gt;no&lt;/b&gt;." in text and HOSTILE not in text


def test_one_budget_holds_over_verdicts_and_opinions(tmp_path: Path) -> None:
    plain = Evaluation(tmp_path, more="run: runs/plain\n")
    plain.run()
    calls = len(plain.asked)
    evaluation = Evaluation(tmp_path)
    for opinions in range(3):
        limit = calls + opinions
        with pytest.raises(BudgetSpent):
            evaluation.run(budget=Budget(max_calls=limit))
        found = [one for one in evaluation.records().values() if one.second_opinion]
        assert (len(found), len(evaluation.prompts)) == (opinions, opinions)
        assert len(evaluation.records()) == 4
        assert spent_in(evaluation.folder).calls == limit
    evaluation.run(budget=Budget(max_calls=calls + 3))
    assert run_info(evaluation.folder).state == "complete"
    assert len(evaluation.prompts) == 3
    with pytest.raises(SetupError, match="no price for model writer"):
        Evaluation(tmp_path, more="explain: writer\nmodels: scripted\n").run(
            budget=Budget(max_usd=1)
        )


def test_a_dry_run_counts_at_most_one_opinion_for_each_judgment(tmp_path: Path) -> None:
    plain, explained = Evaluation(tmp_path, more=""), Evaluation(tmp_path)
    without, cost = estimate(plain.plan()), estimate(explained.plan())
    assert cost.rows == without.rows == 4
    assert cost.calls[0] == without.calls[0]
    assert cost.calls[1] - without.calls[1] == 4
    assert explained.asked == []
    explained.run()
    assert estimate(explained.plan()).answered == 4 + 3


def test_a_writer_that_gives_nothing_is_no_opinion_and_is_asked_again(tmp_path: Path) -> None:
    def refuse(_: Request) -> str:
        return "I cannot help with that."

    evaluation = Evaluation(tmp_path, models={"writer": refuse})
    evaluation.run()
    opinions = [one.second_opinion for one in evaluation.records().values() if one.second_opinion]
    assert len(opinions) == 3
    assert all(one.verdict is None and one.reason for one in opinions)
    evaluation.answers["writer"] = lambda _: said("FAIL", "now")
    with execute(evaluation.plan(), retry_failed=True) as events:
        list(events)
    answers = [one.second_opinion for one in evaluation.records().values() if one.second_opinion]
    assert [one.explanation for one in answers] == ["now"] * 3


def test_a_panel_a_cascade_and_a_question_whose_good_answer_is_no(tmp_path: Path) -> None:
    options = "options: [{name: 'Yes', score: 0}, {name: 'No', score: 1}]"
    judges = (
        "judges:\n"
        f"  - {{kind: direct, name: rude, models: 'no', criteria: [{{name: rude, description: "
        f"'Is it rude?', {options}}}]}}\n"
        "  - {kind: aspect, name: panel, criteria: It is kind., models: [judge, fail, fail2]}\n"
        "  - {kind: aspect, name: steps, criteria: It is kind., cascade: [judge, fail]}\n"
        "  - {kind: aspect, name: own, criteria: It is kind., models: writer}\n"
    )
    models = {
        "no": lambda _: said("No"),
        **{name: lambda _: said("FAIL") for name in ("fail", "fail2")},
    }
    evaluation = Evaluation(tmp_path, judges, models=models)
    evaluation.run()
    opinions: dict[str, int] = {}
    for one in records_of(evaluation.folder):
        opinions[one.judge] = opinions.get(one.judge, 0) + (one.second_opinion is not None)
    # No is the good answer; a judge that asked the same model has its reasons already
    assert list(opinions.values()).count(0) == 2
    assert opinions["rude"] == opinions["own"] == 0
    assert opinions["panel"] == opinions["steps"] == 4


def test_judgments_that_cannot_be_asked_about_are_counted(tmp_path: Path) -> None:
    judges = (
        "judges:\n  - {kind: check, name: filled, checks: [{contains: o}]}\n"
        "  - {kind: aspect, name: own, criteria: It is kind., models: writer}\n"
        "  - {kind: aspect, name: kind, criteria: It is kind.}\n"
    )
    evaluation = Evaluation(tmp_path, judges)
    plan = evaluation.plan()
    outcome = RunOutcome(plan)
    with execute(plan, kept=outcome.facts) as events:
        for event in events:
            outcome.see(event)
    assert len(evaluation.prompts) == 3 + 4  # opinions, and the verdicts of its own judge
    for report in (outcome.report(), report_of_run(evaluation.folder)):
        note = "8 judgments could not be asked about for a second opinion"
        assert any(text.startswith(note) for text in map(str, report.notes))
        assert any("writer on 3 judgments" in text for text in map(str, report.notes))


def test_russian_questions_and_rows_are_asked_in_russian(tmp_path: Path) -> None:
    judges = "judges: [{kind: aspect, name: вежливо, criteria: Ответ вежлив.}]\nlanguage: ru\n"
    models = {"writer": lambda _: said("PASS", "Потому что «да».")}
    evaluation = Evaluation(tmp_path, judges, models=models)
    evaluation.run()
    assert all("Ответ вежлив." in prompt for prompt in evaluation.prompts)
    opinion = evaluation.records()["1"].second_opinion
    assert opinion and opinion.explanation == "Потому что «да»."


def test_a_decision_models_temperature_is_applied_and_bound_to_it(tmp_path: Path) -> None:
    with serving() as server:
        judge = f"systemone:{server.url}#fake-1"
        more = f"models: {{model: '{judge}'}}\nexplain: {{model: writer, below: 0.7%s}}\n"
        plain = Evaluation(tmp_path, more=more % "")
        plain.run()
        ((_, scale, identity),) = judge_scales(plain.folder)
        fitted = LearntTemperature(
            criteria=scale.name,
            labels=40,
            date="2026-11-01",
            model="fake-1",
            temperature=9.0,
            identity=identity,
        )
        Learnt(temperatures=(fitted,)).write(tmp_path / "learnt.json")
        hot = Evaluation(tmp_path, more=more % ", calibration: learnt.json")
        hot.run()
        for one in hot.records().values():
            shares = (one.votes or ())[0].distribution or {}
            # at this temperature every verdict is uncertain
            assert one.second_opinion and one.second_opinion.calibrated
            expected = at_temperature(shares, 9.0)[str(one.verdict)]
            assert one.second_opinion.probability == pytest.approx(expected)
        asked = len(hot.prompts)
        Learnt(temperatures=(replace(fitted, identity="0" * 16),)).write(tmp_path / "learnt.json")
        with pytest.raises(SetupError, match=r"explain: the temperature for .* cannot be used"):
            hot.run()
        assert len(hot.prompts) == asked


def test_a_calibration_of_another_judge_is_named_by_the_criterion_that_it_knows() -> None:
    criteria = [Criteria(name, "Is it?", OPTIONS) for name in ("first", "known")]
    judge = JudgeConfiguration.of(DirectJudge("scripted").configuration(criteria))
    fitted = LearntTemperature(
        criteria="known",
        labels=40,
        date="2026-11-01",
        model="other",
        temperature=2.0,
        identity="0" * 16,
    )
    with pytest.raises(SetupError, match="the temperature for 'known' cannot be used"):
        temperatures_of(
            {"judge": judge},
            [("judge", "first"), ("judge", "known")],
            Learnt(temperatures=(fitted,)),
        )


def test_what_could_explain_nothing_is_refused_before_a_verdict_is_paid(tmp_path: Path) -> None:
    evaluation = Evaluation(tmp_path, more="explain: judge\n")
    with pytest.raises(SetupError, match="cannot give a second opinion"):
        evaluation.plan()
    with serving() as server:
        evaluation = Evaluation(tmp_path, more=f"explain: 'systemone:{server.url}#fake-1'\n")
        with pytest.raises(SetupError, match=r"explain: .*can judge but not write"):
            evaluation.plan()
    assert evaluation.asked == []


def test_the_command_s_opinions_are_on_the_page_of_the_run_that_they_are_about(
    tmp_path: Path,
) -> None:
    judge = ScriptedModel(judging, "judge")
    AspectCritic("It is kind.", judge, name="kind").evaluate(["good", "bad"], run=tmp_path / "run")
    explain_run(tmp_path / "run", ScriptedModel(lambda _: said("PASS", HOSTILE), "writer"))
    with served(tmp_path) as page:
        first, second = (page.get(f"{page.run('run')}/row/{row}").text for row in (1, 2))
    assert "Second opinion of writer" in second and "Second opinion" not in first
