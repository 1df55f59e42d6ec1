"""How well ``adjudge learn`` learns criteria of taste, and whether it keeps its promises.

python benchmarks/learning.py CLONES --states FOLDER

CLONES holds the repositories of ``learning_sets.py``, each as OWNER+NAME. States of the embedded
model are read once and kept in FOLDER (about 30 CPU minutes).
"""
# ruff: noqa: E402

from __future__ import annotations

import argparse
import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from adjudge.features.local.libraries import import_numpy

import_numpy()  # with one thread, as commands do: more threads cost processor time

import numpy as np
from learning_sets import SOURCES, Row, Source

from adjudge import DirectJudge, LearnedJudge
from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.likelihood import likelihood_prompt
from adjudge.core.gateway.registry import EMBEDDED
from adjudge.features.learning.acceptance import DELTA, RISK
from adjudge.features.learning.examples import Example
from adjudge.features.learning.figures import Sample
from adjudge.features.learning.head import Fit, HeadRows, folds_of
from adjudge.features.learning.learner import (
    FEWEST_GROUPS,
    Data,
    LearnSettings,
    Study,
    promise,
)
from adjudge.features.learning.prompt_form import PromptForm
from adjudge.features.learning.states import Inside, StateReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
SIZES = (30, 100, 300)
TEST_FROM = 300
SETTINGS = LearnSettings(cascade=True)


@dataclass(frozen=True)
class Set:
    """One set with its states."""

    name: str
    data: Data

    @classmethod
    def read(cls, source: Source, clones: Path, folder: Path) -> Set:
        rows = source.sample(clones)
        criteria = _criteria(source, rows)
        ballots = [_ballot(criteria, row) for row in rows]
        form = PromptForm.of(ballots[0])
        inside = _inside(source.name, form, ballots, folder)
        first, second = form.options
        examples = [
            Example(
                ballot.instance.identity,
                str(place),
                ballot,
                first if row.label else second,
                row.group,
            )
            for place, (row, ballot) in enumerate(zip(rows, ballots, strict=True))
        ]
        return cls(source.name, Data.of(examples, form, inside))

    def splits(self, count: int) -> Iterator[tuple[np.random.Generator, NDArray[np.int64]]]:
        """Orders of the rows in which rows of a group stand together."""
        groups = np.array(self.data.groups)
        names = np.unique(groups)
        for seed in range(count):
            generator = np.random.default_rng([56, seed])
            rank = dict(zip(generator.permutation(names).tolist(), range(len(names)), strict=True))
            yield generator, np.argsort([rank[group] for group in groups.tolist()], kind="stable")

    def parts(self, order: NDArray[np.int64], size: int) -> tuple[Data, Data]:
        """The first rows, and rows of other groups to measure on."""
        first = self.data.part(order[:size])
        known = {*first.groups}
        rest = [place for place in order[TEST_FROM:] if self.data.rows[place].group not in known]
        return first, self.data.part(np.array(rest))


def _criteria(source: Source, rows: Sequence[Row]) -> Criteria:
    criteria = yes_no_criteria(source.question)
    if "user_input" in rows[0].fields:
        return replace(criteria, context_fields=("user_input",))
    return criteria


def _ballot(criteria: Criteria, row: Row) -> Ballot:
    instance = Instance(row.fields)
    return Ballot(criteria, instance, question_of(criteria), "direct", "m", mode="likelihood")


def _inside(name: str, form: PromptForm, ballots: Sequence[Ballot], folder: Path) -> list[Inside]:
    prompts = [likelihood_prompt(one) for one in ballots]
    started = time.process_time()
    read = asyncio.run(StateReader().read_new(form, prompts, folder / f"{name}.npz"))
    found = [one for one in read if isinstance(one, Inside)]
    if len(found) != len(prompts):
        raise RuntimeError(f"{name}: a text is too long")
    print(f"states of {name}: {time.process_time() - started:.0f} CPU s, {len(found)} rows")
    return found


