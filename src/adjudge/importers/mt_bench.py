"""MT-bench: single and pairwise judgments of FastChat, and people's votes. Texts are taken from the
judges' prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.domain.label import Kind
from adjudge.domain.vote import Outcome
from adjudge.importers.format import Format
from adjudge.importers.pairs import pair_vote, shown_answers, shown_question, winner
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import listed, mapping, number, seconds, text, without
from adjudge.messages import Message
from adjudge.verdicts.styles import put_back, rating

_SCORE = Asked("quality", "How good is the answer, from 1 to 10?", "rating", bounds=(1.0, 10.0))
_BETTER = Asked("better answer", "Which assistant's answer is better?", "comparison")


def _matches(head: Head) -> bool:
    if head.has("question_id", "model", "judge", "score"):
        return True
    return head.has("question_id", "model_1", "model_2", "g1_winner") or head.has(
        "question_id", "model_a", "model_b", "winner", "turn"
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    for record in file.records():
        if "g1_winner" in record:
            yield _pair(record)
        elif "model_a" in record:
            yield _said_of_both(record, left)
        else:
            yield _single(record)


def _judge(record: Mapping[str, object]) -> tuple[str, str]:
    """(name, model): a judge is a pair of model and prompt."""
    parts = [text(one) for one in listed(record.get("judge"))] or [text(record.get("judge"))]
    return "/".join(parts), parts[0]


def _name(record: Mapping[str, object], *models: str) -> str:
    return ", ".join(
        [f"question {record.get('question_id')}", *models, f"turn {record.get('turn', 1)}"]
    )


def _single(record: Mapping[str, object]) -> Recorded:
    name, model = _judge(record)
    prompt, reply = text(record.get("user_prompt")), text(record.get("judgment"))
    answers, system = shown_answers(prompt), text(record.get("model"))
    score = number(record.get("score"))
    again = rating(reply) if reply and (score is None or score < 0) else score
    if again is None or again < 0:
        outcome = (
            Outcome.MODEL_ERROR if reply.startswith("$ERROR$") or not reply else Outcome.UNREADABLE
        )
        vote = RecordedVote(model=model, text=reply or None).failed(
            Message("no rating was read from the reply"), outcome
        )
    else:
        vote = RecordedVote(answer=again, model=model, text=reply or None, prompt=prompt or None)
    return Recorded(
        judge=name,
        asked=_SCORE,
        fields={
            "question": shown_question(prompt) if prompt else _name(record),
            "response": answers[-1] if answers else _name(record, system),
        },
        id=_name(record, system),
        named_only=not answers,
        votes=(vote,),
        more=without(record, "user_prompt", "judgment", "score", "judge"),
        at=seconds(record.get("tstamp")),
    )


def _pair(record: Mapping[str, object]) -> Recorded:
    name, model = _judge(record)
    systems = (text(record["model_1"]), text(record["model_2"]))
    prompt = text(record.get("g1_user_prompt"))
    answers = shown_answers(prompt)
    shown = answers if len(answers) == 2 else tuple(_name(record, one) for one in systems)
    votes = tuple(_game(record, game, model) for game in ("g1", "g2") if f"{game}_winner" in record)
    return Recorded(
        judge=name,
        asked=_BETTER,
        fields={"question": shown_question(prompt) if prompt else _name(record), "response": shown},
        id=_name(record, *systems),
        systems=systems,
        named_only=len(answers) != 2,
        votes=votes,
        more={
            key: one
            for key, one in without(record, "judge").items()
            if not key.startswith(("g1_", "g2_"))
        },
        at=seconds(record.get("tstamp")),
    )


def _game(record: Mapping[str, object], game: str, model: str) -> RecordedVote:
    """The winner is a model, so that the second game is put back already."""
    said, reply = record[f"{game}_winner"], record.get(f"{game}_judgment")
    if said == "error":
        outcome = (
            Outcome.MODEL_ERROR
            if not reply or text(reply).startswith("$ERROR$")
            else Outcome.UNREADABLE
        )
        return RecordedVote(model=model, swapped=game == "g2", text=text(reply) or None).failed(
            Message("the verdict is 'error'"), outcome
        )
    return pair_vote(said, model=model, swapped=game == "g2", reply=reply)


def _said_of_both(record: Mapping[str, object], left: Left) -> Recorded:
    """A vote of the published set.

    One comparison is there several times, in either order: systems go by their names.
    """
    sides = sorted("ab", key=lambda side: text(record[f"model_{side}"]))
    systems = tuple(text(record[f"model_{side}"]) for side in sides)
    talks = [
        _until(listed(record.get(f"conversation_{side}")), record.get("turn")) for side in sides
    ]
    texts = [_said(talk, "assistant") for talk in talks]
    judge, given = text(record.get("judge")) or "annotator", winner(record.get("winner"))
    chosen = put_back(given, swapped=sides == ["b", "a"]) if given is not None else None
    base = Recorded(
        asked=_BETTER,
        fields={
            "question": _said(talks[0], "user") or _name(record),
            "response": (
                texts[0] or _name(record, systems[0]),
                texts[1] or _name(record, systems[1]),
            ),
        },
        id=_name(record, *systems),
        systems=systems,
        named_only=not all(texts),
        more=without(record, "conversation_a", "conversation_b", "winner", "judge"),
        at=seconds(record.get("tstamp")),
    )
    if judge.startswith("gpt"):
        vote = RecordedVote(model=judge)
        unread = vote.failed(
            Message("{winner!r} names no answer", winner=text(record.get("winner"))),
            Outcome.UNREADABLE,
        )
        return replace(base, judge=judge, votes=(unread if chosen is None else vote.said(chosen),))
    if chosen is None:
        left.out(Message("vote for {winner!r}, which names no answer", winner=record.get("winner")))
        return base
    kind: Kind = "expert" if judge.startswith(("expert", "author")) else "human"
    return replace(base, marks=(Mark(answer=chosen, annotator=judge, kind=kind, design="random"),))


def _until(talk: Sequence[object], turn: object) -> Sequence[object]:
    """What had been said by a turn: the published votes of the first one hold the second, too,
    which nobody judged yet.
    """
    asked = [place for place, one in enumerate(talk) if mapping(one).get("role") == "user"]
    turns = number(turn)
    return talk[: asked[int(turns)]] if turns is not None and 0 < turns < len(asked) else talk


def _said(talk: object, role: str) -> str:
    return "\n\n".join(
        text(mapping(one).get("content"))
        for one in listed(talk)
        if mapping(one).get("role") == role
    )


MT_BENCH = Format(
    "mt-bench", Message("MT-bench judgments or votes"), "lm-sys/FastChat llm_judge", _matches, _read
)
