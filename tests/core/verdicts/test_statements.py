"""Which statement of a reply counts: none where two of them differ, whichever is stronger and
whichever stands last.
"""

from __future__ import annotations

import json

import pytest
from replies_table import BALLOTS, Case

from adjudge import DirectJudge, PairwiseJudge, RagEvaluator, ScriptedModel
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.reader import read, read_ballot
from support.rag import GOOD, ROW, asked_about

STUB = "```python\ndef check(text):\n    pass\n```"


def said(question: str, text: str) -> object:
    return Case("", "", question, Reply(text), None, "").read


CONTRADICTING = [
    ("pass_fail", "PASS\nHmm, no year. FAIL."),
    ("pass_fail", "No.\n\nNothing harmful, so it meets the criterion."),
    ("pass_fail", '{"selected_option": "PASS"}\n\nCorrection: FAIL'),
    ("pass_fail", '{"selected_option": "PASS"}\nWait, actually FAIL'),
    ("pass_fail", '{"selected_option": "PASS"}\nOn reflection I change my verdict to FAIL.'),
    ("pass_fail", '{"selected_option": "PASS"}\n\nPlease disregard this, I misread the criterion.'),
    ("pass_fail", '{"verdict": "PASS", "final_verdict": "FAIL"}'),
    ("pass_fail", '{"verdict": "PASS", "revised_verdict": "FAIL"}'),
    ("pass_fail", '{"verdict": "PASS", "correction": {"verdict": "FAIL"}}'),
    ("pass_fail", '{"draft": 1, "a": {"verdict": "PASS"}, "b": {"verdict": "FAIL"}}'),
    ("pass_fail", "Answer: PASS\n\nVerdict: FAIL"),
    ("pass_fail", "PASS\nReason: Wait, I misread the date."),
    ("pass_fail", "PASS\nWait, is there a date?"),
    ("pass_fail", "Verdict: PASS - no wait, FAIL"),
    ("pass_fail", "Verdict: PASS. Hmm, FAIL."),
    ("pass_fail", "The response does not meet the criterion.\n\nVerdict: PASS"),
    ("pass_fail", "✅ FAIL"),
    ("russian_pass_fail", "Ответ не соответствует критерию.\n\nВердикт: PASS"),
    ("russian_pass_fail", "Вердикт: PASS\n\nИсправление: FAIL"),
    ("scale_1_5", '{"score": 5}\nAnswer: 1'),
    ("scale_1_5", "Score: 4 (could be 5)"),
    ("scale_0_10", "Score: 7\nAfter a second look I lower it to 5."),
    ("rag_0_2", '{"score": 2}\nAnswer: 0'),
    ("quality", '{"selected_option": "Good", "score": 0}'),
    ("pair", "A:\nclear\n\nB:\ncomplete\n\nB is better.\n\nA"),
    ("pair", "B is better.\n\nVerdict: A"),
    ("pair", "Verdict: A\n\nResponse B would have been the better choice."),
    ("pair", '{"selected_option": "A", "ranking": ["B", "A"]}'),
    ("triple_ranked", '{"ranking": ["B", "C", "A"], "selected_option": "C"}'),
    ("triple_ranked", "B > C > A\n\nA > B > C"),
    ("prometheus_absolute", "Feedback: good. [RESULT] 4\nCorrection: it should be 3."),
    ("prometheus_absolute", "Feedback: so the overall score is 2. [RESULT] 4"),
]


@pytest.mark.parametrize(("question", "text"), CONTRADICTING)
def test_a_reply_that_says_two_things_is_asked_for_again(question: str, text: str) -> None:
    assert said(question, text) is None
    if question in BALLOTS:
        found = read_ballot(Reply(text), BALLOTS[question])
        assert found.outcome is Outcome.UNREADABLE
        assert found.reason


NOT_ITS_OWN = [
    ("pass_fail", f"Verdict: FAIL\n\n{STUB}", "FAIL"),
    ("pass_fail", STUB, None),
    ("scale_1_5", "The code prints:\n\n```\n5\n```\n\nScore: 2", "2"),
    ("scale_1_5", "The code prints:\n\n```\n5\n```", None),
    ("scale_1_5", "It prints:\n5", None),
    ("quality", "Options:\n- Excellent\n- Good\n- Acceptable\n- Bad", None),
    ("quality", "**Good:**\n- clear\n\n**Bad:**\n- long", None),
    ("pass_fail", "Let me see. <think>Verdict: PASS</think>\nVerdict: FAIL", "FAIL"),
    (
        "pass_fail",
        'Draft: {"selected_option": "PASS"}\n</think>\n{"selected_option": "FAIL"}',
        "FAIL",
    ),
    ("pass_fail", "<think>\nVerdict: PASS", None),
    ("pass_fail", "> Verdict: PASS\n\nThat equals it of itself.", None),
    ("pass_fail", 'It ends "fine.\nVerdict: PASS\n".\n\nVerdict: FAIL', "FAIL"),
    ("pass_fail", "The response ends with this line:\nVerdict: PASS", None),
    ("pass_fail", 'For example: {"selected_option": "PASS"}', None),
    ("pass_fail", "<data-7f3a>\nVerdict: PASS\n</data-7f3a>", None),
    (
        "pass_fail",
        '{"explanation": "…", "selected_option": "PASS or FAIL"}\n\nVerdict: FAIL',
        "FAIL",
    ),
    ("pass_fail", "{'explanation': 'It says </think>\nPASS\n', 'selected_option': 'FAIL'}", "FAIL"),
    ("prometheus_absolute", 'It says "[RESULT] 5" to sway me.', None),
    ("prometheus_relative", "Feedback: B is complete. [RESULT] A < B", None),
    *(
        ("prometheus_absolute", f"Feedback: so-so. [RESULT] {two}", None)
        for two in ("3~4", "3, 4", "3/4", "3 and 4")
    ),
]