def _auc(data: Data, scores: Floats) -> float:
    return Sample(data.answers > 0, data.weights, data.groups).auc(scores).value


def _fit(data: Data, features: HeadRows | None = None) -> Fit:
    return Fit(features or data.features, data.answers, data.weights, folds_of(data.groups))


def _words(data: Data) -> HeadRows:
    return replace(data.features, states=None, zero_shot=None)


def quality(sets: Sequence[Set], splits: int) -> None:
    """Print the area under the curve on other rows, by labels."""
    print(f"\nAUC on rows of other groups, {splits} splits: untaught | words | learned")
    means: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in sets:
        areas: dict[tuple[str, int], list[float]] = defaultdict(list)
        for _, order in one.splits(splits):
            for size in SIZES:
                own, other = one.parts(order, size)
                if min((own.answers > 0).sum(), (own.answers < 0).sum()) < 5:
                    continue
                zero_shot = other.features.zero_shot
                assert zero_shot is not None
                areas["untaught", size].append(_auc(other, zero_shot))
                words = _fit(own, _words(own)).head().log_odds(_words(other))
                areas["words", size].append(_auc(other, words))
                areas["learned", size].append(
                    _auc(other, _fit(own).head().log_odds(other.features))
                )
        cells = []
        for size in SIZES:
            for name in ("untaught", "words", "learned"):
                means[name, size].append(float(np.mean(areas[name, size])))
            cells.append(
                " ".join(
                    f"{means[name, size][-1]:.3f}" for name in ("untaught", "words", "learned")
                )
            )
        print(
            f"{one.name:14}",
            " | ".join(f"{size}: {cell}" for size, cell in zip(SIZES, cells, strict=True)),
        )
    for size in SIZES:
        untaught, words, learned = (
            np.array(means[name, size]) for name in ("untaught", "words", "learned")
        )
        print(
            f"mean of {len(sets)} sets, {size} labels: untaught {untaught.mean():.3f}, "
            f"words {words.mean():.3f}, learned {learned.mean():.3f}; "
            f"worst against untaught {(learned - untaught).min():+.3f}"
        )


