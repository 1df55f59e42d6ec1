"""What a reply shows as evidence is looked up in the fragment it names; nothing else counts."""

from __future__ import annotations

import json

import pytest

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.core.verdicts.reader import read_ballot
from adjudge.features.evidence.support import INVENTED, POINTS, SUPPORTS
from adjudge.features.evidence.support_questions import SupportQuestion

FRAGMENTS = ("The tower was finished in 1889.", "It is 330 metres tall.")
SUPPORT = Criteria(
    "support",
    "Do the contexts say what the sentence says?",
    [CriteriaOption(name, score=points) for name, points in zip(SUPPORTS, POINTS, strict=True)],
)
BALLOT = Ballot(
    SUPPORT,
    Instance({"response": "It was finished in 1889.", "contexts": FRAGMENTS}),
    SupportQuestion(SUPPORTS, POINTS),
    "evidence",
    "m",
)


def read_quotes(*quotes: tuple[object, str], settle: bool = False) -> Reading:
    evidence = [{"fragment": number, "quote": quote} for number, quote in quotes]
    said = {"explanation": "because", "evidence": evidence, "selected_option": "supported"}
    return read_ballot(Reply(json.dumps(said)), BALLOT, settle=settle)


def test_an_invented_quote_beside_a_true_one_is_asked_for_again() -> None:
    reading = read_quotes((1, "finished in 1889"), (2, "made of cheese"))
    assert reading.outcome is Outcome.UNREADABLE
    assert reading.reason is not None
    assert "'made of cheese' is not in fragment 2" in reading.reason
    assert reading.beside == {INVENTED: 1}


def test_where_nobody_asks_again_only_the_true_quote_is_shown() -> None:
    reading = read_quotes((1, "finished in 1889"), (2, "made of cheese"), settle=True)
    assert reading.verdict is not None
    assert reading.verdict.option == "supported"
    assert reading.verdict.details["evidence"] == [
        {"fragment": 1, "quote": "finished in 1889", "start": 14, "by": "model"}
    ]


@pytest.mark.parametrize("number", [0, "0", "fragment 0", 3, -1])
def test_a_quote_from_the_last_fragment_under_a_number_that_no_fragment_has_is_no_evidence(
    number: object,
) -> None:
    reading = read_quotes((number, "330 metres tall"))
    assert reading.outcome is Outcome.UNREADABLE
    settled = read_quotes((number, "330 metres tall"), settle=True)
    assert settled.verdict is not None
    assert settled.verdict.option == "not found"
