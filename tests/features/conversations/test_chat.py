"""A conversation on a page and in reports: messages with their evidence, all of it escaped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.chat import chat_html, chat_lines
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.record import ConversationDetail, conversation_detail
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.user_checks import UserChecks, UserFault
from adjudge.runs.exporters.export import to_html, to_markdown
from features.conversations.bot_script import Bot, run_eval, serving, write_eval
from support.plain_record import plain_record

HOSTILE = "<script>alert(1)</script>"


def record() -> JudgmentRecord:
    detail = ConversationDetail(
        measure="outcome",
        option="failed",
        fault="user",
        validity="spoiled",
        reason_of_fault=HOSTILE,
        fault_turn=1,
        user_faults=(UserFault.of("invented fact", 1, f"{HOSTILE} has no source", HOSTILE),),
        ended="user stopped",
        user=HOSTILE,
        conversation=Conversation(
            turns=(
                Turn(number=1, speaker="user", text=HOSTILE),
                Turn(number=2, speaker="agent", text=HOSTILE, off_script=True),
            ),
            ended="user stopped",
            detail=HOSTILE,
        ),
        scenario={"id": HOSTILE, "goal": HOSTILE, "facts": {HOSTILE: HOSTILE}},
    )
    return replace(plain_record(detail), id=HOSTILE)


def test_every_text_is_escaped() -> None:
    html = str(chat_html(record(), "en"))
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") >= 8


def test_huge_messages_are_cut_and_say_so() -> None:
    turn = Turn(number=1, speaker="user", text="7a" * 20_000)
    detail = conversation_detail(record())
    assert detail is not None
    detail = replace(detail, conversation=Conversation(turns=(turn,), ended="unknown"))
    html = str(chat_html(replace(record(), detail=detail), "en"))
    assert len(html) < 30_000
    assert "(+20,000)" in html
    scenario = Scenario.of({"id": "x", "goal": "Cancel."})
    (fault,) = UserChecks(scenario, Conversation(turns=(turn,), ended="unknown")).faults()
    assert len(fault.reason) < 300


def test_evidence_is_at_its_message_and_in_the_language_of_the_page() -> None:
    html = str(chat_html(record(), "ru"))
    first, second = html.index('class="turn user decides"'), html.index('class="turn agent"')
    assert first < html.index("назвал факт, которого ему не давали") < second
    assert "вина имитируемого пользователя" in html
    assert "stated a fact" in "\n".join(chat_lines(record(), "en"))


def test_reports_show_the_chat_and_both_rates(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        run_eval(write_eval(tmp_path, f"{url}/chat", count=2), tmp_path / "run")
    to_html(tmp_path / "run", tmp_path / "a.html")
    to_markdown(tmp_path / "run", tmp_path / "a.md")
    for name in ("a.html", "a.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "pass rate with a faultless user" in text
        assert "What is your email?" in text
    lines = (tmp_path / "a.md").read_text(encoding="utf-8").splitlines()
    assert "\\[2\\] agent: What is your email?" in lines  # each message has its own line
