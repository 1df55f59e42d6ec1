"""How well sentences looked up in their sources tell grounded texts from others, beside one number,
word overlap and majority.

    python benchmarks/evidence.py --data FOLDER [--rows 40] [--model MODEL ...] [--sets qags rag25
    halueval annotated] python benchmarks/evidence.py --data FOLDER --cost

Without a model only what needs none is measured: the rules, word overlap, majority; that takes
seconds. ``--model`` asks every named one (``local/smollm2-135m`` is the embedded one) about the
first ``--rows`` rows of each set: once for groundedness as one number, and once a sentence. AUC:
how often a grounded text scores above one that is not. Balanced accuracy: the mean of both classes'
shares, with a threshold that was chosen on the other half of the rows; the rules and verdicts have
thresholds of their own (nothing marked; all supported). Intervals are of 95%, by resampling the
rows. ``--cost`` prints the calls and tokens that each way takes on the rows of the RAG set, by a
model that only counts.

What the sets are: QAGS: summaries and their articles, grounded where all annotators called every
sentence consistent. rag25: answers with fragments, grounded where labelled Correct. HaluEval:
answers without any source, so that the instruction is all there is to look in. annotated: summaries
with their texts and answers with a reference, as ragas' annotators judged them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf
from pathlib import Path

from adjudge import EvidenceJudge, RagEvaluator, ScriptedModel
from adjudge.core.domain.message import Request, Usage
from adjudge.features.evidence.flags import SURE, odds_in
from adjudge.features.evidence.fragments import fragments_in
from adjudge.features.evidence.result import EvidenceResult
from adjudge.features.evidence.sentences import sentences
from adjudge.features.evidence.words import content_words
from adjudge.features.rag import RagResult
from adjudge.stats.selective import Stage, cascade_thresholds

RESAMPLES = 400
EMBEDDED = "local/smollm2-135m"
RISKS = (0.1, 0.2, 0.3)
Row = Mapping[str, object]
Scored = Sequence[tuple[float, bool]]
"""(score, whether people call the text grounded)."""


@dataclass(frozen=True)
class Item:
    """A text, its sources and what people say of it."""

    fields: Mapping[str, str | Sequence[str]]
    grounded: bool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="the folder with the public records"
    )
    parser.add_argument(
        "--rows", type=int, default=40, help="rows of each set that models are asked about"
    )
    parser.add_argument("--model", action="append", default=[], help="ask this model; repeatable")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--cost", action="store_true", help="print calls and tokens instead")
    given = parser.parse_args()
    if given.cost:
        cost(given.data)
        return
    for name in given.sets:
        items = list(SETS[name](given.data))
        measure_without_models(name, items)
        for model in given.model:
            measure_model(name, spread(items, given.rows), model)


# --- sets
# --------------------------------------------------------------------------------------------------


def records(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def qags(data: Path) -> Iterator[Item]:
    for row in records(data / "qags_cnn.jsonl"):
        yield Item(
            {"contexts": [str(row["context"])], "response": str(row["response"])},
            float(str(row["human_consistency"])) > 0.999,
        )


def rag25(data: Path) -> Iterator[Item]:
    for row in records(data / "rag25.jsonl"):
        fields = {
            "user_input": str(row["question"]),
            "contexts": fragments_in(str(row["context"])),
            "response": str(row["response"]),
        }
        yield Item(fields, row["label"] == "Correct")


def halueval(data: Path) -> Iterator[Item]:
    for row in records(data / "halueval400.jsonl"):
        yield Item(
            {"contexts": [str(row["instruction"])], "response": str(row["response"])},
            row["label"] == "no",
        )


def annotated(data: Path) -> Iterator[Item]:
    for row in records(data / "ragas_annotated.jsonl"):
        given = row["input"]
        if not isinstance(given, Mapping) or row["metric"] not in (
            "answer_correctness",
            "summary_accuracy",
        ):
            continue
        source = given.get("reference") or given["user_input"]
        edited = row.get("edited_output")
        verdict = edited.get("verdict") if isinstance(edited, Mapping) else None
        accepted = (
            row["judge_verdict"] if row["is_accepted"] else 1 - int(str(row["judge_verdict"]))
        )
        fields = {
            "user_input": str(given["user_input"]),
            "contexts": [str(source)],
            "response": str(given["response"]),
        }
        yield Item(fields, bool(int(str(accepted if verdict is None else verdict))))


SETS: Mapping[str, Callable[[Path], Iterator[Item]]] = {
    "qags": qags,
    "rag25": rag25,
    "halueval": halueval,
    "annotated": annotated,
}


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """As many of both classes as there are, chosen once and for all."""
    return random.Random(7).sample(list(items), min(count, len(items)))


# --- what needs no model
# --------------------------------------------------------------------------------------------


def measure_without_models(name: str, items: Sequence[Item]) -> None:
    grounded = sum(item.grounded for item in items)
    print(f"\n{name}: {len(items)} texts, {grounded} grounded")
    head()
    line(
        "majority",
        [(0.0, item.grounded) for item in items],
        [item.grounded == (2 * grounded >= len(items)) for item in items],
        items,
    )
    overlaps = [
        (overlap(str(item.fields["response"]), item.fields["contexts"]), item.grounded)
        for item in items
    ]
    line("word overlap", overlaps, crossed(overlaps), items)
    worst = [(worst_sentence(item), item.grounded) for item in items]
    line("word overlap, worst sentence", worst, crossed(worst), items)
    results = EvidenceJudge(method="rules").evaluate([dict(item.fields) for item in items])
    marked = [result.count("not found") for result in results]
    shares = [
        (result.score or 0.0, item.grounded) for result, item in zip(results, items, strict=True)
    ]
    line(
        "rules",
        shares,
        [(not count) == item.grounded for count, item in zip(marked, items, strict=True)],
        items,
    )
    right = sum(
        bool(count) and not item.grounded for count, item in zip(marked, items, strict=True)
    )
    flagged, bad = sum(map(bool, marked)), len(items) - grounded
    precision, recall = right / flagged if flagged else 0.0, right / bad if bad else 0.0
    print(
        f"  rules mark {flagged} texts: precision {precision:.2f}, recall {recall:.2f} (of "
        f"{bad} that are not grounded)"
    )


def overlap(sentence: str, texts: Sequence[str]) -> float:
    """The share of the sentence's words that stand anywhere in ``texts``."""
    wanted = content_words(sentence)
    held = frozenset(word for text in texts for word in content_words(text))
    return sum(word in held for word in wanted) / len(wanted) if wanted else 0.0


