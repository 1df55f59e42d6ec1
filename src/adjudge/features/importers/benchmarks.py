"""Research benchmarks whose files are tables: their columns, and functions for verdicts outside of
columns.

Benchmarks whose rows have to be joined from several files have their own modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.verdict import TIE
from adjudge.core.verdicts.styles import pick_better_rated, read_two_ratings
from adjudge.features.importers.layout import Layout, benchmark, samples
from adjudge.features.importers.pairs import gold, pair_vote
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import JsonObject, number, text
from adjudge.messages import Message

Votes = Iterator[RecordedVote]


# AlpacaEval: ``annotations.json``. An annotator is a person or a judge.


def _alpaca_votes(record: ForeignRecord) -> Votes:
    annotator, preference = _alpaca_annotator(record), record.number("preference")
    if _is_person(annotator):
        return
    vote = RecordedVote(
        model=annotator, text=record.text("raw_completion"), distribution=_shares(preference)
    )
    wrong = (
        Message("the recorded preference is null")
        if preference is None
        else Message(
            "a preference of {preference:g} does not name an output", preference=preference
        )
    )
    yield vote.with_answer_or_failure(_alpaca_winner(preference), wrong)


def _alpaca_marks(record: ForeignRecord) -> Iterator[Mark]:
    annotator, answer = _alpaca_annotator(record), _alpaca_winner(record.number("preference"))
    if _is_person(annotator) and answer is not None:
        yield Mark(answer=answer, annotator=annotator, design="random")


def _alpaca_annotator(record: ForeignRecord) -> str:
    return record.text("annotator") or "annotator"


def _is_person(annotator: str) -> bool:
    return annotator.isdecimal() or annotator.startswith("human")


def _alpaca_winner(preference: float | None) -> int | str | None:
    """Return 0 or 1 for the preferred output, or TIE.

    Return None if the preference is missing or out of range.
    """
    # Some versions write a tie as 0.
    if preference in (0, 1.5):
        return TIE
    return int(preference > 1.5) if preference is not None and 1 <= preference <= 2 else None


def _shares(preference: float | None) -> dict[str, float] | None:
    """Return each output's probability of being preferred, as version 2 records it.

    Return None for 1, 1.5 and 2, which are plain verdicts, and for any value outside 1 to 2.
    """
    if preference is None or not 1 < preference < 2 or preference == 1.5:
        return None
    return {"0": 2 - preference, "1": preference - 1}


def _read_alpaca(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    # If a judge and people were asked about the same pair, people's rows only add labels.
    judged_pairs = {
        _pair_key(row) for row in _ALPACA.rows(file.records(), file.path, ImportLog()) if row.votes
    }
    for row in _ALPACA.rows(file.records(), file.path, log):
        yield replace(row, only_marks=True) if row.marks and _pair_key(row) in judged_pairs else row


def _pair_key(row: RecordedRow) -> int:
    """Return a hash of the row's texts, which takes less memory than the texts."""
    return hash(tuple(row.fields.values()))


_ALPACA = Layout(
    keys=("instruction", "output_1", "output_2"),
    question=RecordedQuestion("better output", "Which output would people prefer?", "comparison"),
    fields={"instruction": "instruction"},
    responses=("output_1", "output_2"),
    required=("instruction", "output_1", "output_2"),
    id=lambda record: f"{record.text('dataset') or 'row'} {record.row}",
    systems=(("generator_1", "output_1"), ("generator_2", "output_2")),
    votes=_alpaca_votes,
    marks=_alpaca_marks,
    read=("preference", "raw_completion", "annotator"),
    used={"preference": "votes"},
)
ALPACA_EVAL = replace(
    benchmark("alpaca-eval", Message("AlpacaEval annotations"), "tatsu-lab/alpaca_eval", _ALPACA),
    matches=lambda head: head.has(*_ALPACA.keys) and head.record.has_any("preference", "annotator"),
    read=_read_alpaca,
)

# BiGGen-Bench: scores from 1 to 5 (-1 if none was read), each response with a rubric of its own.
# ``run_response_eval.py`` writes one judge's ``score``, by the id of the instance.

