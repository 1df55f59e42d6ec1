"""Arena-Hard: ``model_judgment/JUDGE/MODEL.jsonl``, two games a question; the second shows the
model first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.vote import Outcome
from adjudge.importers.format import Format
from adjudge.importers.pairs import shown_answers, shown_question
from adjudge.importers.record import Asked, Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, listed, mapping, seconds, text, without
from adjudge.messages import Message
from adjudge.verdicts.styles import margin, put_back

_ASKED = Asked("better answer", "Which assistant's answer is better?", "comparison")


def _matches(head: Head) -> bool:
    return "games" in head.record and ("uid" in head.record or "question_id" in head.record)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"games": "votes", "baseline": "response", "model": "response"})
    for record in file.records():
        games = [mapping(one) for one in listed(record.get("games"))]
        judge = text(record.get("judge"))
        systems = (text(record.get("baseline")) or "baseline", text(record.get("model")))
        id = text(first(record, "uid", "question_id"))
        prompt = _prompt(games[0]) if games else ""
        answers = shown_answers(prompt)
        shown = answers if len(answers) == 2 else tuple(f"{id}, {one}" for one in systems)
        yield Recorded(
            judge=judge,
            asked=_ASKED,
            fields={"question": shown_question(prompt) if prompt else id, "response": shown},
            id=f"{id}, {systems[1]}",
            systems=systems,
            named_only=len(answers) != 2,
            votes=tuple(_vote(game, place, judge) for place, game in enumerate(games)),
            more=without(record, "games", "judge"),
            at=seconds(record.get("tstamp")),
        )


def _vote(game: Mapping[str, object], place: int, judge: str) -> RecordedVote:
    """Its score is by the labels that were shown: the second game's is turned round."""
    reply, swapped = _reply(game), place == 1
    said = game.get("score")
    vote = RecordedVote(model=judge, swapped=swapped, text=reply or None)
    found = margin(f"[[{said}]]") if said else margin(reply, one_only=True) if reply else None
    if found is None:
        outcome = Outcome.UNREADABLE if reply else Outcome.MODEL_ERROR
        return vote.failed(Message("no verdict was read from the reply"), outcome)
    answer = put_back(found.winner, swapped=swapped)
    return replace(vote.said(answer), more={"margin": text(said), "weight": found.weight})


def _reply(game: Mapping[str, object]) -> str:
    said = game.get("judgment")
    return text(mapping(said).get("answer")) if isinstance(said, Mapping) else text(said)


def _prompt(game: Mapping[str, object]) -> str:
    messages = [mapping(one) for one in listed(game.get("prompt"))]
    return text(messages[-1].get("content")) if messages else text(game.get("user_prompt"))


ARENA_HARD = Format(
    "arena-hard", Message("Arena-Hard judgments"), "lmarena/arena-hard-auto v2", _matches, _read
)