def worst_sentence(item: Item) -> float:
    claims = [one.text for one in sentences(str(item.fields["response"])) if one.is_claim]
    return min((overlap(claim, item.fields["contexts"]) for claim in claims), default=1.0)


# --- models
# --------------------------------------------------------------------------------------------------


def measure_model(name: str, items: Sequence[Item], model: str) -> None:
    print(f"{name}, {model}: {len(items)} of the texts")
    head()
    rows = [{"user_input": "What does the text say?", **item.fields} for item in items]
    whole = RagEvaluator(model, dimensions=["groundedness"]).evaluate(rows)
    numbers = [
        (one_number(result), item.grounded) for result, item in zip(whole, items, strict=True)
    ]
    line("one number, expected", numbers, crossed(numbers), items)
    verdicts = [
        (result.scores["groundedness"] == 2) == item.grounded
        for result, item in zip(whole, items, strict=True)
    ]
    line(
        "one number, verdict",
        [
            (float(result.scores["groundedness"] or 0), one.grounded)
            for result, one in zip(whole, items, strict=True)
        ],
        verdicts,
        items,
    )
    looked = EvidenceJudge(model).evaluate([dict(item.fields) for item in items])
    means = [
        (mean_support(result), item.grounded) for result, item in zip(looked, items, strict=True)
    ]
    line("sentences, mean probability", means, crossed(means), items)
    lowest = [
        (least_support(result), item.grounded) for result, item in zip(looked, items, strict=True)
    ]
    line("sentences, lowest probability", lowest, crossed(lowest), items)
    shares = [
        (result.score or 0.0, item.grounded) for result, item in zip(looked, items, strict=True)
    ]
    line(
        "sentences, share supported",
        shares,
        [(result.scale == 2) == one.grounded for result, one in zip(looked, items, strict=True)],
        items,
    )
    if model == EMBEDDED:
        measure_flags(
            items, [first_step(one, item) for one, item in zip(whole, items, strict=True)]
        )
    calls = (
        sum(result.usage.calls for result in looked),
        sum(result.usage.calls for result in whole),
    )
    invented = sum(sum(one.invented.values()) for one in looked)
    print(
        f"  calls: {calls[0]} by sentence, {calls[1]} for one number; invented quotes: {invented}"
    )