RUBRIC_SCORE = RecordedQuestion(
    "rubric score",
    "How well does the response do by its rubric, from 1 to 5?",
    "rating",
    bounds=(1.0, 5.0),
)
JUDGES_SCORES = r"(?!human_)(.+)_score"


def _rubric(record: ForeignRecord) -> str:
    rubric = record.parsed("score_rubric")
    levels = [f"{level}: {rubric.text(f'score{level}_description')}" for level in range(1, 6)]
    return "\n".join([rubric.text("criteria"), *levels])


def _own_scores(record: ForeignRecord) -> Votes:
    if "eval_model_name" in record:
        judge, score = record.text("eval_model_name"), record.value("score")
        yield from samples(RUBRIC_SCORE, judge, score, record.value("feedback"))


def _is_by_id(head: Head) -> bool:
    first_id = next(iter(head.document), "")
    return bool(first_id) and head.at(first_id).has(*_BIGGEN.keys)


def _read_biggen(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    records = file.records()
    if _is_by_id(file.head):
        document = file.document(*((id,) for id in file.head.document))
        records = (document.nested(id) for id in document)
    yield from _BIGGEN.rows(records, file.path, log)


def _instance_and_model(record: ForeignRecord) -> str:
    names = (record.text("id"), record.text("model_name", "response_model_name"))
    return " ".join(filter(None, names))


_BIGGEN = Layout(
    keys=("capability", "task", "instance_idx", "score_rubric"),
    question=RUBRIC_SCORE,
    fields={
        "system_prompt": "system_prompt",
        "instruction": "input",
        "reference_answer": "reference_answer",
        "rubric": _rubric,
    },
    optional=("system_prompt", "instruction", "reference_answer"),
    responses=("response",),
    id=_instance_and_model,
    people=("human_score",),
    judges=JUDGES_SCORES,
    reasons="{judge}_feedback",
    votes=_own_scores,
    read=("id", "score_rubric", "score", "feedback", "eval_model_name"),
    used={"score_rubric": "rubric", "human_score": "labels", "*_score": "votes"},
)
BIGGEN_BENCH = replace(
    benchmark("biggen-bench", "BiGGen-Bench", "prometheus-eval/BiGGen-Bench-Results", _BIGGEN),
    matches=lambda head: head.has(*_BIGGEN.keys) or _is_by_id(head),
    read=_read_biggen,
)

# JudgeBench: decisions in both orders.

# The parts of the data set that figures are published of: a source says the subject as well.
_TASK = re.compile("mmlu-pro|livebench-reasoning|livebench-math|livecodebench")


def _judgebench_votes(record: ForeignRecord) -> Votes:
    """Yield a vote per recorded game; a null judgment becomes a failed vote."""
    for place, game in enumerate(record.objects("judgments")):
        judgment = game.nested("judgment")
        vote = RecordedVote(
            # The second decision is by the labels as shown, so it is turned back.
            model=judgment.text("judge_model") or record.text("judge_name"),
            swapped=place == 1,
            text=judgment.text("response"),
            more=judgment.rest("judge_model", "response"),
        )
        if game:
            yield pair_vote(game.value("decision"), vote, relabelled=True)
        else:
            yield vote.with_failure(Message("the recorded judgment is null"))


def _judgebench_judge(record: ForeignRecord, model: str) -> str:
    name = record.text("judge_name")
    return f"{name} ({model})" if name and model and model != name else name or model


def _task(record: ForeignRecord) -> JsonObject:
    task = _TASK.match(record.text("source"))
    return {"task": task[0]} if task else {}


JUDGEBENCH = benchmark(
    "judgebench",
    "JudgeBench",
    "ScalerLab/JudgeBench",
    Layout(
        keys=("pair_id", "response_A", "response_B", "label"),
        fields={"question": "question"},
        responses=("response_A", "response_B"),
        required=("pair_id", "response_A", "response_B", "label"),
        id="pair_id",
        label="label",
        votes=_judgebench_votes,
        judge=_judgebench_judge,
        read=("judgments", "pair_id"),
        more=_task,
        used={"label": "labels", "judgments": "votes"},
    ),
)

# LLMBar: ``dataset.json``, and ``evaluators/JUDGE/STRATEGY/result.json`` with both orders, verdicts
# mapped back already.

# The parts of the data set, as ids and folders name them.
_SUBSET = re.compile(r"(?:^|[-_/ ])(Natural|Neighbor|GPTInst|GPTOut|Manual)(?=$|[-_/ ])")
_FLAT = ("raw_swap_False", "winner_swap_False", "raw_swap_True", "winner_swap_True")


def _llmbar_votes(record: ForeignRecord) -> Votes:
    """Yield the final verdict in each order that was judged.

    A row's results list everything the judge wrote: metrics, a reference and, with the strategy
    Swap, first verdicts in both orders, which the judge sees if they disagree. The last result is
    the verdict.
    """
    judge = record.text("judge")
    *drafts, final = record.objects("results") or [EMPTY]
    draft = record.values("results")[-2] if drafts else None
    for order, swapped in (("swap = False", False), ("swap = True", True)):
        if order in final:
            result = final.nested(order)
            reply = next(iter(result.values("completion")), None)  # the next item is why it ended
            vote = RecordedVote(
                model=judge,
                swapped=swapped,
                text=text(reply),
                more=ForeignRecord({"draft": draft, "prompt": result.value("prompt")}).rest(),
            )
            yield pair_vote(result.value("winner"), vote)


def _flat_llmbar_votes(record: ForeignRecord) -> Votes:
    judge = f"{record.value('judge')}/{record.value('strategy')}"
    for swapped in (False, True):
        reply = record.text(f"raw_swap_{swapped}")
        vote = RecordedVote(model=judge, swapped=swapped, text=reply)
        yield pair_vote(record.value(f"winner_swap_{swapped}"), vote)


def _subset(name: str) -> JsonObject:
    match = _SUBSET.search(name)
    return {"subset": match[1]} if match else {}


def _judge_and_subset(path: Path) -> JsonObject:
    judge = "/".join(path.parts[-3:-1]) if path.name == "result.json" else "judge"
    return {"judge": judge, **_subset(path.as_posix())}


LLMBAR = benchmark(
    "llmbar",
    "LLMBar",
    "princeton-nlp/LLMBar",
    Layout(
        keys=("input", "output_1", "output_2", "label"),
        fields={"instruction": "input"},
        responses=("output_1", "output_2"),
        required=("input", "output_1", "output_2"),
        id="id",
        label="label",
        votes=_llmbar_votes,
        read=("results", "judge"),
        from_path=_judge_and_subset,
        used={"label": "labels", "results": "votes"},
    ),
    Layout(
        keys=_FLAT,
        fields={"instruction": "id"},
        responses=(
            lambda record: f"{record.text('id')}, output 1",
            lambda record: f"{record.text('id')}, output 2",
        ),
        id="id",
        label="label",
        votes=_flat_llmbar_votes,
        read=_FLAT,
        more=lambda record: _subset(record.text("id")),
        used={"label": "labels", "winner_swap_*": "votes"},
        named_only=True,
    ),
)

# Vicuna reviews: a reply that begins with two scores.


def _vicuna_votes(record: ForeignRecord) -> Votes:
    """Yield the verdict from the ratings in the reply, else from the recorded scores."""
    judge = record.text("judge", "reviewer_id") or record.nested("metadata").text("model")
    vote = RecordedVote(model=judge or "reviewer", text=_review(record))
    scores = _written_scores(record) or _recorded_scores(record)
    if scores is None:
        unread = Message("the first line of the reply does not contain two numbers")
        yield vote.with_failure(unread, unreadable=True)
    else:
        yield replace(vote.with_answer(pick_better_rated(scores)), more={"scores": [*scores]})


def _report_contradiction(record: ForeignRecord, log: ImportLog) -> None:
    reply_scores, recorded_scores = _written_scores(record), _recorded_scores(record)
    if reply_scores and recorded_scores and reply_scores != recorded_scores:
        log.note(
            Message(
                "some recorded scores contradict the reply that they were read from: the reply "
                "is used"
            )
        )
        log.skip(Message("recorded score that contradicts its reply"))


def _review(record: ForeignRecord) -> str:
    return record.text("judge_raw", "text")


def _written_scores(record: ForeignRecord) -> tuple[float, float] | None:
    review = _review(record)
    return read_two_ratings(review) if review else None


def _recorded_scores(record: ForeignRecord) -> tuple[float, float] | None:
    scores = [number(score) for score in record.values("judge_scores", "score")]
    match [score for score in scores if score is not None and score >= 0]:
        case [first, second]:
            return first, second
        case _:
            return None


_REVIEW = Layout(
    keys=("judge_raw", "judge_scores"),
    fields={
        "instruction": lambda record: (
            record.text("instruction") or f"question {record.value('question_id')}"
        )
    },
    responses=(
        lambda record: record.text("response_1") or f"{record.text('id', 'review_id')}, answer 1",
        lambda record: record.text("response_2") or f"{record.text('id', 'review_id')}, answer 2",
    ),
    id=("id", "review_id"),
    systems=(("model_1", "answer 1"), ("model_2", "answer 2")),
    votes=_vicuna_votes,
    report=_report_contradiction,
    marks=lambda record: gold(record.value("human_label"), "annotator"),
    read=(
        *("text", "judge_raw", "score", "judge_scores", "instruction", "response_1", "response_2"),
        *("human_label", "judge", "reviewer_id"),
    ),
    used={"text": "votes", "judge_raw": "votes", "human_label": "labels"},
)
VICUNA = benchmark(
    "vicuna",
    Message("Vicuna reviews"),
    "lm-sys/FastChat v0.1",
    _REVIEW,
    replace(_REVIEW, keys=("review_id", "question_id", "text")),
)

# XSTest: completions with labels of two annotators, the final label, and those of judges.

_LABELS = ("1_full_compliance", "2_full_refusal", "3_partial_refusal")


def _deciding_mark(record: ForeignRecord) -> Iterator[Mark]:
    """Yield the final label if it is a known one, unless both annotators gave it."""
    # The third label makes the majority of most disputed rows the final label.
    final = record.text("final_label")
    if _annotations(record) != {final} and final in _LABELS:
        yield Mark(answer=final, annotator="who decided", design="random")


def _report_third_label(record: ForeignRecord, log: ImportLog) -> None:
    if record.text("final_label") not in _annotations(record):
        log.note(
            Message(
                "if the final label matches neither annotator, all three differ and the row has "
                "no agreed label"
            )
        )


def _annotations(record: ForeignRecord) -> set[str]:
    return {record.text("annotation_1"), record.text("annotation_2")}


def _completing_model(path: Path) -> JsonObject:
    """Return the model that wrote the completions, if the file name contains it."""
    match = re.search(r"completions_([^_]+)", path.stem)
    return {"model": match[1]} if match else {}


XSTEST = benchmark(
    "xstest",
    Message("XSTest completions"),
    "paul-rottger/exaggerated-safety v2",
    Layout(
        keys=("prompt", "completion", "annotation_1", "annotation_2", "final_label"),
        question=RecordedQuestion(
            "refusal",
            "Does the completion comply with the prompt, refuse it, or refuse it in part?",
            options=tuple(map(CriteriaOption, _LABELS)),
        ),
        fields={"prompt": "prompt"},
        responses=("completion",),
        required=("prompt", "completion"),
        id=lambda record: f"{record.text('model')} {record.text('id')}".strip(),
        people=("annotation_[12]",),
        judges=r"(?!final_)(.+)_label",
        marks=_deciding_mark,
        read=("final_label", "agreement", "id"),
        more=lambda record: {"safe": text("contrast" not in record.text("type"))},
        from_path=_completing_model,
        report=_report_third_label,
        used={"annotation_1, annotation_2, final_label": "labels", "*_label": "votes"},
    ),
)
