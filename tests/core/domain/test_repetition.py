"""Which rows belong together: by a column, by their task, and by both at once."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from adjudge import AspectCritic, Instance
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import Unit, clusters_of, unit_of
from support.labels import model


def record(row: Mapping[str, JsonValue]) -> JudgmentRecord:
    instance = Instance({"response": "text"}, "r", {"row": row})
    (result,) = AspectCritic("Is it fine?", model(lambda _: "PASS")).evaluate([instance])
    return result.record("fine", 0)


def test_trials_of_a_task_share_it_whatever_column_is_named() -> None:
    row = record({"task_id": "t1", "trial": 2, "talk": " c0 ", "empty": "  "})
    assert unit_of(row) == ("task_id=t1",)
    assert unit_of(row, "talk") == ("talk=c0", "task_id=t1")
    assert unit_of(row, "task_id") == ("task_id=t1",)
    assert unit_of(row, "empty") == ("task_id=t1",)
    assert unit_of(record({"task_id": 0, "trial": 0})) == ("task_id=0",)
    assert unit_of(record({"task_id": "t1"})) == ()
    assert unit_of(record({"task_id": "", "trial": 1})) == ()


def test_a_column_does_not_take_trials_apart() -> None:
    units: list[Unit] = [("talk=a", "task_id=1"), ("talk=b", "task_id=1"), ("talk=c",), ()]
    clusters = clusters_of(units)
    assert clusters is not None
    assert clusters[0] == clusters[1]
    assert len(set(clusters)) == 3
    assert clusters_of([(), ()]) is None


@given(st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=2).map(sorted).map(tuple)))
def test_rows_are_together_if_a_chain_of_shared_texts_joins_them(units: list[Unit]) -> None:
    clusters = clusters_of(units) or list(range(len(units)))
    joined = [{place} for place in range(len(units))]
    for one, first in enumerate(units):
        for other, second in enumerate(units):
            if {*first} & {*second} and joined[one] is not joined[other]:
                joined[one] |= joined[other]
                for place in joined[one]:
                    joined[place] = joined[one]
    for one in range(len(units)):
        for other in range(len(units)):
            assert (clusters[one] == clusters[other]) == (joined[one] is joined[other])
