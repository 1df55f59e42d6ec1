"""Each check on texts whose answer is known: passed, not passed, or cannot be told."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.checks.check import Check, Expectation, Observation
from adjudge.core.checks.kinds import EXPECTATIONS, say
from adjudge.core.checks.language import language_of
from adjudge.core.checks.numbers import number_in
from adjudge.core.checks.similarity import (
    bleu,
    common_length,
    edit_distance,
    rouge_l,
    token_overlap,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.reading.toml_text import with_lines
from adjudge.core.reading.values import Place, load_yaml
from adjudge.errors import SetupError
from support.commands import adjudge

SCHEMA = {"type": "object", "required": ["name"], "properties": {"age": {"type": "integer"}}}
ROW = {
    "reference": "The refund takes five days",
    "expected": "Refund",
    "contexts": ["one", "two"],
    "question": "How long?",
    "blank": " ",
}


def read(text: str) -> tuple[Expectation, ...]:
    place = load_yaml(text, Place("eval.yaml"))
    return tuple(one.ready(Path()) for one in EXPECTATIONS.read(place.value, place))


def look(check: str, text: str, **fields: str) -> Observation:
    (one,) = read(check)
    return one.look(Instance({**ROW, **fields, "response": text}))


@pytest.mark.parametrize(
    ("check", "text", "passed"),
    [
        ("equals: yes sir", " yes sir\n", True),
        ("equals: yes sir", "Yes sir", False),
        ("equals: {text: yes sir, case: false}", "YES SIR", True),
        ("equals: {field: expected}", "Refund", True),
        ("equals: {field: expected}", "refund", False),
        ("equals: {field: nothing}", "refund", None),
        ("contains: refund", "The REFUND is here", True),
        ("contains: {text: refund, case: true}", "The REFUND is here", False),
        ("contains_all: [five, days]", "five days", True),
        ("contains_all: [five, days]", "five weeks", False),
        ("contains_any: [five, six]", "six weeks", True),
        ("contains_any: [five, six]", "two weeks", False),
        ("contains: {field: contexts}", "one and two", True),
        ("contains: {field: contexts}", "one and three", False),
        ("contains: straße", "In der STRASSE 5", True),
        ("contains: é", "cafe\u0301", True),
        ("not: {contains: sorry}", "I am sorry", False),
        ("not: {contains: sorry}", "Of course", True),
        ("{not: {not: {contains: sorry}}}", "sorry", True),
        ("not: {equals: {field: nothing}}", "x", None),
        ("starts_with: Dear", "  Dear all", True),
        ("starts_with: Dear", "dear all", False),
        ("ends_with: '!'", "Done!\n", True),
        ("ends_with: '!'", "Done", False),
        (r"regex: '\d{3}'", "call 112 now", True),
        (r"regex: '\d{3}'", "call 11 now", False),
        (r"regex: {pattern: '\d{3}', whole: true}", "call 112", False),
        (r"regex: {pattern: 'abc', flags: i}", "ABC", True),
        ("regex: '(a+)+$'", "a" * 40 + "b", None),
        ("forbidden: [damn, hell]", "Oh hell!", False),
        ("forbidden: [damn, hell]", "Hello shell", True),
        ("forbidden: {words: hell, parts: true}", "Hello", False),
        ("json", '{"a": 1}', True),
        ("json", '```json\n{"a": 1}\n```', True),
        ("json: {fenced: false}", '```json\n{"a": 1}\n```', False),
        ("json", "{'a': 1}", False),
        ("json", '{"a": NaN}', False),
        ("json", '{"a": 1, "a": 2}', False),
        ("json", "[" * 100_000, None),
        ("json: a.b[0]", '{"a": {"b": [7]}}', True),
        ("json: {path: 'a.b[0]', equals: 7}", '{"a": {"b": [7.0]}}', True),
        ("json: {path: 'a', equals: true}", '{"a": 1}', False),
        ("json: {path: 'a', equals: true}", '{"a": true}', True),
        ("json: {path: 'a', equals: 'true'}", '{"a": true}', False),
        ("json: {path: 'a', equals: 'true'}", '{"a": "true"}', True),
        ("json: {path: 'a', equals: 1}", '{"a": 1}', True),
        ("json: {path: 'a', equals: 1}", '{"a": "1"}', False),
        ("json: {path: 'a', equals: '1'}", '{"a": "1"}', True),
        ("json: {path: 'a', equals: '1'}", '{"a": 1}', False),
        ("json: {path: 'a', equals: null}", '{"a": null}', True),
        ("json: {path: 'a', equals: null}", '{"a": 0}', False),
        ("json: {path: 'a', equals: null}", '{"a": "null"}', False),
        ("json: {path: 'a', equals: {b: [1, no]}}", '{"a": {"b": [1, "no"]}}', True),
        ("json: {path: 'a', equals: {}}", '{"a": {}}', True),
        ("json: {path: 'a', equals: {}}", '{"a": 1}', False),
        ("json: {path: 'a[-1]', equals: x}", '{"a": ["y", "x"]}', True),
        ("json: {path: 'a[2]'}", '{"a": ["y", "x"]}', False),
        ("json: {path: a, field: expected}", '{"a": "Refund"}', True),
        ("json: {path: a, field: expected}", '{"a": "x"}', False),
        ("number: {least: 1, most: 10}", "It is 7.", True),
        ("number: {least: 1, most: 10}", "It is 70 %", False),
        ("number: {least: 1}", "no idea", False),
        ("number: {least: 1}", "2 or 3", None),
        ("number: {least: 3, which: last}", "2 or 3", True),
        ("number: {least: 3, which: first}", "2 or 3", False),
        ("number: {least: 1000}", "1,234", None),
        ("number: {most: -1}", "−5", True),
        ("number: {least: 100, which: last}", "Итого 3 000 руб.", None),
        ("number: {least: 100, which: first}", "1 000 000", None),
        ("number: {least: 100}", "1 500.00", None),
        ("number: {least: 1000}", "1\u2009500", True),
        ("number: {least: 1000}", "1\u202f500,5 €", True),
        ("number: {least: 1000}", "1\u00a0500\u202f000 руб.", True),
        ("number: {least: 1000}", "1.500", None),
        ("number: {least: 0}", "Температура: –3 °C", None),
        ("number: {least: 0}", "It is ‑3", None),
        ("number: {least: 0}", "минус 3 градуса", None),
        ("number: {least: 0}", "Minus 3", None),
        ("number: {least: 0}", "-3", False),
        ("number: {least: 3, which: last}", "pages 3–5", True),
        ("number: {least: 3, which: last}", "Итого — 30", True),
        ("number: {most: 10}", "The gap is 10.5mm", None),
        ("number: {least: 1.2}", "Размер 1,5ГБ", None),
        ("number: {least: 1.2}", "Размер 1,5 ГБ", True),
        ("number: {least: 1, which: first}", "3.7k, or 3 700.5", None),
        ("number: {least: 1}", "1.2e-3mol", None),
        ("number: {least: 1}", "5_000", None),
        ("number: {least: 5}", "5½ cups", None),
        ("number: {least: 0.4}", "½ cup", None),
        ("number: {most: 0.1}", "p < .05", True),
        ("number: {most: 0.4}", "It costs $.50.", False),
        ("number: {most: 1.3}", "1.2e0", True),
        ("number: {least: 20}", "The 1st place has 30 points", True),
        ("number: {least: 20}", "GPT4 has 30", True),
        ("number: {least: 7}", "It is 7.Then nothing", True),
        ("number: {most: 100}", "99.9%.", True),
        ("number: {least: 1000, decimal: comma}", "1.500", True),
        ("number: {least: 1000, decimal: point}", "1.500", False),
        ("number: {least: 1000, decimal: comma}", "7,000", False),
        ("number: {least: 1000, decimal: point}", "7,000", True),
        ("number: {most: 0.2, decimal: point}", "−0,125", True),
        ("number: {least: 1, which: first, decimal: point}", "3 000", None),
        ("number: {least: 1000}", "-1.500", None),
        ("number: {most: 1}", "0.125", True),
        ("number: {least: 300, which: last}", "In 2020 300 of them", True),
        ("number: {least: 100, which: last}", "12 of 100", True),
        ("number: {least: 5, which: first}", "5\u00a0kg", True),
        ("words: {most: 3}", "one two three", True),
        ("words: {most: 3}", "one two three four", False),
        ("characters: {least: 2, most: 3}", "🙂🙂🙂", True),
        ("language: en", "The answer is that it was not from the same place as they were", True),
        ("language: ru", "Это не так, потому что он был там и не вернулся к ним", True),
        ("language: ru", "Це не так, тому що він був там і не повернувся до них", False),
        ("language: en", "Der Vertrag ist nicht für die Frau und das Kind", False),
        ("language: ja", "これは日本語の文章です", True),
        ("language: zh", "這是一個中文句子", True),
        ("language: en", "OK", None),
        ("language: ru", "Бул кыргыз тилинде жазылган жооп", None),
        ("language: ru", "Энэ бол монгол хэл дээрх хариулт юм", None),
        ("language: uk", "Сәлеметсіз бе, бұл қазақша жауап, және бәрі жақсы", None),
        ("language: uk", "Гэта адказ на беларускай мове, і ён добры", None),
        ("language: ru", "Мы вышлем счёт на вашу почту сегодня", True),
        ("similarity: reference", "the refund takes five days", True),
        ("similarity: {to: reference, by: edit, least: 0.9}", "The refund takes five day", True),
        ("similarity: {to: reference, by: bleu}", "something else entirely here", False),
        ("similarity: {to: reference, by: tokens}", "days five takes refund the", True),
        ("similarity: nothing", "x", None),
        ("similarity: blank", "x", None),
        ("contains: {field: blank}", "x", None),
        ("equals: {field: blank}", "", None),
        ("json: {path: a, field: blank}", '{"a": ""}', None),
        ("urls", "see https://example.com/a?b=c.", True),
        ("urls", "see https://exa mple", True),
        ("urls", "see https://-bad-.com", False),
        ("urls: {least: 1}", "no address", False),
        ("urls: {hosts: example.com}", "https://docs.example.com/x", True),
        ("urls: {hosts: example.com}", "https://example.com.evil.org/x", False),
        ("urls: {hosts: example.com}", r"http://evil.net\@example.com/", False),
        ("urls: {hosts: example.com}", r"http://example.com\x", True),
        ("urls: {schemes: https}", "http://example.com", False),
        ("citations", "As said [1], and [2].", True),
        ("citations", "As said [3].", False),
        ("citations", "As said.", False),
        ("citations", "As [0] said.", False),
        ("code", "```python\ndef f():\n    return 1\n```", True),
        ("code", "def f(:", False),
        ("code", "", False),
        ("sql", "SELECT a FROM nowhere WHERE b = 'x;y'; SELECT 1", True),
        ("sql", "SELEC a FROM b", False),
        ("sql", "SELECT a FROM", False),
        ("sql", "DROP TABLE users; DELETE FROM a", True),
        ("refusal", "I'm sorry, but I can't help with that.", True),
        ("refusal", "К сожалению, я не могу помочь с этим.", True),
        ("refusal", "Я не могу с этим помочь.", True),
        ("refusal", "Я не могу с этим согласиться.", False),
        ("refusal", "I can't wait to help! Here it is.", False),
        ("not: refusal", "Here is the answer: you cannot return it.", True),
        ("python: len(text) < 5", "abc", True),
        ("python: 'question in text'", "abc", False),
        ("python: 1 / 0", "abc", None),
        ("python: '2'", "abc", None),
        ("python: '0.4'", "abc", False),
        ("latency: 2.5", "abc", None),
        ("{contains: x, field: nowhere}", "x", None),
        ("{contains: long, field: question}", "x", True),
    ],
)
def test_what_a_check_says(check: str, text: str, passed: bool | None) -> None:
    found = look(check, text)
    assert (found.passed, bool(found.reason)) == (passed, True)


def test_where_it_matched_is_a_place_in_the_text() -> None:
    text = "Die STRASSE und der ﬁsch"
    (span,) = look("contains: straße", text).spans
    assert text[span.start : span.end] == "STRASSE"
    (span,) = look("contains: fisch", text).spans
    assert text[span.start : span.end] == "ﬁsch"


def test_what_an_answer_took_is_read_from_the_row() -> None:
    (one,) = read("latency: 2.5")
    row = Instance({"response": "x"}, metadata={"latency": 2.4})
    assert one.look(row).passed
    slow = Instance({"response": "x"}, metadata={"row": {"latency": "2.6"}})
    assert one.look(slow).passed is False


def test_a_schema_says_what_is_wrong_and_where(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    check = f"json: {{schema: '{path}'}}"
    assert look(check, '{"name": "a", "age": 3}').passed
    found = look(check, '{"name": "a", "age": "old"}')
    assert found.passed is False and "$.age" in found.reason
    path.write_text('{"type": "nonsense"}')
    with pytest.raises(SetupError, match=r"eval\.yaml.*cannot be used"):
        read(check)


def test_a_function_of_a_file_decides(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("LIMIT = 3\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "from beside import LIMIT\ndef brief(text, row):\n    return len(text) <= LIMIT\n"
    )
    assert look(f"python: '{path}:brief'", "abc").passed
    assert look(f"python: '{path}:brief'", "abcd").passed is False
    with pytest.raises(SetupError, match="has no function 'long'"):
        read(f"python: '{path}:long'")


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{contains: x, case: true}", "'case' belongs below the check: contains: {"),
        ("contain: x", "unknown check 'contain'; did you mean 'contains'"),
        ("contains: {txt: x}", "unknown key 'txt'"),
        ("equals: {text: a, field: b}", "needs a text or a field"),
        ("contains: {text: a, any: [b]}", "needs one of these"),
        ("regex: '('", "the regular expression '\\(' is invalid"),
        ("number: {which: first}", "needs a limit"),
        ("{contains: x, equals: y}", "a check must be one of"),
        ("required: true", "a check must be one of"),
        ("json: {equals: 3}", "add path"),
        ("json: {equals: null}", "add path"),
        ("words: {least: 5, most: 2}", r"least \(5\) is greater than most \(2\)"),
        ("number: {least: 0.5, most: 0.2}", "is greater than most"),
        ("language: klingon", "must be one of"),
        ("code: cobol", "must be one of python, json"),
        ("python: 'a b'", "cannot be parsed"),
        ("sql: nonsense", "sqlglot"),
        ("contains", "not work without settings"),
        ("{contains: x, weight: 0}", "above 0"),
    ],
)
def test_what_is_written_wrong_is_said_with_its_line(check: str, said: str) -> None:
    with pytest.raises(SetupError, match=rf"(?s)eval\.yaml.*{said}"):
        read(f"- {check}")


def slow_distance(one: str, two: str) -> int:
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def slow_common(one: str, two: str) -> int:
    row = [0] * (len(two) + 1)
    for a in one:
        before = 0
        for j, b in enumerate(two, 1):
            before, row[j] = row[j], before + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


@given(st.text("abcд", max_size=80), st.text("abcд", max_size=80))
def test_distances_are_those_of_the_whole_table(one: str, two: str) -> None:
    assert edit_distance(one, two) == slow_distance(one, two)
    assert common_length(one, two) == slow_common(one, two)


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarities_are_from_0_to_1_and_1_of_the_same(one: str, two: str) -> None:
    for measure in (token_overlap, rouge_l, bleu):
        assert 0 <= measure(one, two) <= 1
        assert measure(one, one) == pytest.approx(1)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0.1234", 0.1234),
        ("1.2345", 1.2345),
        ("1\u2009234\u2009567,5", 1234567.5),
        ("1.234.567", 1234567),
        ("1,234,567.5", 1234567.5),
        ("3,5", 3.5),
        ("0,125", 0.125),
        ("−2", -2),
        ("1'000'000", 1e6),
        ("12.345,6", 12345.6),
        ("50%", 50),
    ],
)
def test_a_number_is_read_however_it_is_written(written: str, number: float) -> None:
    assert number_in(written) == number


def test_a_text_of_mixed_languages_cannot_be_told() -> None:
    assert language_of("the and of и в не на что the and of и в не на что") is None
    assert language_of("") is None


HOSTILE = st.text(st.characters(codec=None), max_size=300)


@given(HOSTILE)
def test_no_text_makes_a_check_raise(text: str) -> None:
    row = Instance({**ROW, "response": text or " "})
    for one in ALL:
        found = one.look(row)
        assert found.passed in (True, False, None) and str(found.reason)
        assert all(0 <= span.start <= span.end <= len(text or " ") for span in found.spans)


ALL = read(
    """