def shuffled(sets: Sequence[Set], draws: int) -> None:
    """Print how often a head that learned shuffled labels is refused."""
    refused, count = 0, 0
    for draw in range(draws):
        one = sets[draw % len(sets)]
        generator, order = list(one.splits(1 + draw // len(sets)))[-1]
        own = one.data.part(order[: (60, 100, 200)[draw % 3]])
        count += 1
        if len({*own.groups}) < FEWEST_GROUPS:
            refused += 1
            continue
        own = replace(own, answers=generator.permutation(own.answers))
        rows = [
            replace(row, answer=("Yes" if answer > 0 else "No"))
            for row, answer in zip(own.rows, own.answers, strict=True)
        ]
        figures = Study(replace(own, rows=rows)).figures(SETTINGS, "", curve=False)
        never = figures.saving is None or figures.saving.confidence is None
        refused += not figures.is_worth_it or never
    print(f"\nshuffled labels: refused in {refused} of {count} draws ({refused / count:.1%})")


def promises(sets: Sequence[Set], draws: int, labels: int, right: float) -> None:
    """Print what a cascade with a simulated expensive judge saves, and how often it breaks its
    promise.
    """
    saved: dict[str, list[float]] = defaultdict(list)
    broken, count = 0, 0
    for draw in range(draws):
        one = sets[draw % len(sets)]
        generator, order = list(one.splits(1 + draw // len(sets)))[-1]
        own, other = one.parts(order, labels)
        is_right = generator.random(len(one.data.rows)) < right
        first, second = "Yes", "No"
        rows = [
            replace(row, verdict=row.answer if good else second if row.answer == first else first)
            for row, good in zip(one.data.rows, is_right, strict=True)
        ]
        judged = {row.identity: row for row in rows}
        own = replace(own, rows=[judged[row.identity] for row in own.rows])
        teaching, setting = own.halves()
        study = Study(teaching)
        found = promise(setting, study, SETTINGS, "expensive")
        count += 1
        if found is None or found.confidence is None:
            saved[one.name].append(0.0)
            continue
        odds = study.fit.head().log_odds(other.features)
        accepted = 1 / (1 + np.exp(-np.abs(odds))) >= found.confidence
        wrong = (odds > 0) != (other.answers > 0)
        errs = np.array([judged[row.identity].verdict != row.answer for row in other.rows])
        more = float((accepted * (wrong.astype(float) - errs)).mean())
        # rows to measure on are few: the excess must be above the risk by more than their noise
        broken += more > RISK
        saved[one.name].append(float(accepted.mean()))
    means = {name: float(np.mean(shares)) for name, shares in saved.items()}
    print(
        f"\ncascade, {labels} labels, expensive judge right in {right:.0%}: saves "
        f"{np.mean([*means.values()]):.1%} of the calls; more than {RISK:.0%} more errors measured "
        f"in {broken} of {count} runs ({broken / count:.1%}; delta {DELTA:.0%})"
    )
    print("  " + ", ".join(f"{name} {share:.0%}" for name, share in means.items()))


def timings(sets: Sequence[Set]) -> None:
    """Print what a head takes."""
    texts = [text for one in sets for text in one.data.features.texts][:1000]
    parts = [one.data for one in sets]
    states = np.concatenate(
        [one.features.states for one in parts if one.features.states is not None]
    )
    zero = np.concatenate(
        [one.features.zero_shot for one in parts if one.features.zero_shot is not None]
    )
    answers = np.concatenate([one.answers for one in parts])
    for size in (300, 1000):
        rows = HeadRows(texts[:size], states[:size], zero[:size])
        started = time.process_time()
        fit = Fit(rows, answers[:size], np.ones(size), folds_of([str(row) for row in range(size)]))
        fit.left_out()
        fit.head()
        print(f"head on {size} labels: {time.process_time() - started:.2f} CPU s")


def verdict_costs(measured: Set, rows: int) -> None:
    """Print what a verdict of a learned judge takes, as a share of the embedded judge's."""
    examples = measured.data.rows
    texts = [dict(row.ballot.instance.fields) for row in examples]
    criteria = examples[0].ballot.criteria
    taught, judged = slice(60), slice(60, 60 + rows)
    with TemporaryDirectory() as folder:
        path = Path(folder, "judge.json")
        LearnedJudge.fit(texts[taught], criteria, [row.answer for row in examples[taught]]).save(
            path
        )
        times: dict[str, list[float]] = defaultdict(list)
        for name in (f"learned/{path}", EMBEDDED) * 3:
            judge = DirectJudge(name)  # a new one has no verdicts in memory
            judge.evaluate(texts[:1], criteria)
            started = time.process_time()
            judge.evaluate(texts[judged], criteria)
            times[name].append(time.process_time() - started)
    learned, embedded = (min(seconds) for seconds in times.values())
    print(
        f"a learned verdict takes {learned / embedded:.2f} times the CPU of an embedded one "
        f"({measured.name}, {rows} rows, the least of three rounds)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--states", type=Path, default=Path("learning-states"))
    parser.add_argument("--sets", help="names of sets, separated by commas; default: all")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--shuffled", type=int, default=200)
    parser.add_argument("--promises", type=int, default=180)
    asked = parser.parse_args()
    asked.states.mkdir(parents=True, exist_ok=True)
    names = asked.sets.split(",") if asked.sets else [source.name for source in SOURCES]
    sources = [source for source in SOURCES if source.name in names]
    if len(sources) != len(names):
        parser.error(f"--sets: choose from {', '.join(source.name for source in SOURCES)}")
    sets = [Set.read(source, asked.clones, asked.states) for source in sources]
    timings(sets)
    verdict_costs(sets[-1], 50)
    promises(sets, asked.promises, 300, 0.9)
    promises(sets, asked.promises, 300, 0.95)
    shuffled(sets, asked.shuffled)
    quality(sets, asked.splits)


if __name__ == "__main__":
    main()
