"""The aspect critic, as the contract promises it (section 3), with models that say what they are
told.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import DirectJudge, QualitativeCriteria, RagEvaluator
from adjudge.core.domain.instance import DirectInstance, Instance
from adjudge.core.domain.message import Reply, Request
from adjudge.core.domain.results import AspectResult, Status
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.providers.scripted import Line, ScriptedModel
from adjudge.core.judges.aspect import AspectCritic
from adjudge.errors import ModelError, Refused, RunError, SetupError

DEFINITION = "The response must include a specific date or year."
TEXT = "The Eiffel Tower was built in 1889."
LETTERS = {"P": "PASS", "F": "FAIL"}


def answer(letter: str, explanation: str = "") -> Line:
    """What a model writes: P and F are verdicts, "-" cannot be read, 0 abstains, E is an error, R a
    refusal.
    """
    if letter == "E":
        return ModelError("no such model")
    if letter == "R":
        return Reply("I cannot help with that.", finish="refusal")
    if letter == "-":
        return "I am not sure."
    return json.dumps(
        {"explanation": explanation or f"says {letter}", "selected_option": LETTERS.get(letter)}
    )


def model(letters: str, name: str = "m") -> ScriptedModel:
    """A model that answers sample i with letter i."""
    return ScriptedModel(lambda request: answer(letters[request.sample]), name=name)


def critic(*said: str, **settings: Any) -> AspectCritic:
    """A critic whose models m0, m1, … answer as the letters say; unreadable replies are not asked
    for again.
    """
    models = [model(letters, f"m{number}") for number, letters in enumerate(said)]
    return AspectCritic(
        DEFINITION, models, **{"strictness": len(said[0]), "max_repairs": 0, **settings}
    )


def judged(*said: str, **settings: Any) -> AspectResult:
    return critic(*said, **settings).evaluate(TEXT)


def calls(one: Any) -> list[int]:
    """How often each model was asked."""
    return [len(scripted.requests) for scripted in one.models]


# -- score and verdict ---------------------------------------------------------

SCORES = [
    (["P"], 1.0, "PASS", False),
    (["F"], 0.0, "FAIL", False),
    (["PPF"], 1.0, "PASS", False),
    (["FFP"], 0.0, "FAIL", False),
    (["PPF", "FFP"], 0.5, "FAIL", True),
    (["P", "P", "F", "F", "F"], 0.4, "FAIL", False),
    (["P", "P", "F"], 2 / 3, "PASS", False),
    (["PPFF"], 0.0, "FAIL", True),
    (["PF", "PP", "PP"], 2 / 3, "PASS", True),
    (["P-", "-F", "PP"], 2 / 3, "PASS", False),
]


@pytest.mark.parametrize(("said", "score", "verdict", "tie"), SCORES)
def test_the_score_is_the_share_of_models_that_pass(
    said: list[str], score: float, verdict: str, tie: bool
) -> None:
    result = judged(*said)
    assert (result.status, result.score, result.verdict, result.tie) == (
        Status.SCORED,
        pytest.approx(score),
        verdict,
        tie,
    )


def test_the_result_shows_each_models_score_and_every_vote() -> None:
    result = judged("PPF", "FFP")
    assert result.model_scores == {"m0": 1.0, "m1": 0.0}
    assert [
        (vote.model, vote.sample, vote.verdict and vote.verdict.option) for vote in result.votes
    ] == [
        *(("m0", 0, "PASS"), ("m0", 1, "PASS"), ("m0", 2, "FAIL")),
        *(("m1", 0, "FAIL"), ("m1", 1, "FAIL"), ("m1", 2, "PASS")),
    ]
    assert (result.votes_requested, result.votes_valid, result.agreement) == (6, 6, 0.5)
    assert all(vote.text and vote.outcome is Outcome.OK for vote in result.votes)


@pytest.mark.parametrize(
    ("said", "agreement"),
    [(["PPF"], 2 / 3), (["PPP"], 1.0), (["PF-"], 0.5), (["P", "F", "F"], 2 / 3)],
)
def test_agreement_is_the_share_of_valid_votes_for_the_verdict(
    said: list[str], agreement: float
) -> None:
    assert judged(*said).agreement == pytest.approx(agreement)


def test_agreement_counts_the_valid_votes_of_excluded_models_too() -> None:
    result = judged("PPP", "F--", min_valid=2)
    assert (list(result.excluded_models), result.votes_valid) == (["m1"], 4)
    assert (result.verdict, result.agreement) == ("PASS", 0.75)


EVEN_WEIGHTS = [
    (["P", "F", "P"], {"m0": 0.1, "m1": 0.3, "m2": 0.2}),
    (["F", "P", "F"], {"m0": 0.1, "m1": 0.3, "m2": 0.2}),
    (["P", "P", "P", "F"], {"m0": 0.1, "m1": 0.1, "m2": 0.1, "m3": 0.3}),
    (["P", "P", "P", "F"], {"m0": 1 / 6, "m1": 1 / 6, "m2": 1 / 6, "m3": 0.5}),
    (["P", "P", "F"], {"m0": 1e-20, "m1": 2e-20, "m2": 3e-20}),
]


@pytest.mark.parametrize(("said", "weights"), EVEN_WEIGHTS)
def test_even_weights_are_a_tie_however_their_sums_are_rounded(
    said: list[str], weights: dict[str, float]
) -> None:
    result = judged(*said, weights=weights)
    assert (result.score, result.verdict, result.tie) == (0.5, "FAIL", True)


def test_weights_that_differ_a_little_decide() -> None:
    result = judged("P", "F", weights={"m0": 0.500001, "m1": 0.5})
    assert (result.verdict, result.tie) == ("PASS", False)


@pytest.mark.parametrize(
    ("said", "explanation"), [("PFF", "says F"), ("FPP", "says P"), ("F-P", "says F")]
)
def test_the_explanation_is_that_of_a_vote_that_agrees(said: str, explanation: str) -> None:
    assert judged(said).explanation == explanation


def test_usage_counts_every_call() -> None:
    assert judged("PPF", "FF-").usage.calls == 6


# -- models that fail ------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "reason"),
    [
        ("EEE", "model_error: .*no such model"),
        ("---", "unreadable: no verdict found"),
        ("RRR", "refused: the model refused"),
        ("000", "abstained: says 0"),
    ],
)
def test_a_model_that_fails_every_time_is_excluded_and_named(letters: str, reason: str) -> None:
    result = judged("PPP", letters)
    assert list(result.excluded_models) == ["m1"]
    assert re.match(reason, result.excluded_models["m1"])
    assert (result.score, result.model_scores, result.status) == (1.0, {"m0": 1.0}, Status.SCORED)


@pytest.mark.parametrize(
    ("said", "status"), [("E-", Status.FAILED), ("R", Status.FAILED), ("0E", Status.ABSTAINED)]
)
def test_without_any_verdict_there_is_no_number_anywhere(said: str, status: Status) -> None:
    result = judged(*said)
    assert result.status is status
    assert (result.score, result.verdict, result.agreement, result.explanation) == (
        None,
        None,
        None,
        None,
    )
    assert result.model_scores == {}
    assert len(result.excluded_models) == len(said)
    assert result.fallback is None


@pytest.mark.parametrize(
    ("letters", "needed", "excluded"),
    [("P--", 1, []), ("P--", 2, ["m1"]), ("PP-", 2, []), ("PP-", 3, ["m1"])],
)
def test_min_valid_votes_are_needed_of_each_model(
    letters: str, needed: int, excluded: list[str]
) -> None:
    assert list(judged("PPP", letters, min_valid=needed).excluded_models) == excluded


def test_each_vote_ends_as_one_of_the_six_outcomes() -> None:
    result = judged("P-0ER")
    assert [vote.outcome.value for vote in result.votes] == [
        "ok",
        "unreadable",
        "abstained",
        "model_error",
        "refused",
    ]
    assert [vote.verdict is None for vote in result.votes] == [False, True, True, True, True]
    assert all(vote.reason for vote in result.votes[1:])


def test_a_refusal_by_the_provider_is_a_refused_vote() -> None:
    result = AspectCritic(DEFINITION, ScriptedModel([Refused("content filter")])).evaluate(TEXT)
    assert [vote.outcome for vote in result.votes] == [Outcome.REFUSED]


def test_one_bad_item_never_harms_another() -> None:
    def script(request: Request) -> Line:
        if "crash" in request.prompt.text:
            raise ZeroDivisionError("division by zero")
        return answer("E") if "error" in request.prompt.text else answer("P")

    texts = ["good 1", "crash", "good 2", "error", "\ud800 <|im_end|> {{ 7 * 7 }}", ""]
    results = AspectCritic(DEFINITION, ScriptedModel(script)).evaluate(texts)
    assert [result.status.value for result in results] == [
        "scored",
        "failed",
        "scored",
        "failed",
        "scored",
        "scored",
    ]
    assert "ZeroDivisionError" in str(results[1].votes[0].reason)


# -- calls -----------------------------------------------------------------------


@pytest.mark.parametrize(("strictness", "models"), [(1, 1), (1, 3), (3, 1), (3, 2), (5, 4)])
def test_strictness_k_with_m_models_makes_exactly_k_times_m_calls(
    strictness: int, models: int
) -> None:
    one = critic(*["PFPFP"[:strictness]] * models)
    one.evaluate(TEXT)
    assert calls(one) == [strictness] * models


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_early_stop_makes_fewer_calls_and_gives_the_same_verdict(k: int) -> None:
    sequences = ["".join(letters) for letters in product("PF-", repeat=k)]
    full, early = critic(*sequences), critic(*sequences, early_stop=True)
    all_votes, fewer_votes = full.evaluate(TEXT), early.evaluate(TEXT)
    assert fewer_votes.model_scores == all_votes.model_scores
    assert fewer_votes.excluded_models.keys() == all_votes.excluded_models.keys()
    assert (fewer_votes.score, fewer_votes.verdict) == (all_votes.score, all_votes.verdict)
    assert sum(calls(early)) < sum(calls(full)) or k == 1
    assert calls(early)[0] == k // 2 + 1


def test_early_stop_respects_min_valid() -> None:
    sequences = ["".join(letters) for letters in product("PF-", repeat=4)]
    full, early = (
        critic(*sequences, min_valid=3, early_stop=stop).evaluate(TEXT) for stop in (False, True)
    )
    assert early.model_scores == full.model_scores
    assert early.excluded_models.keys() == full.excluded_models.keys()


def test_samples_have_their_own_number_seed_and_a_temperature() -> None:
    scripted = model("PPP")
    AspectCritic(DEFINITION, scripted, strictness=3, seed=40).evaluate(TEXT)
    asked = sorted(
        (request.sample, request.seed, request.temperature) for request in scripted.requests
    )
    assert asked == [(0, 40, 1.0), (1, 41, 1.0), (2, 42, 1.0)]


@pytest.mark.parametrize(
    ("strictness", "own", "models_own", "expected"),
    [
        (1, None, None, 0.0),
        (3, None, None, 1.0),
        (3, 0.3, None, 0.3),
        (1, None, 0.7, 0.7),
        (3, 0.0, 0.7, 0.0),
    ],
)
def test_the_temperature_is_the_critics_else_the_models_else_by_strictness(
    strictness: int, own: float | None, models_own: float | None, expected: float
) -> None:
    scripted = model("PPP")
    AspectCritic(
        DEFINITION, open_model(scripted, temperature=models_own), strictness, temperature=own
    ).evaluate(TEXT)
    assert {request.temperature for request in scripted.requests} == {expected}


@pytest.mark.parametrize(
    ("own", "models_own", "expected"), [(None, None, None), (None, 5, 5), (9, 5, 9), (0, 5, 0)]
)
def test_the_seed_is_the_critics_else_the_models(
    own: int | None, models_own: int | None, expected: int | None
) -> None:
    scripted = model("P")
    AspectCritic(DEFINITION, open_model(scripted, seed=models_own), seed=own).evaluate(TEXT)
    assert [request.seed for request in scripted.requests] == [expected]


def test_the_schema_of_the_answer_is_asked_for() -> None:
    scripted = model("P")
    AspectCritic(DEFINITION, scripted).evaluate(TEXT)
    schema: Any = scripted.requests[0].schema
    assert schema["properties"]["selected_option"]["enum"] == ["PASS", "FAIL"]


# -- what goes in -------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [TEXT, Instance({"response": TEXT}), DirectInstance({"answer": TEXT}), {"response": TEXT}],
)
def test_a_text_an_instance_or_a_mapping_gives_one_result(given: Any) -> None:
    scripted = model("P")
    result = AspectCritic(DEFINITION, scripted).evaluate(given)
    assert isinstance(result, AspectResult)
    assert TEXT in scripted.requests[0].prompt.text


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_in_gives_a_list_out_in_the_same_order(kind: type) -> None:
    given = kind([TEXT, Instance({"response": "b"}, id="x"), {"response": "c"}])
    results = AspectCritic(DEFINITION, model("P")).evaluate(given)
    assert [result.instance.value("response") for result in results] == [TEXT, "b", "c"]
    assert results[1].instance.id == "x"


def test_an_empty_list_gives_an_empty_list_without_a_call() -> None:
    one = critic("P")
    assert one.evaluate([]) == []
    assert calls(one) == [0]


def test_what_accompanies_the_response_is_in_the_prompt_before_it() -> None:
    scripted = model("P")
    context: dict[str, Any] = {
        "user_input": "When was it built?",
        "reference": "In 1889.",
        "contexts": ["Paris.", "Iron."],
    }
    AspectCritic(DEFINITION, scripted).evaluate(TEXT, **context)
    prompt = scripted.requests[0].prompt.text
    places = [
        prompt.index(part)
        for part in (DEFINITION, "When was it built?", "In 1889.\n<", "Paris.\n<", "Iron.\n<", TEXT)
    ]
    assert places == sorted(places)
    assert all(
        f'field="{label}"' in prompt
        for label in ("user_input", "reference", "contexts 1", "contexts 2", "response")
    )


def test_what_an_instance_says_itself_goes_before_what_is_given_for_all() -> None:
    scripted = model("P")
    AspectCritic(DEFINITION, scripted).evaluate(
        {"response": TEXT, "user_input": "Own?"}, user_input="For all?"
    )
    assert "Own?" in scripted.requests[0].prompt.text
    assert "For all?" not in scripted.requests[0].prompt.text


@pytest.mark.parametrize(("language", "word"), [("en", "Criterion:"), ("ru", "Критерий:")])
def test_the_language_is_that_of_the_prompt(language: str, word: str) -> None:
    scripted = model("P")
    AspectCritic(DEFINITION, scripted, language=language).evaluate(TEXT)
    assert word in scripted.requests[0].prompt.text


@pytest.mark.parametrize(
    "name", ["harmlessness", "conciseness", "coherence", "completeness", "factuality"]
)
@pytest.mark.parametrize(("language", "start"), [("en", "The response"), ("ru", "Ответ")])
def test_the_ready_made_aspects_speak_both_languages(name: str, language: str, start: str) -> None:
    scripted = model("PPP")
    one = getattr(AspectCritic, name)(models=scripted, language=language, strictness=3)
    result = one.evaluate(TEXT)
    assert (one.name, result.criteria.name, result.score) == (name, name, 1.0)
    assert one.definition.startswith(start)
    assert all(one.definition in request.prompt.text for request in scripted.requests)


# -- models ------------------------------------------------------------------------


def test_plain_functions_sync_and_async_are_models_named_after_themselves() -> None:
    prompts: list[str] = []

    def strict(prompt: str) -> str:
        prompts.append(prompt)
        return "FAIL"

    async def kind(prompt: str) -> str:
        await asyncio.sleep(0)
        return '{"selected_option": "PASS"}'

    result = AspectCritic(DEFINITION, [strict, kind, strict]).evaluate(TEXT)
    assert result.model_scores == {"strict": 0.0, "kind": 1.0, "strict 2": 0.0}
    assert len(prompts) == 2
    assert DEFINITION in prompts[0]
    assert TEXT in prompts[0]


@pytest.mark.parametrize("result", [None, 7, b"PASS"])
def test_a_function_that_gives_no_text_is_a_failed_vote(result: Any) -> None:
    def broken(prompt: str) -> str:
        return result

    judged_by = AspectCritic(DEFINITION, broken).evaluate(TEXT)
    assert judged_by.status is Status.FAILED
    assert type(result).__name__ in judged_by.excluded_models["broken"]


def test_the_scripted_model_needs_no_script() -> None:
    assert AspectCritic(DEFINITION, "scripted").evaluate(TEXT).verdict == "PASS"


def test_a_critic_can_be_used_from_async_code_threads_and_a_running_loop() -> None:
    one = critic("PPF")

    async def inside() -> tuple[float | None, float | None]:
        return (await one.aevaluate(TEXT)).score, one.evaluate(TEXT).score

    scores: list[float | None] = []
    thread = threading.Thread(target=lambda: scores.append(one.evaluate(TEXT).score))
    thread.start()
    thread.join()
    assert [*asyncio.run(inside()), *scores] == [1.0, 1.0, 1.0]


def test_progress_is_told_every_result() -> None:
    seen: list[AspectResult] = []
    results = critic("P").evaluate(["a", "b", "c"], progress=seen.append)
    assert sorted(map(id, seen)) == sorted(map(id, results))


# -- repairs ------------------------------------------------------------------------


def repaired(lines: Sequence[Line], **settings: Any) -> tuple[AspectResult, list[Request]]:
    scripted = ScriptedModel(lines)
    return AspectCritic(DEFINITION, scripted, **settings).evaluate(TEXT), scripted.requests


def test_an_unreadable_reply_is_asked_for_again_with_the_reason() -> None:
    result, requests = repaired(["UNSURE", '{"verdict": "MAYBE"}', answer("P")])
    (vote,) = result.votes
    assert (vote.outcome, vote.repairs, vote.usage.calls) == (Outcome.REPAIRED, 2, 3)
    assert (result.verdict, result.score) == ("PASS", 1.0)
    first, second, third = (request.prompt.messages for request in requests)
    assert [message.role for message in second] == ["system", "user", "assistant", "user"]
    assert second[:2] == third[:2] == first
    assert (second[2].content, third[2].content) == ("UNSURE", '{"verdict": "MAYBE"}')
    assert "'MAYBE' is not one of PASS, FAIL" in third[3].content


@pytest.mark.parametrize("max_repairs", [0, 1, 3])
def test_repairs_end(max_repairs: int) -> None:
    result, requests = repaired(["UNSURE"], max_repairs=max_repairs)
    assert len(requests) == max_repairs + 1
    assert (result.votes[0].outcome, result.votes[0].repairs) == (Outcome.UNREADABLE, max_repairs)
    assert result.status is Status.FAILED


def test_three_repairs_are_the_default() -> None:
    assert len(repaired(["UNSURE"])[1]) == 4


@pytest.mark.parametrize("letter", ["0", "E", "R"])
def test_what_can_be_read_but_holds_no_verdict_is_not_asked_for_again(letter: str) -> None:
    assert len(repaired([answer(letter)])[1]) == 1


def test_a_model_error_during_a_repair_is_the_outcome() -> None:
    result, requests = repaired(["UNSURE", answer("E")])
    assert (result.votes[0].outcome, len(requests)) == (Outcome.MODEL_ERROR, 2)


def test_a_broken_answer_that_can_be_mended_takes_no_further_call() -> None:
    result, requests = repaired(["{'explanation': 'It's 1889', 'selected_option': 'PASS',}"])
    assert (result.votes[0].outcome, result.votes[0].repairs, len(requests)) == (
        Outcome.REPAIRED,
        0,
        1,
    )
    assert result.explanation == "It's 1889"


def test_a_repair_is_asked_in_the_language_of_the_prompt() -> None:
    asked = repaired(["?", answer("P")], language="ru")[1][1].prompt.text
    assert "не удалось прочитать: в ответе нет вердикта" in asked


# -- on_failure ----------------------------------------------------------------------


def test_by_default_a_failure_has_no_verdict() -> None:
    assert judged("E").verdict is None


def test_a_failure_can_be_raised_with_its_reasons() -> None:
    with pytest.raises(RunError, match=r"no verdict for row 7: m0: .*no such model"):
        critic("E", on_failure="raise").evaluate(Instance({"response": TEXT}, id="row 7"))


def test_a_random_verdict_is_marked_seeded_and_no_vote() -> None:
    texts = [f"text {number}" for number in range(40)]
    one, again, other = (
        critic("E", on_failure="random", seed=seed).evaluate(texts) for seed in (1, 1, 2)
    )
    drawn = [result.verdict for result in one]
    assert set(drawn) == {"PASS", "FAIL"}
    assert drawn == [result.verdict for result in again]
    assert drawn != [result.verdict for result in other]
    assert all(
        (result.fallback, result.status, result.votes_valid) == ("random", Status.FAILED, 0)
        for result in one
    )
    assert all(result.score == {"PASS": 1.0, "FAIL": 0.0}[str(result.verdict)] for result in one)
    assert all((result.agreement, result.model_scores) == (None, {}) for result in one)


def test_a_random_verdict_stands_in_only_where_there_is_none() -> None:
    assert judged("P", on_failure="random").fallback is None


# -- mistakes of the caller -----------------------------------------------------------

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"definition": ""}, "criterion is empty"),
    ({"definition": " \n"}, "criterion is empty"),
    ({"definition": None}, "criterion is empty"),
    ({"strictness": 0}, "votes must be a whole number of at least 1, not 0"),
    ({"strictness": 1.5}, "votes must be a whole number"),
    ({"strictness": True}, "votes must be a whole number"),
    ({"min_valid": 0}, "min_valid must be a whole number of at least 1"),
    ({"min_valid": 3, "strictness": 2}, "min_valid=3 can never be reached with votes=2"),
    ({"max_repairs": -1}, "max_repairs must be a whole number of at least 0"),
    ({"on_failure": "guess"}, "on_failure must be one of abstain, raise, random, not 'guess'"),
    ({"language": "de"}, "language 'de' is not one of en, ru"),
    ({"models": []}, "no model was given"),
    ({"models": 7}, "a model must be an id"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_a_critic_that_cannot_work_is_not_made(mistake: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        AspectCritic(**{"definition": DEFINITION, "models": "scripted", **mistake})


BAD_INPUT: list[tuple[Any, dict[str, Any], str]] = [
    (
        {"question": "a", "reply": "b"},
        {},
        "reads the field 'response', but the instance has only: question, reply",
    ),
    ({"reply": "a"}, {"user_input": "b"}, "reads the field 'response'"),
    ([TEXT, {"question": "a", "reply": "b"}], {}, "instance 2: .*'response'"),
    (
        [TEXT, Instance({"question": "a", "answer": "b"}, id="row 7")],
        {},
        "instance row 7: .*'response'",
    ),
    ([TEXT, None], {}, "must be a string, an Instance or a list of them, not NoneType"),
    ([TEXT, b"7"], {}, "not bytes"),
    ({}, {}, "at least one field"),
    ({"response": None}, {}, "field 'response' must be a string"),
    (TEXT, {"contexts": [None]}, "field 'contexts' must be a string"),
]


@pytest.mark.parametrize(("given", "settings", "message"), BAD_INPUT)
def test_input_that_cannot_be_judged_is_named_before_any_call(
    given: Any, settings: dict[str, Any], message: str
) -> None:
    one = critic("P")
    with pytest.raises(SetupError, match=message):
        one.evaluate(given, **settings)
    assert calls(one) == [0]


def test_a_critic_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        critic("P").strictness = 5  # type: ignore[misc]


def test_votes_of_an_excluded_model_give_no_explanation() -> None:
    sure = ScriptedModel(["PASS"], name="sure")
    torn = ScriptedModel(['{"explanation": "no", "verdict": "FAIL"}', "huh", "huh"], name="torn")
    result = AspectCritic("x", [sure, torn], strictness=3, min_valid=2, max_repairs=0).evaluate("y")
    assert list(result.excluded_models) == ["torn"]
    assert (result.verdict, result.score, result.agreement, result.explanation) == (
        "PASS",
        1.0,
        0.75,
        None,
    )


def test_more_votes_than_anybody_could_pool_are_refused_and_not_planned() -> None:
    for make in (
        lambda most: AspectCritic("c", ScriptedModel(), strictness=most),
        lambda most: DirectJudge(ScriptedModel(), self_consistency=most),
        lambda most: RagEvaluator(ScriptedModel(), strictness=most),
        lambda most: QualitativeCriteria("c", ScriptedModel(), num_samples=most),
    ):
        make(10_000)
        with pytest.raises(SetupError, match=r"must be at most 10,000, not 1,000,000,000,000"):
            make(10**12)


@given(
    said=st.integers(1, 5).flatmap(
        lambda k: st.lists(st.text("PF-0ER", min_size=k, max_size=k), min_size=1, max_size=3)
    ),
    data=st.data(),
)
def test_early_stop_gives_the_status_and_verdict_of_all_votes(
    said: list[str], data: st.DataObject
) -> None:
    min_valid = data.draw(st.integers(1, len(said[0])))
    full, early = (judged(*said, min_valid=min_valid, early_stop=stop) for stop in (False, True))
    assert (early.status, early.verdict, early.score) == (full.status, full.verdict, full.score)
    assert early.excluded_models.keys() == full.excluded_models.keys()


def test_early_stop_does_not_call_failed_what_a_model_declined_to_decide() -> None:
    full, early = (judged("-0", min_valid=2, early_stop=stop) for stop in (False, True))
    assert (full.status, early.status) == (Status.ABSTAINED, Status.ABSTAINED)