- contains: a
- contains_any: [ß, é]
- forbidden: [x]
- json
- json: a.b
- number: {least: 0, which: first}
- words: {most: 5}
- language: en
- similarity: reference
- similarity: {by: bleu}
- similarity: {by: edit}
- urls
- citations
- code
- sql
- refusal
- regex: '[^a]{2}'
"""
)


def test_checks_say_in_a_few_words_what_they_want() -> None:
    random.seed(0)
    titles = [str(one.title) for one in ALL]
    assert all(titles) and len(titles) == len(set(titles))
    assert isinstance(ALL[0].check, Check)


@pytest.mark.parametrize(
    "check",
    [
        "contains: no",
        "contains: 1.10",
        "contains: {any: [yes, 0x10], case: true}",
        "{not: {contains_all: [a, b]}, weight: 2}",
        "{equals: {field: expected}, required: true, name: right}",
        "regex: '^[0-9]+$'",
        "json",
        "json: {path: 'a[0].b', equals: '3'}",
        "json: {path: 'a[0].b', equals: 3}",
        "json: {path: 'a[0].b', equals: null}",
        "json: {path: 'a[0].b', equals: {}}",
        "number: {least: 1.10, most: 3}",
        "words: {most: 50}",
        "characters: {least: 2}",
        "latency: 1.5",
        "{cost: 0.01, field: answer}",
        "language: ru",
        "similarity: {to: a text, least: 0.5}",
        "not: {refusal: true}",
        "forbidden: [damn, 'no']",
        "python: len(text) > 3",
    ],
)
def test_a_check_is_read_again_as_it_is_said(check: str) -> None:
    (one,) = read(check)
    (again,) = EXPECTATIONS.read(with_lines([json.loads(json.dumps(say(one)))]), Place("kept"))
    assert again == one


def test_a_check_in_python_has_its_time(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def forever(text, row):\n    while True:\n        pass\n"
        "def late(text, row):\n    raise TimeoutError('its own')\n"
    )
    stuck = '\'__import__("re").match("(a+)+$", "a" * 40 + "!") is None\''
    for code in (
        "'mine.py:forever'",
        "'sum(1 for _ in iter(int, 1))'",
        "sum(range(10**12))",
        stuck,
    ):
        (one,) = (
            each.ready(tmp_path)
            for each in EXPECTATIONS.read(*_placed(f"python: {{code: {code}, timeout: 0.2}}"))
        )
        found = one.look(Instance({"response": "x"}))
        assert (found.passed, str(found.reason)) == (None, "it took longer than 0.2 s")
    (own,) = (each.ready(tmp_path) for each in EXPECTATIONS.read(*_placed("python: mine.py:late")))
    assert str(own.look(Instance({"response": "x"})).reason) == "TimeoutError: its own"


def test_a_check_in_python_harms_nobody_else(tmp_path: Path) -> None:
    """It prints, reads, changes the row's metadata, ends its process: the next one has its say."""
    (tmp_path / "mine.py").write_text(
        "import os, sys\n"
        "def talks(text, row):\n    print('{}')\n    os.system('cat; echo {}')\n"
        "    return sys.stdin.read() == '' and row.metadata['place'] == 'row 1' and row.id == 'a'\n"
        "def ends(text, row):\n    os._exit(0)\n"
    )
    row = Instance({"response": "x"}, "a", {"place": "row 1", "odd": [date(2026, 1, 2)]})
    found = []
    for name in ("talks", "ends", "talks"):
        (one,) = (
            each.ready(tmp_path) for each in EXPECTATIONS.read(*_placed(f"python: mine.py:{name}"))
        )
        found.append(one.look(row))
    assert [one.passed for one in found] == [True, None, True]
    assert str(found[1].reason) == "it ended its own process"


