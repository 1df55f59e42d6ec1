"""Broken JSON: what is read, to the letter, and what is not."""

from __future__ import annotations

import pytest

from adjudge.core.verdicts.lenient import next_object, read_object

READ: list[tuple[str, dict[str, object] | None]] = [
    ("{'a': 'b'}", {"a": "b"}),
    ("{a: b}", {"a": "b"}),
    ("{“a”: “b c”, «d»: ‘e’,}", {"a": "b c", "d": "e"}),
    ('{"a": "b" "c": "d"}', {"a": "b", "c": "d"}),
    ("{a: b\nc: d\n}", {"a": "b", "c": "d"}),
    ("{'a': ''}", {"a": ""}),
    ("{'a': 'it's b', 'c': 'd'}", {"a": "it's b", "c": "d"}),
    ('{"a": "say "b", twice", "c": 1,}', {"a": 'say "b", twice', "c": 1}),
    (r'{"a": "b\nc \"d\" \u0435",}', {"a": 'b\nc "d" е'}),
    (r'{"a": "\(b\) \"c\"\n \'d\'",}', {"a": "\\(b\\) \"c\"\n 'd'"}),
    (r"{'a': 'say \'b\', yes'}", {"a": "say 'b', yes"}),
    ("{a: 1, b: -2.5, c: 1e3, d: 1 of 2}", {"a": 1, "b": -2.5, "c": 1000.0, "d": "1 of 2"}),
    ("{a: True, b: false, c: None, d: null}", {"a": True, "b": False, "c": None, "d": None}),
    ("{a: ['b'], c: 1}", None),
    ('{a: ["b", 2], c: []}', {"a": ["b", 2], "c": []}),
    ("{a: {b: {c: {d: {e: 1}}}}}", {"a": {"b": {"c": {"d": {"e": 1}}}}}),
    ("{a: {b: {c: {d: {e: {f: 1}}}}}}", None),
    ("{a: 1, a: 1}", {"a": 1}),
    ("{a: 1, a: 2}", None),
    ("{'a': 'b'", None),
    ("{'a': 'b} and more", None),
    ("{'a': 'b'} and more", None),
    ("{'a': 'b'}\nand more", {"a": "b"}),
    ("{'a': 'b'}```", {"a": "b"}),
    ("{'a': }", None),
    ("{'a' 'b'}", None),
    ("{}", None),
    ("{", None),
]


@pytest.mark.parametrize(("text", "data"), READ)
def test_broken_json_is_read_exactly_or_not_at_all(
    text: str, data: dict[str, object] | None
) -> None:
    read = read_object(text, 0)
    assert (read and read[0]) == data


def test_an_object_ends_behind_its_brace() -> None:
    text = "see {'a': 'b', }\nand more"
    read = read_object(text, 4)
    assert read is not None
    assert text[4 : read[1]] == "{'a': 'b', }"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("x {'a': 1}", 2),
        ('{{"a b": 1}}', 1),
        ('{"a.b/c": 1}', 0),
        ("{x} {y: 1}", 4),
        ("{x}", -1),
        ("{}", -1),
        ('{"a", "b"}', -1),
        ("", -1),
    ],
)
def test_an_object_begins_with_a_name_and_a_colon(text: str, start: int) -> None:
    assert next_object(text, 0) == start
