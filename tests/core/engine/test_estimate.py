"""What a dry run says, against what the run then takes: the lower end is a lower bound, and the
upper one an upper.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import AspectCritic
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Request
from adjudge.core.engine.estimate import CostEstimate
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.direct import DirectJudge
from adjudge.features.rag import RagEvaluator
from adjudge.runs.folder import run_info
from adjudge.runs.stored_votes import KnownVotes
from support.fake_provider import KEY, FakeProvider
from support.rag import ROW, varied


def critic(script: Any = None, **options: Any) -> AspectCritic:
    return AspectCritic("Is it short?", ScriptedModel(script), **options)


def estimated(
    judge: AspectCritic, texts: list[str], run: Path | None = None, **options: Any
) -> CostEstimate:
    items = [judge.prepare(Instance({"response": text})) for text in texts]
    return judge.estimate(items, KnownVotes(run, **options) if run else None)


def calls(run: Path) -> int:
    return sum(usage.calls for usage in run_info(run).usage.values()) if run.exists() else 0


def test_a_finished_run_with_early_stop_takes_nothing_more(tmp_path: Path) -> None:
    """It said 93 to 102 calls; the same command then asked nothing."""
    judge, texts = critic(strictness=5, early_stop=True), [f"text {number}" for number in range(30)]
    judge.evaluate(texts, run=tmp_path)
    found = estimated(judge, texts, tmp_path)
    assert (found.calls, found.tokens, found.answered) == ((0, 0), (0, 0), calls(tmp_path))


def test_equal_rows_are_asked_once_in_a_run(tmp_path: Path) -> None:
    judge, texts = critic(strictness=2), ["same"] * 50 + ["other"]
    found = estimated(judge, texts, tmp_path / "run")
    assert (found.rows, found.calls) == (51, (4, 4))
    judge.evaluate(texts, run=tmp_path / "run")
    assert calls(tmp_path / "run") == estimated(judge, texts, tmp_path / "run").answered == 4


def test_equal_rows_that_nobody_keeps_may_be_asked_singly() -> None:
    found = estimated(critic(), ["same"] * 10)
    assert found.calls == (1, 11)


def test_two_judges_that_ask_the_same_ask_it_once(tmp_path: Path) -> None:
    known = KnownVotes(tmp_path / "run")
    items = [Instance({"response": "a"}), Instance({"response": "b"})]
    both = [critic().estimate(items, known) for _ in range(2)]
    assert (both[0] + both[1]).calls == (2, 2)


def test_failed_votes_count_again_when_they_are_to_be_retried(tmp_path: Path) -> None:
    judge, texts = critic(lambda request: "what?", max_repairs=0), ["a", "b"]
    judge.evaluate(texts, run=tmp_path)
    assert estimated(judge, texts, tmp_path).calls == (0, 0)
    assert estimated(judge, texts, tmp_path, retry_failed=True).calls == (2, 2)


def test_votes_of_a_run_that_was_cut_short_decide_what_is_left(tmp_path: Path) -> None:
    judge, texts = critic(strictness=3), ["a", "b", "c"]
    judge.evaluate(texts[:2], run=tmp_path)
    found = estimated(judge, texts, tmp_path)
    assert (found.calls[0], found.answered) == (3, 6)


def test_replies_in_the_cache_are_not_asked_for(tmp_path: Path, provider: FakeProvider) -> None:
    model = open_model(
        "openai/gpt-4o-mini",
        api_key=KEY,
        base_url=provider.base_url("openai"),
        cache=tmp_path / "replies.jsonl",
    )
    judge = AspectCritic("The mark must end in Y.", model)
    judge.evaluate(["REC-00001-Y", "REC-00002-Y"])
    sent = len(provider.requests)
    assert estimated(judge, ["REC-00001-Y", "REC-00002-Y", "REC-00003-N"]).calls == (1, 1)
    judge.evaluate(["REC-00001-Y", "REC-00002-Y", "REC-00003-N"])
    assert len(provider.requests) == sent + 1


def test_rag_with_early_stop_and_equal_rows(tmp_path: Path) -> None:
    evaluator, rows = (
        RagEvaluator(varied(), strictness=3, early_stop=True),
        [dict(ROW), dict(ROW), {**ROW, "response": "Six."}],
    )
    items = evaluator.rows(rows).instances
    before = evaluator.estimate(items, KnownVotes(tmp_path))
    evaluator.evaluate(rows, run=tmp_path)
    assert before.calls[0] <= calls(tmp_path) <= before.calls[1]
    assert evaluator.estimate(items, KnownVotes(tmp_path)).calls == (0, 0)


def test_two_criteria_of_one_judge_are_two_questions(tmp_path: Path) -> None:
    judge = DirectJudge(ScriptedModel())
    questions = [yes_no_criteria("Is it short?"), yes_no_criteria("Is it true?")]
    cases = [judge.case(Instance({"response": text}), one) for text in "aab" for one in questions]
    assert judge.estimate(cases, KnownVotes(tmp_path)).calls[0] == 4


@given(
    texts=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12),
    done=st.integers(0, 12),
    strictness=st.integers(1, 5),
    early_stop=st.booleans(),
    seed=st.integers(0, 10),
)
def test_a_run_takes_no_less_than_the_lower_end_and_no_more_than_the_upper(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    done: int,
    strictness: int,
    early_stop: bool,
    seed: int,
) -> None:
    run = tmp_path_factory.mktemp("run") / "run"

    def says(request: Request) -> str:
        choice = random.Random(f"{seed} {request.prompt.text} {request.sample}").choice(
            ["PASS", "FAIL"]
        )
        return f'{{"selected_option": "{choice}"}}'

    judge = critic(says, strictness=strictness, early_stop=early_stop)
    if texts[:done]:
        judge.evaluate(texts[:done], run=run)
    before, found = calls(run), estimated(judge, texts, run)
    judge.evaluate(texts, run=run)
    assert found.calls[0] <= calls(run) - before <= found.calls[1]