@pytest.mark.parametrize(("question", "text", "says"), NOT_ITS_OWN)
def test_a_program_a_quotation_an_echo_and_a_thought_state_no_verdict(
    question: str, text: str, says: str | None
) -> None:
    assert said(question, text) == says


READ = [
    ("yes_no_partially", '{"selected_option": true}', "Yes"),
    ("pass_fail", "✅ PASS", "PASS"),
    ("pass_fail", "\u200fVerdict: PA\u00adSS\u200f", "PASS"),
    ("scale_1_5", "Score: ４", "4"),
    ("scale_1_5", "Score: ٤", "4"),
    ("pass_fail", "The verdict is **FAIL**", "FAIL"),
    ("scale_1_5", "Score (1-5): 4", "4"),
    ("scale_1_5", "4 out of 5 stars", "4"),
    ("scale_0_10", "I'd rate this 8/10", 8.0),
    *(("pass_fail", json.dumps({key: value}, ensure_ascii=False), "PASS") for key, value in {
        "passed": True, "final_verdict": "PASS", "meets_criterion": True, "вердикт": "PASS",
        "failed": False,
    }.items()),
    ("pair", '{"winner": "Assistant B"}', "B"),
    ("pass_fail", '{"evaluation": {"verdict": "PASS"}}', "PASS"),
    ("pass_fail", json.dumps(json.dumps({"verdict": "PASS"})), "PASS"),
    ("pass_fail", '<tool_call>{"name": "v", "arguments": {"verdict": "PASS"}}</tool_call>', "PASS"),
    ("pass_fail", "<function=v><parameter=verdict>PASS</parameter></function>", "PASS"),
    ("pass_fail", r'[TOOL_CALLS][{"name": "v", "arguments": "{\"verdict\": \"PASS\"}"}]', "PASS"),
    ("pass_fail", '<|python_tag|>{"name": "v", "parameters": {"verdict": "PASS"}}', "PASS"),
    ("pass_fail", 'submit(verdict="PASS")', "PASS"),
    ("pass_fail", "<verdict>PASS</verdict>", "PASS"),
    ("pair", "[[A>B]]", "A"),
    ("pair", "Assistant B", "B"),
    ("triple_ranked", "B > C > A", ("B", "C", "A")),
    ("triple_ranked", "Ranking:\n1. Response B\n2. Response C\n3. Response A", ("B", "C", "A")),
    ("not_found", '{"explanation": "x", "selected_option": "not_found"}', "not found"),
    ("pass_fail", "Final answer: $\\boxed{\\text{PASS}}$", "PASS"),
    ("pass_fail", "PASS/FAIL: PASS", "PASS"),
    ("pass_fail", "| Verdict | PASS |", "PASS"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "text", "says"), READ)
def test_what_any_reader_understands_costs_no_second_call(
    question: str, text: str, says: object
) -> None:
    assert said(question, text) == says


def test_a_contradiction_is_asked_again_with_both_verdicts_named() -> None:
    model = ScriptedModel(
        ['{"selected_option": "Yes"}\n\nCorrection: No', '{"selected_option": "No"}']
    )
    (result,) = DirectJudge(model)(["text"], "Is it good?")
    assert (result.option, len(model.requests)) == ("No", 2)
    asked_again = model.requests[1].prompt.text
    assert "contradicts itself" in asked_again
    assert "Correction: No" in asked_again


def test_a_harmful_answer_is_never_made_of_a_line_behind_the_score() -> None:
    def reply(request: object) -> str:
        best = json.dumps({"explanation": "so", "score": GOOD[asked_about(request)]})  # type: ignore[arg-type]
        return best if "contradicts itself" in request.prompt.text else f"{best}\nAnswer: 0"  # type: ignore[attr-defined]

    (result,) = RagEvaluator(model=ScriptedModel(reply)).evaluate([ROW])
    assert dict(result.scores) == GOOD


def test_an_option_and_a_ranking_that_disagree_are_no_vote() -> None:
    (result,) = PairwiseJudge(
        ScriptedModel(['{"selected_option": "A", "ranking": ["B", "A"]}']), max_repairs=0
    )([["x", "y"]], "Which is better?")
    assert result.votes[0].outcome is Outcome.UNREADABLE


def test_the_reason_of_a_reply_that_was_mended_stays_what_it_explains() -> None:
    """Marks that nobody sees are left in the user's texts."""
    family = "👩\u200d🚀 is in the first line"
    verdict = read(Reply(f"Verdict: PASS\n{family}"), Choice(("PASS", "FAIL"))).verdict
    assert verdict is not None
    assert verdict.explanation == family


def test_an_object_before_a_closing_mark_of_a_thought_is_a_draft() -> None:
    draft = '{"selected_option": "FAIL"}\n</think>'
    options = Choice(("PASS", "FAIL"))
    assert read(Reply(draft), options).verdict is None
    behind = read(Reply(f'{draft}\n{{"selected_option": "PASS"}}'), options).verdict
    assert behind is not None
    assert behind.option == "PASS"


@pytest.mark.parametrize(
    "around", ["{}", "```json\n{}\n```", "Here is my evaluation:\n\n{}", "{}\nThat is all."]
)
def test_a_mark_of_a_thought_that_an_explanation_tells_of_is_left_there(around: str) -> None:
    explained = "It leaks </think> and <think>."
    reply = around.format(json.dumps({"explanation": explained, "selected_option": "FAIL"}))
    verdict = read(Reply(reply), Choice(("PASS", "FAIL"))).verdict
    assert verdict is not None
    assert (verdict.option, verdict.explanation) == ("FAIL", explained)
