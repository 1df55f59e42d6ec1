"""A judgment comes back from the ledger as it was, whatever its kind; what nobody wrote is refused
where it is read.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge import (
    Criteria,
    CriteriaOption,
    DirectInstanceResult,
    Instance,
    PairwiseInstanceResult,
)
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.message import Usage
from adjudge.core.domain.record import OtherDetail, PairwiseDetail, SystemResult, VoteRecord
from adjudge.core.domain.repetition import RELATED
from adjudge.core.domain.results import PositionalBias, Result
from adjudge.core.ledger import codec, rows
from adjudge.core.ledger.alike import AlikeOutcome, alike_outcomes
from adjudge.core.ledger.codec import (
    DETAILS,
    exported_judgment,
    judgment_of,
    judgment_row,
    record_of,
    vote_of,
    vote_row,
)
from adjudge.core.ledger.rows import fact_text, read_fact, verify_row
from adjudge.core.pooling.majority import ONE_ORDER
from adjudge.core.reading.typed_json import WrongType
from adjudge.messages import Message, join, render
from support.old_ledger import row_of_version_7
from support.results import NAME, RESULTS

SLOW = settings(suppress_health_check=list(HealthCheck))
COLUMNS = 10
"""The place of what a judgment came to among its columns."""


def stored(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row as SQLite gives it back."""
    with sqlite3.connect(":memory:") as connection:
        return tuple(connection.execute(f"SELECT {','.join('?' * len(values))}", values).fetchone())


@pytest.mark.parametrize("kind", RESULTS)
@SLOW
@given(data=st.data(), judge=NAME, index=st.integers(0, 10**6))
def test_a_result_comes_back_from_the_ledger_as_its_record(
    kind: str, data: st.DataObject, judge: str, index: int
) -> None:
    result = data.draw(RESULTS[kind])
    record = result.record(judge, index)
    row = verify_row("judgments", stored(judgment_row(record, b"")))
    assert judgment_of(row) == record
    assert record.row == index + 1


VALUES = st.one_of(
    st.none(),
    st.text(),
    st.sampled_from(['\x7f\x00\x1f\b\f\n\r\t"\\/', "é", "\u2028"]),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([float("inf"), -float("inf"), 0.0, -0.0, 1e16, 1e-7, 5e-324, 0.1]),
    st.floats(allow_nan=False),
    st.binary(),
)


@given(data=st.data(), table=st.sampled_from(["votes", "judgments"]))
def test_a_row_is_read_if_and_only_if_its_checksum_is_that_of_its_values(
    data: st.DataObject, table: str
) -> None:
    """Version 7 of the ledger had another checksum, which is still read."""
    values = [data.draw(VALUES) for _ in rows.COLUMNS[table]]
    changed = [*values]
    changed[data.draw(st.integers(0, len(values) - 1))] = data.draw(VALUES)
    assert rows.checksum(*values) < 0 <= rows.json_checksum(*values)
    for checksum in (rows.checksum, rows.json_checksum):
        assert verify_row(table, (*values, checksum(*values))) == tuple(values)
        assert rows.is_intact(*values, checksum(*values))
        if checksum(*changed) != (old := checksum(*values)):
            assert not rows.is_intact(*changed, old)
            with pytest.raises(sqlite3.DatabaseError, match="checksum mismatch"):
                verify_row(table, (*changed, old))


@pytest.mark.parametrize(("table", "place"), [("votes", 14), ("judgments", 6)])
def test_infinity_is_not_taken_for_a_missing_number(table: str, place: int) -> None:
    """Some writers of JSON write both as null."""
    values: list[object] = [b"k" if "ballot" in name else "a" for name in rows.COLUMNS[table]]
    values[place] = None
    if table == "votes":
        values[15] = 1.0
    sound = rows.checksum(*values)
    verify_row(table, (*values, sound))
    values[place] = float("inf")
    with pytest.raises(sqlite3.DatabaseError, match="checksum mismatch"):
        verify_row(table, (*values, sound))


@pytest.mark.parametrize("kind", RESULTS)
@SLOW
@given(data=st.data())
def test_what_was_exported_says_its_kind_by_its_keys(kind: str, data: st.DataObject) -> None:
    record = data.draw(RESULTS[kind]).record("judge", 3)
    exported = json.loads(json.dumps(record.to_dict()))
    found = record_of({**exported, "index": exported["row"] - 1, "input": None})
    assert (found.detail, found.verdict, found.left_out) == (
        record.detail,
        record.verdict,
        record.left_out,
    )


@SLOW
@given(data=st.data(), kind=st.sampled_from([*RESULTS]))
def test_a_vote_comes_back_from_the_ledger_as_its_record(data: st.DataObject, kind: str) -> None:
    for number, vote in enumerate(data.draw(RESULTS[kind]).votes):
        found = vote_of(
            verify_row("votes", stored(vote_row(number, b"0" * 16, vote.record(), at=1.0)))
        )
        texts = [_kept(text) for text in (vote.text, vote.reason)]
        assert [found.text, found.reason] == texts
        assert found.usage == vote.usage
        shown, kept = vote.to_dict(), found.to_dict()
        written = ("text", "reason", "explanation", "option")
        assert {name: kept[name] for name in kept if name not in written} == {
            name: shown[name] for name in shown if name not in written
        }