def _placed(text: str) -> tuple[object, Place]:
    place = load_yaml(text, Place("eval.yaml"))
    return place.value, place


def test_a_schema_refers_to_its_own_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"type": "object"}')
    (folder / "part.json").write_text('{"$defs": {"a": {"type": "object"}}}')
    outside = (tmp_path / "secret.json").as_uri()
    others = (outside, outside.replace("file:", "FILE:"), "../secret.json", "http://127.0.0.1:1/a")
    for other in others:
        (folder / "schema.json").write_text(json.dumps({"$ref": other}))
        with pytest.raises(SetupError, match="which is outside its folder"):
            [
                one.ready(folder)
                for one in EXPECTATIONS.read(*_placed("json: {schema: schema.json}"))
            ]
    (folder / "schema.json").write_text('{"$ref": "part.json#/$defs/a"}')
    (one,) = (
        each.ready(folder) for each in EXPECTATIONS.read(*_placed("json: {schema: schema.json}"))
    )
    assert one.look(Instance({"response": "[1]"})).passed is False
    assert one.look(Instance({"response": "{}"})).passed is True


def _checked(folder: Path, checks: str, *words: str) -> dict[str, Any]:
    """The JSON of a run of these checks on eight rows, of which three have an expected text."""
    answers = ("Rome,Rome", "Paris,Paris", "Lyon,Madrid", *(["hello,"] * 5))
    (folder / "rows.csv").write_text("answer,expected\n" + "\n".join(answers) + "\n")
    (folder / "eval.yaml").write_text(f"data: rows.csv\nchecks:\n{checks}")
    done = adjudge("run", "eval.yaml", "--json", *words, cwd=folder)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_check_can_be_limited_to_rows_that_have_a_field(tmp_path: Path) -> None:
    checks = (
        "  - {equals: {field: expected}, name: exact, rows_with: expected}\n"
        "  - {words: {most: 5}, name: short}\n"
    )
    found = _checked(tmp_path, checks)
    exact, short, together = found["criteria"]
    assert (exact["attempted"], exact["skipped"], exact["mean"]) == (3, 5, pytest.approx(2 / 3))
    assert (short["attempted"], short["mean"]) == (8, 1.0)
    assert (together["attempted"], together["mean"]) == (8, pytest.approx(7.5 / 8))
    assert found["reasons"] == {}
    assert found["remarks"] == ["checks: exact: 5 rows have no value: the row has no expected"]


