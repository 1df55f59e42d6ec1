"""The beginning of an object in JSON that breaks off anywhere."""

from __future__ import annotations

import json

from adjudge.core.reading.json_begin import begin_object

WHOLE = {"a": 'x"\\\u00e9' * 3, "list": ["one", {"two": [2]}, "three"], "n": 1.5, "last": "y\n" * 9}


def test_every_beginning_tells_what_it_holds() -> None:
    for text in (json.dumps(WHOLE), json.dumps(WHOLE, ensure_ascii=False, separators=(",", ":"))):
        assert begin_object(text) == WHOLE
        for end in range(len(text)):
            for name, value in begin_object(text[:end]).items():
                known = WHOLE[name]
                if isinstance(known, str):
                    assert known.startswith(str(value or ""))
                elif isinstance(known, list):
                    begun = value if isinstance(value, list) else []
                    assert value in (None, begun) and known[: len(begun)] == begun
                else:
                    assert value in (known, None, 1)


def test_what_is_no_object_holds_nothing() -> None:
    for text in ("", "[1, 2]", "null", "{", "{{", "nonsense", "[" * 100_000, '{"a": ' * 100_000):
        assert begin_object(text) in ({}, {"a": None})
