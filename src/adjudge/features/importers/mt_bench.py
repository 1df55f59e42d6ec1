"""Import MT-bench: single and pairwise judgments of FastChat, and people's votes.

Texts are taken from the judges' prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.core.domain.label import Kind
from adjudge.core.reading.foreign_values import seconds_of
from adjudge.core.verdicts.styles import put_back, rating
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import (
    BETTER_ANSWER,
    pair_vote,
    shown_answers,
    shown_question,
    winner,
)
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import text
from adjudge.messages import Message

_QUALITY = RecordedQuestion(
    "quality", "How good is the answer, from 1 to 10?", "rating", bounds=(1.0, 10.0)
)


def _matches(head: Head) -> bool:
    return (
        head.has("question_id", "model", "judge", "score")
        or head.has("question_id", "model_1", "model_2", "g1_winner")
        or head.has("question_id", "model_a", "model_b", "winner", "turn")
    )


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    for record in file.records():
        if "g1_winner" in record:
            yield _pair(record)
        elif "model_a" in record:
            yield _preference(record, log)
        else:
            yield _single(record)


def _judge(record: ForeignRecord) -> tuple[str, str]:
    """Return (name, model); the name combines the model and its prompt."""
    parts = [text(part) for part in record.values("judge")] or [record.text("judge")]
    return "/".join(parts), parts[0]


def _name(record: ForeignRecord, *models: str) -> str:
    turn = record.raw.get("turn", 1)
    return ", ".join([f"question {record.value('question_id')}", *models, f"turn {turn}"])


def _question(record: ForeignRecord, prompt: str) -> str:
    return shown_question(prompt) if prompt else _name(record)


def _is_reply(text: str) -> bool:
    return bool(text) and not text.startswith("$ERROR$")


def _single(record: ForeignRecord) -> RecordedRow:
    name, model = _judge(record)
    prompt, reply = record.text("user_prompt"), record.text("judgment")
    answers, system = shown_answers(prompt), record.text("model")
    score = record.number("score")
    if reply and (score is None or score < 0):
        score = rating(reply)
    vote = RecordedVote(model=model, text=reply)
    if score is None or score < 0:
        vote = vote.with_failure(
            Message("no rating was read from the reply"), unreadable=_is_reply(reply)
        )
    else:
        vote = replace(vote, answer=score, prompt=prompt)
    answer = answers[-1] if answers else _name(record, system)
    return RecordedRow(
        judge=name,
        question=_QUALITY,
        fields={"question": _question(record, prompt), "response": answer},
        id=_name(record, system),
        named_only=not answers,
        votes=(vote,),
        more=record.rest("user_prompt", "judgment", "score", "judge"),
        at=seconds_of(record.value("tstamp")),
    )


def _pair(record: ForeignRecord) -> RecordedRow:
    name, model = _judge(record)
    systems, prompt = record.texts("model_1", "model_2"), record.text("g1_user_prompt")
    answers = shown_answers(prompt)
    responses = answers if len(answers) == 2 else tuple(_name(record, system) for system in systems)
    remaining = record.rest("judge")
    return RecordedRow(
        judge=name,
        question=BETTER_ANSWER,
        fields={"question": _question(record, prompt), "response": responses},
        id=_name(record, *systems),
        systems=systems,
        named_only=len(answers) != 2,
        votes=tuple(
            _game(record, game, model) for game in ("g1", "g2") if f"{game}_winner" in record
        ),
        more={key: value for key, value in remaining.items() if not key.startswith(("g1_", "g2_"))},
        at=seconds_of(record.value("tstamp")),
    )


def _game(record: ForeignRecord, game: str, model: str) -> RecordedVote:
    """Read game ``g1``, or ``g2`` with the responses swapped."""
    winner_name, reply = record.value(f"{game}_winner"), record.text(f"{game}_judgment")
    # The winner is a model's name, so the second game needs no turning back.
    vote = RecordedVote(model=model, swapped=game == "g2", text=reply)
    if winner_name == "error":
        replied = reply if record.value(f"{game}_judgment") else ""
        return vote.with_failure(Message("the verdict is 'error'"), unreadable=_is_reply(replied))
    return pair_vote(winner_name, vote)


def _preference(record: ForeignRecord, log: ImportLog) -> RecordedRow:
    """Read a preference in the published set: a vote if GPT's, a label if a person's."""
    system_of = dict(zip("ab", record.texts("model_a", "model_b"), strict=True))
    # The same comparison is there several times, in either order: sort the systems by name.
    sides = sorted("ab", key=lambda side: system_of[side])
    systems = tuple(system_of[side] for side in sides)
    talks = [_until_turn(record, f"conversation_{side}") for side in sides]
    texts = [_join_turns(talk, "assistant") for talk in talks]
    judge, shown_winner = record.text("judge") or "annotator", winner(record.value("winner"))
    answer = None if shown_winner is None else put_back(shown_winner, swapped=sides == ["b", "a"])
    names = (_name(record, system) for system in systems)
    response = tuple(reply or name for reply, name in zip(texts, names, strict=True))
    row = RecordedRow(
        question=BETTER_ANSWER,
        fields={"question": _join_turns(talks[0], "user") or _name(record), "response": response},
        id=_name(record, *systems),
        systems=systems,
        named_only=not all(texts),
        more=record.rest("conversation_a", "conversation_b", "winner", "judge"),
        at=seconds_of(record.value("tstamp")),
    )
    if judge.startswith("gpt"):
        unread = Message("{text!r} does not name an answer", text=record.text("winner"))
        vote = RecordedVote(model=judge).with_answer_or_failure(answer, unread, unreadable=True)
        return replace(row, judge=judge, votes=(vote,))
    if answer is None:
        log.skip(
            Message(
                "vote for {value!r}, which does not name an answer", value=record.value("winner")
            )
        )
        return row
    kind: Kind = "expert" if judge.startswith(("expert", "author")) else "human"
    return replace(row, marks=(Mark(answer=answer, annotator=judge, kind=kind, design="random"),))


def _until_turn(record: ForeignRecord, key: str) -> Sequence[ForeignRecord]:
    """Return the conversation up to the judged turn."""
    talk, turns = record.objects(key), record.number("turn")
    questions = [place for place, turn in enumerate(talk) if turn.value("role") == "user"]
    # Published votes on the first turn hold the second as well, which was not judged yet.
    return (
        talk[: questions[int(turns)]] if turns is not None and 0 < turns < len(questions) else talk
    )


def _join_turns(talk: Sequence[ForeignRecord], role: str) -> str:
    return "\n\n".join(turn.text("content") for turn in talk if turn.value("role") == role)


MT_BENCH = Format(
    "mt-bench", Message("MT-bench judgments or votes"), "lm-sys/FastChat llm_judge", _matches, _read
)