def measure_flags(items: Sequence[Item], one: Sequence[tuple[float, bool]]) -> None:
    """Flags by the mean and by the worst of an answer's sentences; and what a dearer judge need not
    see behind them, or behind ``one`` number.
    """
    looked = EvidenceJudge(EMBEDDED, method="flags").evaluate([dict(item.fields) for item in items])
    said = [sentence_odds(result) for result in looked]
    truths = [item.grounded for item in items]
    means = list(zip([sum(odds) / len(odds) for odds in said], truths, strict=True))
    line("flags, mean log-odds", means, crossed(means), items)
    worst = list(zip(map(min, said), truths, strict=True))
    line("flags, worst sentence", worst, crossed(worst), items)
    sure = [truth for odds, truth in worst if odds < SURE]
    print(f"  surely unsupported: {len(sure)} of {len(items)}, wrongly {sum(sure)}")
    steps = {
        "flags": [(1 / (1 + exp(-abs(odds))), (odds >= 0) == truth) for odds, truth in worst],
        "one number": one,
    }
    for name, rows in steps.items():
        print_first_step(name, rows)


def first_step(result: RagResult, item: Item) -> tuple[float, bool]:
    """How sure the one number is, as a cascade has it, and whether it is right."""
    (vote,) = result.votes
    return max((vote.distribution or {"": 0.0}).values()), (
        (result.scores["groundedness"] == 2) == item.grounded
    )


def sentence_odds(result: EvidenceResult) -> list[float]:
    """Of every sentence in the stretch that fits it best; none is no reason for doubt."""
    found: dict[str, float] = {}
    for vote in result.votes:
        sentence = str(vote.ballot.instance.fields["sentence"])
        found[sentence] = max(found.get(sentence, -inf), odds_in(vote))
    return list(found.values()) or [0.0]


def print_first_step(name: str, rows: Sequence[tuple[float, bool]]) -> None:
    """What is accepted of each half, by a threshold that the labels of the other half allow."""
    for risk in RISKS:
        accepted = []
        for half in (0, 1):
            known, others = rows[half::2], rows[1 - half :: 2]
            stage = Stage([sure for sure, _ in known], [right for _, right in known])
            (threshold,) = cascade_thresholds([stage], risk=risk, doubt=0.1)
            accepted += [right for sure, right in others if threshold.accepts(sure)]
        wrong = len(accepted) - sum(accepted)
        print(
            f"  {name} as a first step, risk {risk}: {len(accepted)} of {len(rows)} need no "
            f"second judge, {wrong} of them wrong"
        )


def one_number(result: RagResult) -> float:
    shares = [vote.distribution for vote in result.votes if vote.distribution]
    if not shares:
        return float(result.scores["groundedness"] or 0)
    return sum(int(option) * share for option, share in shares[0].items())


def supports(result: EvidenceResult) -> list[float]:
    """The probability that each claim is supported; where a model writes, 1 or 0."""
    return [
        vote.distribution["supported"]
        if vote.distribution
        else float(bool(vote.verdict and vote.verdict.option == "supported"))
        for vote in result.votes
    ]


def mean_support(result: EvidenceResult) -> float:
    found = supports(result)
    return sum(found) / len(found) if found else 1.0


def least_support(result: EvidenceResult) -> float:
    return min(supports(result), default=1.0)


# --- figures
# --------------------------------------------------------------------------------------------------


def head() -> None:
    print(f"  {'':32} {'AUC':>18} {'balanced accuracy':>20}")


