"""The reader on hostile replies: it never raises, never yields what was not offered or not said,
and is never slow.

``make fuzz`` reads a hundred thousand of them; ``ADJUDGE_FUZZ`` says how many.
"""

from __future__ import annotations

import os
import random
import re
from json import dumps
from time import process_time

import pytest
from hostile import hostile_texts, quoted_unescaped, surrounded
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.reader import read

COUNT = int(os.environ.get("ADJUDGE_FUZZ", "2000"))
PARTS = 4
OFFERS = [
    ("PASS", "FAIL"),
    ("Good", "Good enough", "Bad"),
    ("1", "2", "3"),
    ("yes", "no"),
    ("a", "A"),
    ("+", "-"),
    ("{", '"'),
    (),
]
MOST_MICROSECONDS = 3000
"""CPU time a text may take on average; it takes about a tenth of that, more where others keep the
machine busy.
"""


def check(text: str, options: tuple[str, ...], finish: str = "stop") -> None:
    reading = read(Reply(text=text, finish=finish), Choice(options))
    if reading.outcome in (Outcome.OK, Outcome.REPAIRED):
        assert reading.verdict is not None
        assert reading.verdict.option in options
        (reading.verdict.explanation or "").encode()
    else:
        assert reading.verdict is None
        assert reading.reason
        reading.reason.encode()


