"""Every sentence is looked up in its sources; what is shown as evidence stands there, whatever a
model writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.instance import Instance
from adjudge.core.engine.ask import prompt_for
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, ModelError, SetupError
from adjudge.features.evidence.judge import EvidenceJudge, Method
from adjudge.features.evidence.result import EvidenceResult, scale_of
from adjudge.runs.exporters.export import export

FRAGMENTS = ["The tower was finished in 1889.", "It is 330 metres tall.", "Nobody lives there."]
ROW = {
    "user_input": "Tell me about the tower.",
    "contexts": FRAGMENTS,
    "response": (
        "Hello! The tower was finished in 1889. It is 400 metres tall. It is red. It is red."
    ),
}
Said = dict[str, object]


def answer(option: str, *quotes: tuple[int, str]) -> str:
    evidence = [{"fragment": number, "quote": quote} for number, quote in quotes]
    return json.dumps({"explanation": "because", "evidence": evidence, "selected_option": option})


def sentence_in(prompt: object) -> str:
    return str(prompt).rsplit('field="sentence">', 1)[-1].split("</data")[0].strip()


def honest(prompt: object) -> str:
    if "1889" in sentence_in(prompt):
        return answer("supported", (1, "finished in  “1889”"))
    if "400" in sentence_in(prompt):
        return answer("contradicted", (2, "330 metres tall"))
    return answer("not found")


def joint(*said: tuple[str, Sequence[tuple[int, str]]]) -> Callable[[object], str]:
    listed = [
        {
            "number": number,
            "evidence": [{"fragment": one, "quote": quote} for one, quote in quotes],
            "selected_option": option,
        }
        for number, (option, quotes) in enumerate(said, 1)
    ]
    return lambda _: json.dumps({"sentences": listed})


JOINT = joint(
    ("supported", [(1, "in 1889")]), ("contradicted", [(2, "330 metres")]), ("not found", [])
)


def supports(result: EvidenceResult) -> list[str | None]:
    return [one.support for one in result.claims]


@pytest.mark.parametrize(("method", "model", "calls"), [("each", honest, 3), ("joint", JOINT, 1)])
def test_each_sentence_has_its_verdict_and_its_quote(
    method: Method, model: Callable[[object], str], calls: int
) -> None:
    (result,) = EvidenceJudge(model, method=method).evaluate([ROW])
    assert supports(result) == ["supported", "contradicted", "not found", "not found"]
    assert [one.kind for one in result.sentences] == ["courtesy", *["claim"] * 4]
    quotes = [quote for one in result.claims for quote in one.evidence]
    assert [quote.fragment for quote in quotes] == [1, 2]
    assert all(
        FRAGMENTS[quote.fragment - 1][quote.start :].startswith(quote.text) for quote in quotes
    )
    assert (result.score, result.scale, result.usage.calls) == (
        0.25,
        0,
        calls,
    )  # equal sentences are asked once


def test_an_invented_quote_is_asked_for_again_then_counts_as_not_found() -> None:
    asked: list[str] = []

    def liar(prompt: object) -> str:
        asked.append(str(prompt))
        return answer("supported", (2, "It is made of cheese"))

    row = {**ROW, "response": "It is made of cheese."}
    (result,) = EvidenceJudge(liar, max_repairs=1).evaluate([row])
    assert supports(result) == ["not found"]
    assert result.claims[0].evidence == ()
    assert result.invented == {"liar": 2}
    assert "is not in fragment 2" in asked[1]


def test_a_vote_that_mends_its_quote_counts_and_the_invented_one_is_still_told_of() -> None:
    def mends(prompt: object) -> str:
        return answer(
            "supported",
            (1, "finished in 1889" if "is not in fragment" in str(prompt) else "finished in 1888"),
        )

    (result,) = EvidenceJudge(mends).evaluate([{**ROW, "response": "It was finished in 1889."}])
    assert (supports(result), result.invented) == (["supported"], {"mends": 1})


def test_one_invented_quote_of_many_leaves_the_other_sentences_as_they_are() -> None:
    model = joint(
        ("supported", [(1, "in 1889")]), ("contradicted", [(1, "330 metres")]), ("not found", [])
    )
    (result,) = EvidenceJudge(model, method="joint", max_repairs=0).evaluate([ROW])
    assert supports(result) == ["supported", "not found", "not found", "not found"]
    assert sum(result.invented.values()) == 1


@pytest.mark.parametrize("number", [1, 1.0, "1", "contexts 1", "Fragment 1", "[1]", "№1"])
def test_a_fragment_may_be_named_as_the_prompt_names_it(number: object) -> None:
    said = {
        "explanation": "b",
        "evidence": [{"fragment": number, "quote": "in 1889"}],
        "selected_option": "supported",
    }
    (result,) = EvidenceJudge(lambda _: json.dumps(said), max_repairs=0).evaluate(
        [{**ROW, "response": "It was so in 1889."}]
    )
    assert (supports(result), sum(result.invented.values())) == (["supported"], 0)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, None, "", "1-2", "first", "-1", [1]])
def test_a_fragment_that_there_is_not_shows_nothing(number: object) -> None:
    said = {
        "explanation": "b",
        "evidence": [{"fragment": number, "quote": "in 1889"}],
        "selected_option": "supported",
    }
    (result,) = EvidenceJudge(lambda _: json.dumps(said), max_repairs=0).evaluate(
        [{**ROW, "response": "It was so in 1889."}]
    )
    assert (supports(result), result.claims[0].evidence) == (["not found"], ())


LOOKALIKES = str.maketrans({"a": "а", "e": "е", "o": "о", "i": "і", "1": "l", "8": "B"})


@given(st.sampled_from(FRAGMENTS), st.integers(1, 4), st.data())
def test_no_invented_quote_is_ever_evidence(
    fragment: str, number: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(fragment) - 1))
    how = data.draw(
        st.sampled_from(["as it is", "changed", "deleted", "inserted", "look-alikes", "cut"])
    )
    quote = {
        "as it is": fragment,
        "changed": fragment[:place] + data.draw(st.sampled_from("xЖ9 ")) + fragment[place + 1 :],
        "deleted": fragment[:place] + fragment[place + 1 :],
        "inserted": fragment[:place] + data.draw(st.sampled_from("xЖ9")) + fragment[place:],
        "look-alikes": fragment.translate(LOOKALIKES),
        "cut": fragment[place:],
    }[how]
    model = lambda _: answer("supported", (number, quote))  # noqa: E731
    (result,) = EvidenceJudge(model, max_repairs=0).evaluate([{**ROW, "response": "It is so."}])
    for one in result.claims:
        for shown in one.evidence:
            assert (
                FRAGMENTS[shown.fragment - 1][shown.start : shown.start + len(shown.text)]
                == shown.text
            )
            assert " ".join(quote.split()).strip() == " ".join(shown.text.split())
    genuine = number <= len(FRAGMENTS) and FRAGMENTS[number - 1] == quote
    assert (supports(result) == ["supported"]) or not genuine


def test_a_failure_is_no_verdict_and_never_not_found() -> None:
    def broken(prompt: object) -> str:
        if "400" in sentence_in(prompt):
            raise ModelError("the server is down")
        return honest(prompt)

    (result,) = EvidenceJudge(broken, max_repairs=0).evaluate([ROW])
    assert supports(result) == ["supported", None, "not found", "not found"]
    assert (result.status.value, result.score, result.bounds) == ("failed", None, (0.25, 0.5))
    assert "down" in (result.claims[1].reason or "")


def test_rules_ask_nobody() -> None:
    (result,) = EvidenceJudge(method="rules").evaluate([ROW])
    assert result.usage.calls == 0
    assert [(one.support, [fact.text for fact in one.unseen]) for one in result.claims][1] == (
        "not found",
        ["400 metres"],
    )
    assert supports(result) == [None, "not found", None, None]


def test_a_text_without_claims_or_fragments_is_not_asked_about() -> None:
    def never(_: object) -> str:
        raise AssertionError("asked")

    judge = EvidenceJudge(never)
    nothing, unfounded = judge.evaluate(
        [{**ROW, "response": "Hello! How are you?"}, {**ROW, "contexts": []}]
    )
    assert (nothing.score, nothing.scale) == (1.0, 2)
    assert (set(supports(unfounded)), unfounded.scale) == ({"not found"}, 0)


def test_a_panel_decides_by_majority_and_says_what_each_model_makes_of_it() -> None:
    def strict(_: object) -> str:
        return answer("not found")

    def kind(_: object) -> str:
        return answer("supported", (1, "The tower"))

    (result,) = EvidenceJudge([honest, strict, kind], strictness=1).evaluate(
        [{**ROW, "response": "It was finished in 1889."}]
    )
    assert (supports(result), result.model_scales) == (
        ["supported"],
        {"honest": 2, "strict": 0, "kind": 2},
    )
    assert result.claims[0].agreement == pytest.approx(2 / 3)


def test_claims_are_made_by_a_model_and_the_worst_decides_its_sentence() -> None:
    def model(prompt: object) -> str:
        text = str(prompt)
        if "take the numbered sentences" in text:
            claims = [(1, "The tower was finished in 1889."), (1, "The tower is 400 metres tall.")]
            return json.dumps(
                {"claims": [{"sentence": number, "claim": claim} for number, claim in claims]}
            )
        return honest(prompt)

    row = {**ROW, "response": "The tower was finished in 1889 and is 400 metres tall."}
    (result,) = EvidenceJudge(model, split="claims").evaluate([row])
    assert supports(result) == ["contradicted"]
    assert [one.support for one in result.claims[0].claims] == ["supported", "contradicted"]
    assert result.usage.calls == 3


def test_a_model_that_names_no_claim_at_all_gives_no_score() -> None:
    (result,) = EvidenceJudge(lambda _: '{"claims": []}', split="claims", max_repairs=0).evaluate(
        [ROW]
    )
    assert (result.status.value, result.score, result.scale) == ("failed", None, None)


def test_a_sentence_without_a_claim_is_judged_as_it_stands() -> None:
    def model(prompt: object) -> str:
        if "take the numbered sentences" in str(prompt):
            return json.dumps(
                {"claims": [{"sentence": 1, "claim": "The tower was finished in 1889."}]}
            )
        return honest(prompt)

    (result,) = EvidenceJudge(model, split="claims").evaluate([ROW])
    assert supports(result) == ["supported", "contradicted", "not found", "not found"]
    assert [one.kind for one in result.claims] == ["claim"] * 4


def numbers_of(text: str) -> list[str]:
    """The sentences that a prompt numbers."""
    return re.findall(r'field="sentences \d+">\n(.*?)\n<', text)


def test_a_long_answer_is_asked_about_in_calls_of_twenty_sentences_at_most() -> None:
    said = [
        f"Tower {number} was finished in {'1889' if number % 2 else '1890'}."
        for number in range(1, 52)
    ]
    asked: list[list[str]] = []

    def model(prompt: object) -> str:
        asked.append(numbers_of(str(prompt)))
        found = [
            ("supported", [(1, "in 1889")]) if "1889" in one else ("not found", [])
            for one in asked[-1]
        ]
        return joint(*found)(prompt)

    judge, row = EvidenceJudge(model, method="joint"), {**ROW, "response": " ".join(said)}
    (result,) = judge.evaluate([row])
    assert [len(one) for one in asked] == [17, 17, 17] and [
        one for some in asked for one in some
    ] == said
    assert supports(result) == [
        "supported" if number % 2 else "not found" for number in range(1, 52)
    ]
    assert judge.estimate([Instance(row)]).calls[0] == 3


def test_claims_of_a_long_answer_belong_to_their_sentence_and_a_failed_call_leaves_the_others() -> (
    None
):
    said = [f"Tower {number} was finished in 1889." for number in range(1, 31)]

    def model(prompt: object) -> str:
        text = str(prompt)
        if "take the numbered sentences" not in text:
            return honest(prompt)
        listed = numbers_of(text)
        if "Tower 20 " in text:
            return "?"
        claims = [
            {"sentence": number, "claim": f"{one} Indeed"} for number, one in enumerate(listed, 1)
        ]
        return json.dumps({"claims": claims})

    judge, row = (
        EvidenceJudge(model, split="claims", max_repairs=0),
        {**ROW, "response": " ".join(said)},
    )
    (result,) = judge.evaluate([row])
    assert [one.support for one in result.claims] == ["supported"] * 15 + [None] * 15
    assert all(claim.text == f"{one.text} Indeed" for one in result.claims for claim in one.claims)
    assert (result.score, bool(result.claims[-1].reason)) == (None, True)
    least, most = judge.estimate([Instance(row)]).calls
    assert least == 2 and most >= 2 + 30


def test_a_run_is_resumed_without_asking_again_and_a_budget_stops_it(tmp_path: Path) -> None:
    judge = EvidenceJudge(honest)
    with pytest.raises(BudgetSpent):
        judge.evaluate([ROW], run=tmp_path / "run", budget=Budget(max_calls=2))
    (resumed,) = judge.evaluate([ROW], run=tmp_path / "run", budget=Budget(max_calls=3))
    assert supports(resumed) == ["supported", "contradicted", "not found", "not found"]
    (again,) = judge.evaluate([ROW], run=tmp_path / "run", budget=Budget(max_calls=3))
    assert again.to_dict(votes=False) == resumed.to_dict(votes=False)


@pytest.mark.parametrize("suffix", ["xml", "promptfoo.json"])
def test_a_run_can_be_exported_for_tools_that_know_passed_and_failed(
    suffix: str, tmp_path: Path
) -> None:
    EvidenceJudge(honest).evaluate([ROW], run=tmp_path / "run")
    to = "junit" if suffix == "xml" else "promptfoo"
    assert export(tmp_path / "run", tmp_path / f"out.{suffix}", to) == 1


def test_an_estimate_knows_the_calls() -> None:
    assert EvidenceJudge(honest).estimate([_instance()]).calls[0] == 3
    assert EvidenceJudge(JOINT, method="joint").estimate([_instance()]).calls[0] == 1
    assert EvidenceJudge(method="rules").estimate([_instance()]).calls == (0, 0)


def _instance() -> Instance:
    return Instance(ROW)


def test_all_ballots_of_a_row_begin_alike() -> None:
    judge = EvidenceJudge(honest)
    one, other, *_ = [prompt_for(ballot).text for ballot in judge.plan(_instance(), [])]
    common = next(at for at in range(len(one)) if one[at] != other[at])
    assert common > one.rindex(FRAGMENTS[-1]) + len(FRAGMENTS[-1])


def test_what_is_missing_is_said_before_anybody_is_asked() -> None:
    with pytest.raises(SetupError, match="needs the field 'contexts'"):
        EvidenceJudge(honest).evaluate([{"response": "It is so."}])
    with pytest.raises(SetupError, match="method must be one of"):
        EvidenceJudge(honest, method="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("supported", "contradicted", "claims", "scale"),
    [
        (0, 0, 0, 2),
        (3, 0, 3, 2),
        (2, 0, 3, 1),
        (1, 0, 2, 1),
        (1, 0, 3, 0),
        (2, 1, 3, 0),
        (0, 0, 3, 0),
    ],
)
def test_the_share_of_supported_sentences_makes_the_scale(
    supported: int, contradicted: int, claims: int, scale: int
) -> None:
    assert scale_of(supported, contradicted, claims) == scale
