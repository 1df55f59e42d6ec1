"""Every kind of record is stored byte for byte as in ``stored_kinds.json``, and read as version 7
of the ledger stored it, by which ``stored_kinds_of_7.json`` was written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.core.domain.check_result import CheckDetail, CheckRecord
from adjudge.core.domain.record import (
    AspectDetail,
    Detail,
    DirectDetail,
    JudgmentRecord,
    OrderCheck,
    OtherDetail,
    PairwiseDetail,
    SystemResult,
)
from adjudge.core.domain.sampled_record import QualitativeDetail, QuantitativeDetail
from adjudge.core.ledger.codec import judgment_of, judgment_row
from adjudge.core.ledger.rows import verify_row
from adjudge.features.agents.record import AgentDetail, MeasuredPart, PointRecord, Shortened
from adjudge.features.agents.trajectory import ToolCall
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.record import ConversationDetail
from adjudge.features.conversations.user_checks import UserFault
from adjudge.features.evidence.record import (
    EvidenceDetail,
    EvidenceFields,
    EvidenceRecord,
    SentenceRecord,
    UnseenFact,
)
from adjudge.features.generate.record import CandidateDetail
from adjudge.features.rag.record import Composite, MeasureRecord, RagDetail
from adjudge.features.rubrics.record import CategoryRecord, RubricDetail
from adjudge.features.rubrics.record import RubricPointRecord as RubricPoint
from adjudge.messages import Message
from adjudge.plugins import OURS
from support.old_ledger import row_of_version_7

GOLDEN = Path(__file__).with_name("stored_kinds.json")
GOLDEN_OF_7 = Path(__file__).with_name("stored_kinds_of_7.json")
BALLOTS, RESULT = 4, 10
"""The column of the stored result."""
SYSTEM = SystemResult(
    contest_results=(1.0,),
    compared_to=(1,),
    explanations=("clearer",),
    positional_bias=(False,),
    certainty=(0.75,),
    winrate=1.0,
    ranking=1,
    selections=("0",),
)
EVIDENCE = EvidenceRecord(
    method="each",
    claims=1,
    scale=None,
    supported=1,
    contradicted=0,
    not_found=0,
    unanswered=0,
    invented_quotes={"a/b": 1},
    sentences=(
        SentenceRecord(
            start=0,
            end=9,
            text="It is so.",
            kind="claim",
            support="supported",
            evidence=({"fragment": 1, "quote": "so", "start": 6, "by": "model"},),
            by_rule=False,
            agreement=1.0,
            unseen=(UnseenFact(kind="number", text="5", start=3),),
            explanation=None,
            reason=None,
        ),
    ),
    fields=EvidenceFields(text="response", sources="contexts"),
)
DETAILS: tuple[Detail, ...] = (
    DirectDetail(
        option="Yes",
        mean_score=0.75,
        feedback="Shorter.",
        positional_bias=OrderCheck(detected=False, flip_rate=0.25, noise_rate=None),
        model_scores={"a/b": 1.0},
    ),
    AspectDetail(verdict="PASS", model_scores={"a/b": 1.0, "c/d": 0.0}),
    PairwiseDetail(
        selected_option=0,
        winner="one",
        systems=("one", "two"),
        certainty=0.75,
        per_system_results=(SYSTEM, SYSTEM),
        positional_bias=None,
    ),
    QualitativeDetail(distribution={"yes": 1.0}, verdict="PASS", passes=3, min_pass=2),
    QuantitativeDetail(
        distribution={"7": 0.5, "8": 0.5},
        numbers=(7.0, 8.0),
        agg="avg",
        spread=0.5,
        range=(0.0, 10.0),
    ),
    EvidenceDetail(verdict="supported", evidence=EVIDENCE),
    RagDetail(
        composite=Composite(0.5, "mean", 0.5, 0.5),
        scores={"clarity": 2, "tone": None},
        normalized={"clarity": 1.0, "tone": None},
        explanations={"clarity": None, "tone": "?"},
        agreements={"clarity": 1.0, "tone": None},
        evidence=EVIDENCE,
        measures={"recall": MeasureRecord(value=None, reason="no truth")},
    ),
    CandidateDetail(verdict="taken", cost=1.5, tries=2),
    CheckDetail(
        verdict="FAIL",
        checks=(CheckRecord(name="words", passed=False, reason="too long", value=9.0),),
    ),
    ConversationDetail(
        measure="outcome",
        option="failed",
        fault="user",
        validity="spoiled",
        reason_of_fault="it made up a number",
        fault_turn=1,
        user_faults=(UserFault.of("invented fact", 1, "4711 has no source", "It is 4711."),),
        ended="user stopped",
        user="rules",
        conversation=Conversation(
            turns=(
                Turn(number=1, speaker="user", text="It is 4711."),
                Turn(
                    number=2,
                    speaker="agent",
                    text="Done.",
                    calls=(ToolCall("cancel", {"order": "4711"}, "done"),),
                    state={"status": "open"},
                    seconds=0.5,
                    tokens=7,
                ),
            ),
            ended="user stopped",
            parting=True,
        ),
        scenario={"id": "x", "goal": "Cancel the order."},
    ),
    AgentDetail(
        measure="checklist",
        option="met",
        value=1.0,
        evidence=({"step": 2, "quote": "done", "absent": None, "found": "proven"},),
        parts=(MeasuredPart(text="search", step=2),),
        count=True,
        place={"step": 2, "agent": None, "paragraph": None},
        points=(PointRecord(text="It is sent.", met=None),),
        shortened=Shortened(characters=10, of=20),
    ),
    OtherDetail(values={"verdict": "good", "colour": ["red"]}),
    RubricDetail(
        layout="healthbench",
        identity="04da8ca307fe2b6f",
        lower=-0.25,
        upper=1.0,
        points=(
            RubricPoint(
                id="1",
                text="Names Paris",
                points=5.0,
                kind="met",
                tags=("accuracy",),
                answer=None,
                value=None,
                votes={"cannot tell": 2},
                failed=1,
                agreement=None,
                explanation="unclear",
                quote=None,
                reason="the votes are tied",
                required=True,
                undecided=True,
                share=1.0,
            ),
        ),
        categories={"accuracy": CategoryRecord(score=None, lower=0.0, upper=1.0)},
        failed_gates=(),
        open_gates=("1",),
        themes=("geography",),
    ),
)


def record_with(detail: Detail) -> JudgmentRecord:
    return JudgmentRecord(
        judge="judge",
        index=2,
        id="row-3",
        fields={"response": "Grüße", "contexts": ("one", "two")},
        input={"response": "Grüße", "team": 5},
        criterion="clear",
        status="scored",
        score=0.5,
        explanation=Message("{value!r} is not a number", value="x"),
        reason=None,
        agreement=0.75,
        tie=False,
        fallback=None,
        low_confidence=True,
        votes_requested=4,
        votes_valid=3,
        notes=("a note",),
        detail=detail,
    )


@pytest.mark.parametrize("detail", DETAILS, ids=lambda detail: detail.kind)
def test_each_kind_is_stored_as_before_and_read_back(detail: Detail) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[detail.kind]
    record = record_with(detail)
    row = judgment_row(record, b"0123456789abcdef")
    assert [value.hex() if isinstance(value, bytes) else value for value in row] == golden
    assert judgment_of(verify_row("judgments", row)) == record


@pytest.mark.parametrize("detail", DETAILS, ids=lambda detail: detail.kind)
def test_each_kind_is_read_as_version_7_stored_it(detail: Detail) -> None:
    row = json.loads(GOLDEN_OF_7.read_text(encoding="utf-8"))[detail.kind]
    row[BALLOTS] = bytes.fromhex(row[BALLOTS])
    record = record_with(detail)
    assert judgment_of(verify_row("judgments", row)) == record
    written = judgment_row(record, b"0123456789abcdef")
    assert row_of_version_7(written) == tuple(row)


@pytest.mark.parametrize("detail", DETAILS, ids=lambda detail: detail.kind)
def test_a_ledger_that_names_no_kinds_is_read_by_the_keys(detail: Detail) -> None:
    row = list(judgment_row(record_with(detail), b"")[:-1])
    stored = json.loads(str(row[RESULT]))
    assert stored.pop("kind") == detail.kind
    row[RESULT] = json.dumps(stored)
    assert judgment_of(row).detail == detail


def test_every_kind_of_ours_is_stored_here() -> None:
    assert {detail.kind for detail in DETAILS} == {*OURS["details"], OtherDetail.kind}
