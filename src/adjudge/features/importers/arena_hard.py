"""Import Arena-Hard: ``model_judgment/JUDGE/MODEL.jsonl``, two games per question; the second shows
the model first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.core.reading.foreign_values import seconds_of
from adjudge.core.verdicts.styles import margin, put_back
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import (
    BETTER_ANSWER,
    NO_REPLY_VERDICT,
    shown_answers,
    shown_question,
)
from adjudge.features.importers.record import ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.features.importers.values import text
from adjudge.messages import Message


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"games": "votes", "baseline": "response", "model": "response"})
    for record in file.records():
        games, judge = record.objects("games"), record.text("judge")
        systems = (record.text("baseline") or "baseline", record.text("model"))
        id = record.text("uid", "question_id")
        prompt = _prompt(games[0]) if games else ""
        answers = shown_answers(prompt)
        responses = answers if len(answers) == 2 else tuple(f"{id}, {system}" for system in systems)
        yield RecordedRow(
            judge=judge,
            question=BETTER_ANSWER,
            fields={"question": shown_question(prompt) if prompt else id, "response": responses},
            id=f"{id}, {systems[1]}",
            systems=systems,
            named_only=len(answers) != 2,
            votes=tuple(_vote(game, place, judge) for place, game in enumerate(games)),
            more=record.rest("games", "judge"),
            at=seconds_of(record.value("tstamp")),
        )


def _vote(game: ForeignRecord, place: int, judge: str) -> RecordedVote:
    """Read a game's verdict from its recorded score, else from the judge's reply."""
    score, reply = game.value("score"), game.value("judgment")
    reply = game.nested("judgment").text("answer") if isinstance(reply, Mapping) else text(reply)
    vote = RecordedVote(model=judge, swapped=place == 1, text=reply)
    verdict = margin(f"[[{score}]]") if score else margin(reply, one_only=True) if reply else None
    if verdict is None:
        return vote.with_failure(NO_REPLY_VERDICT, unreadable=bool(reply))
    # The score is by the labels as shown: the second game's is turned round.
    answer = put_back(verdict.winner, swapped=vote.swapped)
    return replace(vote.with_answer(answer), more={"margin": text(score), "weight": verdict.weight})


def _prompt(game: ForeignRecord) -> str:
    messages = game.objects("prompt")
    return messages[-1].text("content") if messages else game.text("user_prompt")


ARENA_HARD = Format(
    "arena-hard",
    Message("Arena-Hard judgments"),
    "lmarena/arena-hard-auto v2",
    lambda head: head.has("games") and head.record.has_any("uid", "question_id"),
    _read,
)
