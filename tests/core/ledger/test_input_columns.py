"""The row that was read comes back as it was, without its texts being kept twice."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from adjudge import Instance
from adjudge.core.ledger.rows import input_from, kept_input

CELLS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.just("field"), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), CELLS), st.text())
def test_a_row_comes_back_as_it_was(row: dict[str, object], text: str) -> None:
    row = {**row, "answer": text}
    instance = Instance({"response": text}, metadata={"row": row})
    kept = json.loads(json.dumps(kept_input(instance.input, instance.fields)))
    assert input_from(kept, {"response": text}) == row
    assert kept["answer"] == {"field": "response"}


def test_a_program_has_no_row_and_what_json_does_not_know_is_nothing() -> None:
    assert Instance({"response": "x"}).input == {}
    assert input_from(None, {}) == {}
    row = {"a": float("nan"), "b": object, "c": (1, "x")}
    instance = Instance({"response": "x"}, metadata={"row": row})
    assert kept_input(instance.input, instance.fields) == {
        "a": None,
        "b": str(object),
        "c": [1, "x"],
    }