def _kept(text: str | None) -> str | None:
    """Half a surrogate pair is kept as its escape in a column of texts."""
    return text and text.encode("utf-8", "backslashreplace").decode()


def test_every_kind_of_result_has_a_detail_of_its_own() -> None:
    def kinds(of: type[Result]) -> set[type[Result]]:
        below = of.__subclasses__()
        return {of, *(one for sub in below for one in kinds(sub))}

    ours = {kind for kind in kinds(Result) if kind.__module__.startswith("adjudge.")}
    own = {kind for kind in ours if kind.detail is not Result.detail}
    # a proposal is no judgment, and only loaded by those who ask for one
    without = {kind.__name__ for kind in ours - own} - {"ProposedRubric", "ProposedScenarios"}
    assert without == {"Result", "_DirectFields", "SampledResult"}
    assert [kind.kind for kind in DETAILS.load_all()] == [*DETAILS]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": "0.5"}, "score must be a number or null, not '0.5'"),
        ({"score": True}, "score must be"),
        ({"status": "fine"}, "status must be"),
        ({"notes": "none"}, "notes must be a list"),
        ({"notes": [1]}, "notes.0 must be a string"),
        ({"votes_valid": 1.5}, "votes_valid must be a whole number"),
        ({"option": 3}, "option must be a string or null, not 3"),
        ({"positional_bias": {"detected": 1}}, "positional_bias.detected must be"),
        ({"criteria": None}, "criteria must be a string, not None"),
    ],
)
def test_a_value_of_the_wrong_type_is_damage_that_says_where(
    change: dict[str, object], said: str
) -> None:
    row = _example_row()
    row[COLUMNS] = json.dumps(json.loads(row[COLUMNS]) | change)
    with pytest.raises(
        sqlite3.DatabaseError,
        match="judgment 1 of 'judge' is damaged or was not written by adjudge",
    ) as caught:
        judgment_of(row)
    assert said in str(caught.value)


def test_a_key_that_is_missing_is_damage() -> None:
    row = _example_row()
    row[COLUMNS] = json.dumps(
        {name: value for name, value in json.loads(row[COLUMNS]).items() if name != "feedback"}
    )
    with pytest.raises(sqlite3.DatabaseError, match="feedback is missing"):
        judgment_of(row)


def test_a_vote_without_its_time_is_damage() -> None:
    with pytest.raises(sqlite3.DatabaseError, match="at must be a number, not None"):
        vote_of([None] * len(rows.COLUMNS["votes"]))


def test_a_kind_that_is_not_ours_keeps_what_it_says() -> None:
    kept: JsonDict = {
        "criteria": "c",
        "status": "scored",
        "score": 1,
        "explanation": None,
        "agreement": None,
        "tie": False,
    }
    kept |= {
        "fallback": None,
        "votes_requested": 1,
        "votes_valid": 1,
        "verdict": "good",
        "colour": ["red"],
    }
    record = record_of({**kept, "judge": "j", "index": 0, "fields": {"response": "x"}})
    assert record.detail == OtherDetail(values={"verdict": "good", "colour": ["red"]})
    assert (record.verdict, record.to_dict()["colour"]) == ("good", ["red"])
    with pytest.raises(WrongType, match=r"fields\.response must be"):
        record_of({**kept, "judge": "j", "index": 0, "fields": {"response": 5}})


def _example_row() -> list[Any]:
    criteria = Criteria("kind", "Is it kind?", (CriteriaOption("Yes"), CriteriaOption("No")))
    instance, bias = Instance({"response": "x"}), PositionalBias(False)
    result = DirectInstanceResult(
        instance=instance, criteria=criteria, option="Yes", score=1, positional_bias=bias
    )
    return list(judgment_row(result.record("judge", 0), b"")[:-1])


@pytest.mark.parametrize("hostile", ["order", "a, b.csv", "0.5", "{name}", "порядок", "", "\ud800"])
def test_our_own_sentences_come_back_as_messages(hostile: str) -> None:
    said = Message("{value!r} is not a number", value=hostile)
    system = SystemResult(
        contest_results=(1.0,),
        compared_to=(1,),
        explanations=(said,),
        positional_bias=(None,),
        certainty=(None,),
        winrate=None,
        ranking=None,
        selections=(None,),
    )
    result = PairwiseInstanceResult(
        instance=Instance({"responses": ("x", "y"), "note": hostile}),
        criteria=Criteria("kind", "Which is kinder?"),
        notes=(said, hostile, join(", ", (ONE_ORDER, hostile))),
        explanation=said,
        per_system_results=(system,),
        metadata={"message_parts": [[["notes", 1], {"template": "order"}]]},
    )
    record = replace(result.record("judge", 0), excluded_models={"a/b": said})
    found = judgment_of(verify_row("judgments", stored(judgment_row(record, b""))))
    assert found == record
    translated = f"{hostile!r} – не число"
    assert [render(note, "ru") for note in found.notes] == [
        translated,
        hostile,
        f"{ONE_ORDER.render('ru')}, {hostile}",
    ]
    assert render(found.explanation, "ru") == translated
    assert render(found.excluded_models["a/b"], "ru") == translated
    assert isinstance(found.detail, PairwiseDetail)
    assert render(found.detail.per_system_results[0].explanations[0], "ru") == translated
    assert '"message_parts"' not in json.dumps(exported_judgment(found, None))
    again = judgment_of(verify_row("judgments", stored(judgment_row(found, b""))))
    assert [render(note, "ru") for note in again.notes] == [
        render(note, "ru") for note in found.notes
    ]