def line(name: str, scored: Scored, right: Sequence[bool], items: Sequence[Item]) -> None:
    truths = [item.grounded for item in items]
    area = with_interval(list(scored), auc)
    accuracy = with_interval(list(zip(right, truths, strict=True)), balanced)
    print(f"  {name:32} {area:>18} {accuracy:>20}")


def auc(scored: Sequence[tuple[float, bool]]) -> float | None:
    """How often a grounded text scores higher; ties count half."""
    good = [score for score, truth in scored if truth]
    bad = [score for score, truth in scored if not truth]
    if not good or not bad:
        return None
    ranks = sorted(scored)
    below = won = 0.0
    place = 0
    while place < len(ranks):
        end = place
        while end < len(ranks) and ranks[end][0] == ranks[place][0]:
            end += 1
        positives = sum(truth for _, truth in ranks[place:end])
        negatives = end - place - positives
        won += positives * (below + negatives / 2)
        below += negatives
        place = end
    return won / (len(good) * len(bad))


def balanced(right: Sequence[tuple[float, bool]]) -> float | None:
    good = [one for one, truth in right if truth]
    bad = [one for one, truth in right if not truth]
    return (sum(good) / len(good) + sum(bad) / len(bad)) / 2 if good and bad else None


def crossed(scored: Scored) -> list[bool]:
    """Whether each text is told right by the threshold that suits the other half best."""
    halves = [[one for place, one in enumerate(scored) if place % 2 == half] for half in (0, 1)]
    thresholds = [best_threshold(half) for half in halves]
    return [
        (score >= thresholds[1 - place % 2]) == truth for place, (score, truth) in enumerate(scored)
    ]


def best_threshold(scored: Scored) -> float:
    candidates = sorted({score for score, _ in scored})
    return max(
        candidates,
        key=lambda cut: (
            balanced([((score >= cut) == truth, truth) for score, truth in scored]) or 0.0
        ),
    )


def with_interval(
    rows: Sequence[tuple[float, bool]],
    figure: Callable[[Sequence[tuple[float, bool]]], float | None],
) -> str:
    value = figure(rows)
    if value is None:
        return "–"
    choice = random.Random(11)
    drawn = [figure(choice.choices(rows, k=len(rows))) for _ in range(RESAMPLES)]
    found = sorted(one for one in drawn if one is not None)
    low, high = found[int(0.025 * len(found))], found[int(0.975 * len(found)) - 1]
    return f"{value:.2f} ({low:.2f}–{high:.2f})"


# --- cost
# --------------------------------------------------------------------------------------------------


def cost(data: Path) -> None:
    """Calls and tokens of each way, by a model that finds nothing and counts four characters a
    token.
    """
    rows = [dict(item.fields) for item in rag25(data)]
    claims = sum(one.is_claim for row in rows for one in sentences(str(row["response"])))
    print(
        f"{len(rows)} answers with {claims} claims and "
        f"{sum(len(row['contexts']) for row in rows)} fragments"
    )
    one = RagEvaluator(counting(), dimensions=["groundedness"]).evaluate([{**row} for row in rows])
    print_cost(
        "groundedness as one number",
        [result.usage.calls for result in one],
        [tokens(result.usage) for result in one],
    )
    for method in ("each", "joint"):
        found = EvidenceJudge(counting(), method=method).evaluate(rows)
        print_cost(
            f"evidence, {method}",
            [result.usage.calls for result in found],
            [tokens(result.usage) for result in found],
        )


def tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def print_cost(name: str, calls: Sequence[int], used: Sequence[int]) -> None:
    print(f"  {name:28} {sum(calls):5} calls  {sum(used):8} tokens")


def counting() -> ScriptedModel:
    def script(request: Request) -> str:
        user = request.prompt.messages[1].content
        if 'field="sentences ' in user:
            listed = user.count('field="sentences ')
            said = [
                {"number": number, "evidence": [], "selected_option": "not found"}
                for number in range(1, listed + 1)
            ]
            return json.dumps({"sentences": said})
        option = "not found" if 'field="sentence"' in user else "1"
        return json.dumps(
            {
                "explanation": "It was looked for and it does not stand there.",
                "evidence": [],
                "selected_option": option,
            }
        )

    return ScriptedModel(script)


if __name__ == "__main__":
    main()