@pytest.mark.parametrize("part", range(PARTS))
def test_fuzz_hostile_texts(part: int) -> None:
    started = process_time()
    for number, text in enumerate(hostile_texts(seed=part, count=COUNT // PARTS)):
        check(text, OFFERS[number % len(OFFERS)], ("stop", "length", "stop")[number % 3])
    assert process_time() - started < 1 + COUNT / PARTS * MOST_MICROSECONDS / 1e6


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_fuzz_a_text_that_is_quoted_never_gives_the_verdict(finish: str) -> None:
    choice = random.Random(COUNT)
    read_as = [
        read(Reply(quoted_unescaped(choice), finish=finish), Choice(("PASS", "FAIL"))).verdict
        for _ in range(COUNT // 10)
    ]
    said = [verdict.option for verdict in read_as if verdict]
    assert set(said) == {"FAIL"}
    assert len(said) > COUNT / 10 * 0.8


BUILT = [
    ("PASS", "FAIL"),
    ("Yes", "No"),
    ("Yes", "Partially", "No"),
    ("Excellent", "Good", "Acceptable", "Bad"),
    ("1", "2", "3", "4", "5"),
    ("Civil", "Abusive"),
    ("Да", "Нет"),
]


@pytest.mark.parametrize("options", BUILT, ids="/".join)
def test_fuzz_no_surroundings_give_another_verdict_than_the_judges(
    options: tuple[str, ...],
) -> None:
    """Of a known verdict among drafts, quotations, programs, echoes and lists; taken back, it is
    none at all.
    """
    choice, count, found = random.Random(COUNT), COUNT // len(BUILT), 0
    for _ in range(count):
        built = surrounded(choice, options)
        verdict = read(Reply(built.text), Choice(options)).verdict
        assert verdict is None or (verdict.option == built.says and not built.taken_back), built
        found += verdict is not None
    assert found > count * 0.4


@given(
    st.text(st.characters()),
    st.sampled_from(OFFERS),
    st.sampled_from(["stop", "length", "refusal"]),
)
def test_fuzz_any_text(text: str, options: tuple[str, ...], finish: str) -> None:
    check(text, options, finish)


@given(st.text(alphabet="{}[]\"'“”:,\\ \nPASverdict_", max_size=200), st.sampled_from(OFFERS))
def test_fuzz_any_mixture_of_marks(text: str, options: tuple[str, ...]) -> None:
    check(text, options)


def is_to_be_filled(text: str) -> bool:
    """As in the form that a prompt shows: ``<your explanation>``."""
    return re.fullmatch(r"\s*[<\[].*[>\]]\s*", text, re.DOTALL) is not None


@given(
    st.one_of(
        st.just("[0]"), st.text(st.characters()).filter(lambda text: not is_to_be_filled(text))
    ),
    st.sampled_from(["PASS", "FAIL"]),
)
def test_fuzz_a_clean_answer_is_read_whatever_it_explains(explanation: str, option: str) -> None:
    for ascii_only in (True, False):
        text = dumps(
            {"explanation": explanation, "selected_option": option}, ensure_ascii=ascii_only
        )
        for wrapped in (text, f"```json\n{text}\n```", f"Here you are: {text}"):
            verdict = read(Reply(wrapped), Choice(("PASS", "FAIL"))).verdict
            assert verdict is not None
            assert verdict.option == option


N = 100_000
ENORMOUS = {
    "brackets": "[" * N,
    "braces": "{" * N,
    "closed brackets": "[" * N + "]" * N,
    "nested objects": '{"a":' * N,
    "nested verdicts": '{"verdict":' * N,
    "nested, single quotes": "{'verdict':" * N,
    "open strings": '{"' * N,
    "open values": '{"a":"' * N,
    "code": "{x}" * N,
    "small objects": '{"a":1}' * N,
    "small broken objects": "{a:1}" * N,
    "small broken verdicts": "{'verdict': 'MAYBE'} " * N,
    "pairs": "{" + "'a':'b'," * N + "}",
    "quotes": "\"'{}" * N,
    "closing quotes": "{'a':'" + "', " * N,
    "closing quotes and keys": "{'a':'" + "' b" * N,
    "spaces after quotes": "{'a':'" + ("'" + " " * 50) * (N // 50),
    "commas": "{'a':1" + "," * N,
    "backslashes": '{"a":"' + "\\" * N,
    "a key of spaces": "{'a" + " " * N + ":1}",
    "spaces": "{" + " " * N + ":",
    "colons": "verdict" + ":" * N,
    "label and spaces": "verdict" + " " * N + "x",
    "stars": "*" * N + "x",
    "signs": "-" * N,
    "signed digits": "-1" * N,
    "thinking": "<think>" * N,
    "thoughts": "<think></think>" * (2 * N),
    "end of thinking": "</think>" * N,
    "less than": "<" * N,
    "lines": "PASS\n" * N,
    "fences": "```\n" * N,
    "digits": '{"verdict": ' + "9" * N + "}",
    "a long text": '{"explanation": "' + "word " * N + '", "selected_option": "PASS"}',
    "a long broken text": "{'explanation': '" + "word " * N + "', 'selected_option': 'PASS'}",
    "surrogates": "\ud800" * N,
    "Cyrillic": "Ответ полный, год указан. " * (N // 5),
    "Cyrillic lines": "Ответ полный, год указан.\n" * (N // 5),
    "Cyrillic in an object": '{"explanation": "'
    + "Ответ полный. " * N
    + '", "selected_option": "PASS"}',
    "bars": "|" * N,
    "tags": "<verdict>" * N,
    "data": "<data-1>" * N,
    "asides": "<reasoning>" * N,
    "channels": "<|channel|>" * N,
    "comments": "{//" * N,
    "marks": "[[" * N,
    "results": "[RESULT] " * N,
    "labels": "Score (" * N,
    "sentences": "I rate this " * N,
    "boxes": "\\boxed{" * N,
}


@pytest.mark.parametrize("text", ENORMOUS.values(), ids=ENORMOUS)
def test_fuzz_an_enormous_text_is_read_in_linear_time(text: str) -> None:
    started = process_time()
    check(text, ("PASS", "FAIL"))
    assert process_time() - started < 10


@pytest.mark.parametrize("depth", range(1, 1000, 37))
@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ('{"a":', "}"), ('{"verdict":', "}"), ('[{"verdict":', "}]")],
)
def test_fuzz_a_deeply_nested_value_is_unreadable_and_nothing_worse(
    depth: int, opening: str, closing: str
) -> None:
    check(f'{{"verdict": {opening * depth}1{closing * depth}}}', ("PASS", "FAIL"))
