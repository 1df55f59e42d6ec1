"""Cassettes: one file per conversation, to be judged again without a model, with golden
verdicts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.reading.typed_json import WrongType, read_as
from adjudge.core.reading.values import text_in
from adjudge.errors import RunError
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.outcome import outcome_of
from adjudge.features.conversations.record import ConversationDetail, outcome_detail
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.messages import Message
from adjudge.runs.folder import records_of

ENDING = ".conversation.jsonl"
_VERSION = 1
_LONGEST_NAME = 120
"""Bytes of a file's name without its ending."""


class Golden(NamedTuple):
    """A conversation's verdicts at the time its cassette was recorded."""

    outcome: str | None
    fault: str
    by_model: bool = False
    """True if a model decided a part, which rules cannot repeat."""


def holds_cassettes(path: Path) -> bool:
    """Return True for a cassette, or a folder that holds one."""
    if path.is_dir():
        return any(path.glob(f"*{ENDING}"))
    return path.name.endswith(ENDING)


def write_cassettes(run: Path, folder: Path) -> int:
    """Write each conversation in a run to its own file; return their number."""
    # no secrets get into the files: headers and keys are in no message
    folder.mkdir(parents=True, exist_ok=True)
    names = _file_names(str(record.id) for record in records_of(run) if outcome_detail(record))
    count = 0
    for record in records_of(run):
        detail = outcome_detail(record)
        if detail is None or detail.conversation is None or detail.scenario is None:
            continue
        trial = record.input.get("trial")
        path = folder / f"{names[str(record.id)]}{ENDING}"
        lines = _lines(detail, trial if isinstance(trial, int) else 1, record.answered_by)
        text = "".join(
            f"{json.dumps(line, ensure_ascii=False, sort_keys=True)}\n" for line in lines
        )
        with written_whole(path) as file:
            file.write(text.encode())
        count += 1
    return count


def _file_names(ids: Iterable[str]) -> Mapping[str, str]:
    """Return a file name for each id. Names that would be equal or too long end in a hash."""
    names = {id: re.sub(r"[^\w.-]+", "_", id) for id in ids}
    # some file systems do not tell upper and lower case apart
    counts = Counter(name.casefold() for name in names.values())
    for id, name in names.items():
        short = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
        if short != name or counts[name.casefold()] > 1:
            names[id] = f"{short}-{sha256(id.encode()).hexdigest()[:8]}"
    return names


def _lines(detail: ConversationDetail, trial: int, system: str) -> Iterator[JsonDict]:
    conversation = detail.conversation
    if conversation is None or detail.scenario is None:
        return
    golden: JsonDict = {"outcome": detail.option, "fault": detail.fault}
    if _needs_model(detail, conversation):
        golden["by_model"] = True
    recorded = detail.recorded_outcome
    yield {
        "version": _VERSION,
        "scenario": detail.scenario,
        "trial": trial,
        "system": system,
        "user": conversation.user,
        "ended": conversation.ended,
        "detail": str(conversation.detail),
        **({"parting": True} if conversation.parting else {}),
        **({} if recorded is None else {"recorded_outcome": recorded}),
        "golden": golden,
    }
    for turn in conversation.turns:
        yield _turn(turn)


def _needs_model(detail: ConversationDetail, conversation: Conversation) -> bool:
    """Return True if a model decided the outcome, or said how the user behaved."""
    if detail.behaved is not None:
        return True
    if detail.option is None or detail.recorded_outcome is not None or detail.scenario is None:
        return False
    return outcome_of(Scenario.of(detail.scenario), conversation).passed is None


def _turn(turn: Turn) -> JsonDict:
    """Return a message without the values that vary between runs: times, tokens and costs."""
    message: JsonDict = {"number": turn.number, "speaker": turn.speaker, "text": turn.text}
    if turn.calls:
        message["calls"] = [
            {
                "name": call.name,
                "arguments": call.arguments,
                **({"result": call.result} if call.result is not None else {}),
                **({"error": call.error} if call.error is not None else {}),
            }
            for call in turn.calls
        ]
    if turn.state is not None:
        message["state"] = turn.state
    return message


def read_cassettes(path: Path) -> Iterator[StoredConversation]:
    """Yield the conversation in a cassette, or in each cassette of a folder."""
    for file in cassette_files(path):
        stored, _ = read_cassette(file)
        yield stored


def cassette_files(path: Path) -> list[Path]:
    """Return a folder's cassettes sorted by name, or the file itself."""
    return sorted(path.glob(f"*{ENDING}")) if path.is_dir() else [path]


def read_cassette(path: Path) -> tuple[StoredConversation, Golden]:
    """Read a cassette with its golden verdicts; raise a RunError if it is malformed."""
    lines = [line for line in text_in(path).splitlines() if line.strip()]
    rows: list[JsonObject] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RunError(
                "{path}, line {line}: is not JSON: {error}", path=path, line=number, error=error
            ) from error
        if not isinstance(row, Mapping):
            raise RunError("{path}, line {line}: is not an object", path=path, line=number)
        rows.append(row)
    if not rows or rows[0].get("version") != _VERSION:
        raise RunError(
            "{path} is not a cassette of version {version}: record it again with 'adjudge "
            "conversations record RUN --to FOLDER'",
            path=path,
            version=_VERSION,
        )
    head, *messages = rows
    about: JsonObject = {
        "turns": messages,
        "ended": head.get("ended"),
        "detail": head.get("detail", ""),
        "user": head.get("user", ""),
        "parting": head.get("parting", False),
    }
    try:
        conversation = read_as(Conversation, about)
    except WrongType as error:
        raise RunError("{path}: {error}", path=path, error=error) from error
    for place, turn in enumerate(conversation.turns, 1):
        # a missing line would shift all later turns
        if turn.number != place:
            raise RunError(
                "{path}, line {line}: message {number} is missing",
                path=path,
                line=place + 1,
                number=place,
            )
    golden, recorded = object_in(head.get("golden")), head.get("recorded_outcome")
    trial = head.get("trial")
    stored = StoredConversation(
        Scenario.of(object_in(head.get("scenario")), str(path)),
        conversation,
        trial if isinstance(trial, int) else 1,
        str(head.get("system") or ""),
        recorded if isinstance(recorded, bool) else None,
    )
    outcome = golden.get("outcome")
    return stored, Golden(
        None if outcome is None else str(outcome),
        str(golden.get("fault")),
        golden.get("by_model") is True,
    )


def first_difference(old: Conversation, new: Conversation) -> Message | None:
    """Describe the first message in which two conversations differ; return None if they are
    equal.
    """
    for old_turn, new_turn in zip(old.turns, new.turns, strict=False):
        if (old_turn.speaker, old_turn.text, old_turn.calls) != (
            new_turn.speaker,
            new_turn.text,
            new_turn.calls,
        ):
            return Message(
                "message {number} changed from {first!r} to {second!r}",
                number=old_turn.number,
                first=old_turn.text,
                second=new_turn.text,
            )
    if len(old.turns) != len(new.turns):
        return Message(
            "there are {second} messages instead of {first}",
            first=len(old.turns),
            second=len(new.turns),
        )
    if old.ended != new.ended:
        return Message(
            "the conversation ended differently: {second}, not {first}",
            first=old.ended,
            second=new.ended,
        )
    return None
