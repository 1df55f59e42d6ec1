"""How well the embedded model judges, raw and trained, beside trivial baselines, on public
human-labelled records.

    python benchmarks/embedded.py --data FOLDER [--limit 60] [--kinds 6] [--models
    local/smollm2-135m-raw local/smollm2-135m] [--form text_first]

Each set is asked by likelihood. "raw" is the model's own preference, "calibrated" the verdict that
judges give (the prior of neutral texts taken out as far as the model's calibration says); "skew" is
how far the share of the first label is from its share among the truths; "sure" is the share of
verdicts that are not marked low-confidence, and how many of those are right. Pairs are asked in
both orders and averaged; "both orders" is the share of pairs judged alike whichever comes first.
``--kinds N`` adds N texts for each of the kinds of criteria that the adapter was not trained on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adjudge import Criteria, CriteriaOption, Instance, open_model
from adjudge.core.aio import event_loop
from adjudge.core.domain.message import Usage
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import ask
from adjudge.core.gateway.model import Model
from adjudge.core.prompts.renderer import TEXT_FIRST
from adjudge.stats.intervals import wilson

Row = dict[str, str]


@dataclass(frozen=True)
class Item:
    """A question whose answer people have given.

    ``swapped`` is the same with the two responses exchanged.
    """

    criteria: Criteria
    instance: Instance
    truth: str
    guesses: dict[str, str] = field(default_factory=dict)
    """What trivial rules say."""
    swapped: Instance | None = None


@dataclass(frozen=True)
class Answer:
    """Log-odds or log-probabilities of each option, before and after the prior is taken out."""

    raw: dict[str, float]
    calibrated: dict[str, float]
    orders_agree: bool = True
    sure: bool = True
    """Whether the verdict is not marked low-confidence."""
    usage: Usage = Usage()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--limit", type=int, default=60, help="items a set, drawn with a fixed seed; 0 takes all"
    )
    parser.add_argument(
        "--kinds",
        type=int,
        default=0,
        help="texts for each kind that was not trained; 0 leaves them out",
    )
    parser.add_argument(
        "--models", nargs="+", default=["local/smollm2-135m-raw", "local/smollm2-135m"]
    )
    parser.add_argument(
        "--form",
        choices=["direct", TEXT_FIRST],
        default="direct",
        help="the criterion before the text, or the text before the criterion",
    )
    args = parser.parse_args()
    if not args.data.is_dir():
        raise SystemExit(
            f"{args.data} is not there: the records are not part of this project (see "
            "docs/embedded.md)"
        )
    models = [open_model(name) for name in args.models]
    print(f"at most {args.limit or 'all'} items a set\n")
    print(
        "| set | model | items | raw | calibrated | AUC | sure: share, right | skew | "
        "baselines | both orders |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    sets = {name: _drawn(list(build(args.data)), args.limit) for name, build in SETS.items()}
    usage: dict[str, Usage] = {}
    for name, items in (sets | _kinds(args.data, args.kinds)).items():
        for model in models:
            answers = event_loop.run(_answers(items, model, args.form))
            usage[model.name] = sum(
                (answer.usage for answer in answers), usage.get(model.name, Usage())
            )
            print(_row(name, model.name, items, answers), flush=True)
    for model in models:
        used = usage[model.name]
        print(
            f"\n{model.name}: {used.calls} prompts, {used.prompt_tokens} tokens, "
            f"{used.cached_tokens} from the prefix cache"
        )


# -- the sets ------------------------------------------------------------------


def _options(*names: str) -> list[CriteriaOption]:
    return [CriteriaOption(name) for name in names]


YES_NO = _options("Yes", "No")
BETTER = [CriteriaOption("A", "Response A is better"), CriteriaOption("B", "Response B is better")]
GROUNDED = Criteria("grounded", "Everything in the answer is supported by the context.", YES_NO)
CORRECT = Criteria("correct", "The answer is correct, safe and supported by the context.", YES_NO)
THREE_WAY = Criteria(
    "three",
    "Is the answer correct, incorrect or dangerous?",
    _options("Correct", "Incorrect", "Dangerous"),
)
FACTUAL = Criteria("factual", "The answer contains no false or made-up statement.", YES_NO)


def qags(data: Path) -> Iterable[Item]:
    for row in _rows(data / "qags_cnn.jsonl"):
        instance = Instance({"contexts": row["context"], "response": row["response"]})
        overlap = "Yes" if _overlap(row["response"], row["context"]) > 0.9 else "No"
        yield Item(
            GROUNDED,
            instance,
            "Yes" if float(row["human_consistency"]) > 0.5 else "No",
            {"word overlap": overlap},
        )


def halueval(data: Path) -> Iterable[Item]:
    for row in _rows(data / "halueval400.jsonl"):
        instance = Instance({"user_input": row["instruction"], "response": row["response"]})
        yield Item(FACTUAL, instance, "No" if row["label"] == "yes" else "Yes")


def rag_two_way(data: Path) -> Iterable[Item]:
    for row in _rows(data / "rag25.jsonl"):
        yield Item(CORRECT, _rag(row), "Yes" if row["label"] == "Correct" else "No")


def rag_three_way(data: Path) -> Iterable[Item]:
    for row in _rows(data / "rag25.jsonl"):
        yield Item(THREE_WAY, _rag(row), row["label"])


def llmbar(data: Path) -> Iterable[Item]:
    rule = "Which response follows the instruction better?"
    for row in _rows(data / "llmbar.jsonl"):
        if row["subset"] == "Natural":
            yield _pair(row, Criteria("better", rule, BETTER, to_evaluate_field="Response B"))


def hhh(data: Path) -> Iterable[Item]:
    for row in _rows(data / "hhh.jsonl"):
        rule = f"Which response is more {row['category']}?"
        yield _pair(row, Criteria("better", rule, BETTER, to_evaluate_field="Response B"))


SETS: dict[str, Callable[[Path], Iterable[Item]]] = {
    "rag25: correct, given the context": rag_two_way,
    "rag25: Correct / Incorrect / Dangerous": rag_three_way,
    "QAGS news summaries: consistent": qags,
    "HaluEval: nothing made up": halueval,
    "LLMBar Natural pairs": llmbar,
    "HHH pairs": hhh,
}


def _kinds(data: Path, count: int) -> dict[str, list[Item]]:
    """Kinds of criteria that were not trained on, by the rules of training/: ``count`` texts each,
    in two wordings, and all.
    """
    if not count:
        return {}
    from training.kinds.base import Draw
    from training.rows import all_kinds
    from training.texts import World

    world, found = World(data), {}
    for kind in all_kinds():
        if kind.role == "held_out":
            rng = random.Random(kind.name)
            words = [random.Random(f"{kind.name} {place % 2}") for place in range(8 * count)]
            drawn = (kind.make(Draw(world, rng, "en", fresh=True, wording=one)) for one in words)
            cases = [case for case in drawn if case is not None][:count]
            found[f"unseen kind: {kind.name}"] = [
                _item(case.criteria, case.fields, case.truth) for case in cases
            ]
    return {"all unseen kinds": [item for items in found.values() for item in items], **found}


def _item(criteria: Criteria, fields: Mapping[str, str | Sequence[str]], truth: str) -> Item:
    long = sum(len(str(text).split()) for text in fields.values()) > 15
    return Item(criteria, Instance(fields), truth, {"long is Yes": "Yes" if long else "No"})


def _rag(row: Row) -> Instance:
    return Instance(
        {"user_input": row["question"], "contexts": row["context"], "response": row["response"]}
    )


def _pair(row: Row, criteria: Criteria) -> Item:
    first, second = row["response_1"], row["response_2"]
    longer = "A" if len(first) > len(second) else "B"
    return Item(
        criteria,
        Instance({"user_input": row["instruction"], "Response A": first, "Response B": second}),
        "A" if str(row["label"]) == "1" else "B",
        {"longer wins": longer},
        Instance({"user_input": row["instruction"], "Response A": second, "Response B": first}),
    )


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _drawn(items: list[Item], limit: int) -> list[Item]:
    return random.Random(7).sample(items, limit) if limit and len(items) > limit else items


def _overlap(text: str, source: str) -> float:
    words = text.lower().split()
    known = set(source.lower().split())
    return sum(word in known for word in words) / max(1, len(words))


# -- asking --------------------------------------------------------------------


async def _answers(items: Sequence[Item], model: Model, form: str) -> list[Answer]:
    return await asyncio.gather(*(_answer(item, model, form) for item in items))


async def _answer(item: Item, model: Model, form: str) -> Answer:
    first = _read(await _vote(item, item.instance, model, form))
    if item.swapped is None:
        return first
    second = _read(await _vote(item, item.swapped, model, form))
    other = {"A": "B", "B": "A"}
    raw = {option: (first.raw[option] + second.raw[other[option]]) / 2 for option in other}
    calibrated = {
        option: (first.calibrated[option] + second.calibrated[other[option]]) / 2
        for option in other
    }
    agree = _best(first.calibrated) == other[_best(second.calibrated)]
    return Answer(raw, calibrated, agree, first.sure and second.sure, first.usage + second.usage)


async def _vote(item: Item, instance: Instance, model: Model, form: str) -> Vote:
    ballot = Ballot(
        item.criteria,
        instance,
        question_of(item.criteria),
        template=form,
        model=model.name,
        mode="likelihood",
    )
    return await ask(ballot, model, max_repairs=0)


def _read(vote: Vote) -> Answer:
    assert vote.distribution is not None and vote.text is not None, vote.reason
    calibrated = {
        option: math.log(max(share, 1e-30)) for option, share in vote.distribution.items()
    }
    return Answer(
        json.loads(vote.text)["logprobs"],
        calibrated,
        sure=not vote.low_confidence,
        usage=vote.usage,
    )


# -- figures -------------------------------------------------------------------


def _row(name: str, model: str, items: Sequence[Item], answers: Sequence[Answer]) -> str:
    truths = [item.truth for item in items]
    raw, calibrated = (
        [_best(answer.raw) for answer in answers],
        [_best(answer.calibrated) for answer in answers],
    )
    first = items[0].criteria.option_names[0]
    skew = (
        f"{_share(raw, first) - _share(truths, first):+.2f} → "
        f"{_share(calibrated, first) - _share(truths, first):+.2f}"
    )
    baselines = {"majority": _share(truths, max(set(truths), key=truths.count))}
    baselines |= {
        rule: _accuracy([item.guesses[rule] for item in items], truths) for rule in items[0].guesses
    }
    shown = ", ".join(f"{rule} {value:.2f}" for rule, value in baselines.items())
    orders = (
        f"{sum(answer.orders_agree for answer in answers) / len(answers):.2f}"
        if items[0].swapped
        else ""
    )
    alike = {item.criteria.option_names for item in items}  # a mix of kinds may have several
    auc = _auc(items, answers) if len(alike) == 1 and len(min(alike)) == 2 else ""
    interval = wilson(sum(map(str.__eq__, calibrated, truths)), len(items))
    accuracy = f"{_accuracy(calibrated, truths):.2f} ({interval.lower:.2f}–{interval.upper:.2f})"
    sure = [
        said == truth
        for said, truth, answer in zip(calibrated, truths, answers, strict=True)
        if answer.sure
    ]
    trusted = f"{len(sure) / len(items):.2f}, {sum(sure) / len(sure):.2f}" if sure else "0.00, –"
    cells = (
        name,
        model,
        len(items),
        f"{_accuracy(raw, truths):.2f}",
        accuracy,
        auc,
        trusted,
        skew,
        shown,
        orders,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _best(values: dict[str, float]) -> str:
    return max(values, key=values.__getitem__)


def _share(said: Sequence[str], option: str) -> float:
    return sum(one == option for one in said) / len(said)


def _accuracy(said: Sequence[str], truths: Sequence[str]) -> float:
    return sum(map(str.__eq__, said, truths)) / len(truths)


def _auc(items: Sequence[Item], answers: Sequence[Answer]) -> str:
    """The chance that a true first option got higher odds than a false one."""
    first, second = items[0].criteria.option_names
    odds = [answer.calibrated[first] - answer.calibrated[second] for answer in answers]
    yes = [value for value, item in zip(odds, items, strict=True) if item.truth == first]
    no = [value for value, item in zip(odds, items, strict=True) if item.truth == second]
    wins = sum((a > b) + (a == b) / 2 for a in yes for b in no)
    return f"{wins / (len(yes) * len(no)):.2f}" if yes and no else "–"


if __name__ == "__main__":
    main()