def test_a_row_that_no_check_applies_to_is_left_out(tmp_path: Path) -> None:
    checks = (
        "  - {equals: {field: expected}, name: exact, rows_with: expected}\n"
        "  - {contains: {field: expected}, name: within, rows_with: expected}\n"
    )
    together = _checked(tmp_path, checks)["criteria"][-1]
    assert (together["attempted"], together["skipped"]) == (3, 5)


def test_a_required_check_that_does_not_apply_keeps_no_judge_from_a_row(tmp_path: Path) -> None:
    checks = (
        "  - {equals: {field: expected}, name: exact, rows_with: expected, required: true}\n"
        "judges: [{kind: aspect, name: polite, criteria: It is polite., after: checks}]\n"
        "models: scripted/PASS\n"
    )
    polite = _checked(tmp_path, checks)["criteria"][-1]
    assert (polite["attempted"], polite["skipped"]) == (7, 1)


def test_checks_that_are_not_required_keep_no_judge_from_a_row_if_others_are(
    tmp_path: Path,
) -> None:
    """Those of a second judge did, as none of its own was required."""
    checks = (
        "  - {regex: '.', name: text, required: true}\n"
        "judges:\n"
        "  - {kind: check, name: mix, threshold: 0.1, checks: [{contains: zzz}, {regex: '.'}]}\n"
        "  - {kind: aspect, name: polite, criteria: It is polite., after: checks}\n"
        "models: scripted/PASS\n"
    )
    polite = _checked(tmp_path, checks)["criteria"][-1]
    assert (polite["attempted"], polite.get("skipped")) == (8, None)


def test_empty_fields_are_one_line_and_not_among_the_worst_rows(tmp_path: Path) -> None:
    _checked(tmp_path, "  - {equals: {field: expected}, name: exact}\n", "--run", "kept")
    done = adjudge("runs", "show", "kept", cwd=tmp_path)
    whole = done.stdout + done.stderr
    assert whole.count("the field expected is empty") == 1 + 5  # one line, and the table of rows
    assert "rows_with: expected leaves out such rows): 5 rows" in whole
    _, _, worst = adjudge(
        "report", "kept", "--to", "github", "-o", "-", cwd=tmp_path
    ).stdout.partition("<details>")
    assert "Madrid" in worst
    assert "is empty" not in worst.partition("</details>")[0]