@pytest.mark.parametrize(
    "parts",
    [
        "order",
        [["notes"]],
        [[[], {"template": "order"}]],
        [[["notes", 7], {"template": "order"}]],
        [[["notes", "x"], {"template": "order"}]],
        [[["score"], {"template": "order"}]],
        [[["criteria", 0], {"template": "order"}]],
        [[["notes", 0], {"template": "{0.__class__}", "values": {"0": "x"}}]],
    ],
)
def test_parts_that_nobody_of_ours_wrote_make_no_message(parts: object) -> None:
    row = _example_row()
    result = {**json.loads(row[COLUMNS]), "notes": ["as it stands"], "message_parts": parts}
    row[COLUMNS] = json.dumps(result)
    record = judgment_of(row)
    assert [render(note, "ru") for note in record.notes] == ["as it stands"]
    assert (record.criterion, record.score) == ("kind", 1)


def test_a_fact_about_a_run_keeps_its_messages() -> None:
    said = Message("{value!r} is not a number", value="order")
    facts: tuple[JsonValue, ...] = (said, {"notes": ["order", said]}, ["order", {"value": said}])
    for fact in facts:
        assert read_fact(fact_text(fact)) == fact
    assert render(read_fact(fact_text(said)), "ru") == "'order' – не число"
    assert fact_text({"value": 1}) == '{"value": 1}'


@pytest.mark.parametrize("kind", RESULTS)
@SLOW
@given(data=st.data())
def test_what_is_decoded_at_once_is_what_is_read_value_by_value(
    kind: str, data: st.DataObject
) -> None:
    result = data.draw(RESULTS[kind])
    row = stored(judgment_row(result.record("judge", 3), b""))[:-1]
    votes = [stored(vote_row(1, b"0" * 16, vote.record(), at=1.0))[:-1] for vote in result.votes]
    at_once = [repr(judgment_of(row)), *map(repr, map(vote_of, votes))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_decode_judgment", lambda *_: None)
        patch.setattr(codec._StoredVotes, "record", lambda *_: None)
        assert [repr(judgment_of(row)), *map(repr, map(vote_of, votes))] == at_once


def test_plain_judgments_and_votes_are_decoded_at_once() -> None:
    assert codec._decode_judgment(_example_row(), None) == judgment_of(_example_row())
    vote = VoteRecord(
        model="m",
        sample=0,
        order=None,
        outcome="ok",
        option="Yes",
        number=None,
        explanation=None,
        feedback=None,
        ranking=None,
        reason=None,
        text="Yes",
        usage=Usage(1, 20, 3),
        latency=0.5,
        distribution=None,
        low_confidence=False,
        answered_by="m-1",
        at=1.0,
    )
    assert codec._stored_votes().record(stored(vote_row(1, b"0" * 16, vote, at=1.0))[:-1]) == vote


@pytest.mark.parametrize(("column", "value"), [(3, b"{}"), (3, "[]"), (10, b"{}"), (10, "[]")])
def test_a_column_of_another_type_is_damage(column: int, value: object) -> None:
    row = _example_row()
    row[column] = value
    with pytest.raises(sqlite3.DatabaseError, match="instead of"):
        judgment_of(row)


@SLOW
@given(data=st.data())
def test_the_outcome_of_a_row_is_that_of_its_record_whatever_kind_came_before(
    data: st.DataObject,
) -> None:
    kinds = data.draw(st.lists(st.sampled_from([*RESULTS]), min_size=1, max_size=6))
    records = [data.draw(RESULTS[kind]).record("judge", 3) for kind in kinds]
    stored_rows = [verify_row("judgments", stored(judgment_row(record, b""))) for record in records]
    old_rows = [
        verify_row("judgments", row_of_version_7((*row, rows.checksum(*row))))
        for row in stored_rows
    ]
    # later, each row is like one before
    found = alike_outcomes([*stored_rows, *stored_rows, *old_rows, *old_rows])
    for outcome, record in zip(found, records * 4, strict=True):
        if not isinstance(outcome, AlikeOutcome):
            assert judgment_of(outcome) == record
            continue
        assert outcome.record == record
        assert outcome.fields == record.fields
        assert not (record.scored and record.lost_votes)
        assert not record.detail.named_systems
        assert record.input.keys().isdisjoint(RELATED)
        like = outcome.like
        assert (like.judge, like.criterion) == (record.judge, record.criterion)
        assert (like.status, like.score, like.verdict) == (
            record.status,
            record.score,
            record.choice,
        )
