"""A conversation as people see it: the messages with the user's mistakes next to them, and the
scenario.
"""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.attribution import FAULT_TITLES
from adjudge.features.conversations.conversation import END_WORDS, Conversation, End, Turn
from adjudge.features.conversations.record import ConversationDetail, conversation_detail
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.user_checks import FAULT_WORDS, UserFault
from adjudge.messages import Message, render

_LONGEST_CALL, _LONGEST_MESSAGE = 2_000, 20_000
"""Characters that are shown of a tool's arguments or result, and of a message."""


def chat_html(record: JudgmentRecord, language: str) -> Markup:
    """Render a conversation as HTML, with every text escaped; empty if there is none."""
    detail = conversation_detail(record)
    if detail is None or detail.conversation is None:
        return Markup("")
    conversation = detail.conversation
    faults_by_turn: dict[int, list[UserFault]] = {}
    for fault in detail.user_faults:
        faults_by_turn.setdefault(fault.turn, []).append(fault)
    faults = faults_by_turn
    rows = Markup("").join(
        _turn_html(turn, faults.pop(turn.number, []), detail.fault_turn, language)
        for turn in conversation.turns
    )
    # a fault may name a message that was never sent, such as one that broke off
    unplaced = Markup("").join(
        _fault_html(fault, language)
        for faults_of_turn in faults.values()
        for fault in faults_of_turn
    )
    ended = _end_text(conversation)
    return Markup(
        '<div class="chat"><div class="talk">{rows}{rest}<p class="soft">{ended}</p></div>'
        '<aside class="about">{about}</aside></div>'
    ).format(
        rows=rows,
        rest=unplaced,
        ended=render(ended, language),
        about=_scenario_html(detail, language),
    )


def _turn_html(
    turn: Turn, faults: list[UserFault], fault_turn: int | None, language: str
) -> Markup:
    calls = Markup("").join(
        Markup(
            '<details class="call"><summary><code>{line}</code></summary>'
            "<pre>{result}</pre></details>"
        ).format(
            line=_short(call.line, _LONGEST_CALL),
            result=_short(call.error or call.result or "–", _LONGEST_CALL),
        )
        for call in turn.calls
    )
    mark = " decides" if turn.number == fault_turn else ""
    off = Message("after the first deviation") if turn.off_script else ""
    return Markup(
        '<div class="turn {speaker}{mark}"><span class="number">{number}</span>{calls}'
        '<p dir="auto">{text}</p>{off}{faults}</div>'
    ).format(
        speaker=turn.speaker,
        mark=mark,
        number=turn.number,
        calls=calls,
        text=_short(turn.text, _LONGEST_MESSAGE) or "–",
        off=Markup('<p class="soft">{}</p>').format(render(off, language)) if off else "",
        faults=Markup("").join(_fault_html(fault, language) for fault in faults),
    )


def _fault_html(fault: UserFault, language: str) -> Markup:
    return Markup('<p class="fault {severity}">⚠ {what}: {reason}</p>').format(
        severity=fault.severity,
        what=render(FAULT_WORDS[fault.kind], language),
        reason=render(fault.reason, language),
    )


def _scenario_html(detail: ConversationDetail, language: str) -> Markup:
    lines = Markup("").join(
        Markup("<dt>{}</dt><dd>{}</dd>").format(render(title, language), text)
        for title, text in _about(detail, language)
    )
    return Markup("<dl>{}</dl>").format(lines)


def _about(detail: ConversationDetail, language: str) -> Iterator[tuple[Message, str]]:
    """Yield the lines shown next to the messages: who is at fault, and the scenario."""
    yield Message("whose fault it was"), render(FAULT_TITLES[detail.fault], language)
    yield Message("why"), render(detail.reason_of_fault, language)
    if detail.behaved is not None:
        yield Message("did the user behave as described"), detail.behaved
    if detail.scenario is None:
        return
    scenario = Scenario.of(detail.scenario)
    yield Message("goal"), scenario.goal
    for part in scenario.parts:
        yield Message("part of the goal"), part
    titles = {
        "freely": Message("may tell"),
        "when asked": Message("tells when asked"),
        "never": Message("never tells"),
    }
    for fact in scenario.known_facts:
        yield titles[fact.tell], f"{fact.name}: {fact.value}"
    for name in scenario.unknown:
        yield Message("does not know"), name
    if scenario.persona:
        yield Message("persona"), scenario.persona
    for path, value in scenario.expect.state:
        yield Message("expected state"), f"{path}: {value}"
    for call in scenario.expect.calls:
        yield Message("expected call"), call.name
    for text in scenario.expect.says:
        yield Message("the agent says"), text
    if detail.user:
        yield Message("simulated by"), detail.user


def chat_lines(record: JudgmentRecord, language: str) -> list[str]:
    """Return a conversation as lines, to be escaped by the template; empty if there is none."""
    detail = conversation_detail(record)
    if detail is None or detail.conversation is None:
        return []
    lines = [*detail.conversation.lines, render(_end_text(detail.conversation), language)]
    lines += [
        f"[{fault.turn}] {render(FAULT_WORDS[fault.kind], language)}: "
        f"{render(fault.reason, language)}"
        for fault in detail.user_faults
    ]
    return lines


def _end_text(conversation: Conversation) -> Message:
    end: End = conversation.ended
    if not conversation.detail:
        return END_WORDS[end]
    return Message("{end}: {detail}", end=END_WORDS[end], detail=conversation.detail)


def _short(text: str, most: int) -> str:
    """Cut a text, and say how many characters are missing."""
    return text if len(text) <= most else f"{text[:most]}… (+{len(text) - most:,})"
