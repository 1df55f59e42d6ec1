"""Whether the embedded judge says what it said on xllamacpp: a fixed set of ballots, distributions
compared.

    python benchmarks/same_verdicts.py [--data FOLDER] [--count 2000] [--kept FILE.jsonl]
    [--precision mixed]

The ballots are short texts under the criteria of the catalogue and, where the folder of public
records is there, under kinds of criteria that the adapter was not trained on, in both languages,
with every kind of answer, drawn with fixed seeds. What xllamacpp says (hours for all of them) is
kept in FILE as it comes, and read from there the next time. It reads the weights as F16, as it did
when it was the embedded judge; with the four-bit file (--four-bit) llama.cpp rounds what it
multiplies to eight bits, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from training.f16 import rewrite
from training.kinds.base import Draw, Kind, Language
from training.prompts import ballot as ballot_of
from training.rows import all_kinds
from training.texts import World

from adjudge.core.aio import event_loop
from adjudge.core.catalog.criteria import criteria, criteria_names, languages
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.ask import ask
from adjudge.core.gateway.model import Model
from adjudge.features.local.llama import Llama
from adjudge.features.local.provider import LocalModel
from adjudge.features.local.weights.adapters import adapter_for, calibration_for
from adjudge.features.local.weights.store import find

TEXTS = 14
"""Of one kind of criteria, or under one of the catalogue's."""
LONGEST = 130
"""Bytes of all texts of a ballot: xllamacpp reads some fifty tokens a second."""
WITHIN = 0.02
Distributions = list[dict[str, float]]


class Xllamacpp:
    """The embedded model as it was asked before: one prompt at a time, by xllamacpp. Answers are
    kept in a file.
    """

    name = "local/smollm2-135m"
    capabilities = Capabilities(
        logprobs=True, exact_logprobs=True, calibration=calibration_for("smollm2-135m")
    )

    def __init__(self, kept: Path | None, *, four_bit: bool = False) -> None:
        self._kept, self._four_bit = kept, four_bit
        lines = kept.read_text().splitlines() if kept is not None and kept.is_file() else []
        self._known: dict[str, dict[str, float]] = dict(json.loads(line) for line in lines)

    @cached_property
    def _llama(self) -> Llama:
        pulled, adapter = find("smollm2-135m"), adapter_for("smollm2-135m")
        if self._four_bit:
            return Llama(pulled, adapter)
        with TemporaryDirectory() as folder:
            rewrite(pulled, Path(folder) / "f16.gguf")
            return Llama(Path(folder) / "f16.gguf", adapter)

    async def complete(self, request: Request) -> Reply:
        """Log-probabilities of the labels."""
        key = request.key
        if key not in self._known:
            self._known[key] = dict(self._llama.score(request.prompt, request.labels).logprobs)
            if self._kept is not None:
                with self._kept.open("a") as file:
                    file.write(json.dumps([key, self._known[key]]) + "\n")
        return Reply("", logprobs=(FrozenDict(self._known[key]),))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kept", type=Path, help="where the answers of xllamacpp are kept")
    parser.add_argument(
        "--four-bit", action="store_true", help="what xllamacpp reads: the pulled file as it is"
    )
    parser.add_argument("--precision", choices=("mixed", "int8", "fp32"), default="int8")
    args = parser.parse_args()
    os.environ["ADJUDGE_LOCAL_PRECISION"] = args.precision
    ballots = fixed_set(args.data, args.count)
    before = asked(ballots, Xllamacpp(args.kept, four_bit=args.four_bit))
    after = asked(ballots, LocalModel(Xllamacpp.name))
    print(compared(ballots, before, after))


def fixed_set(data: Path, count: int) -> list[Ballot]:
    """The ballots, criteria by criteria; kinds and languages in a fixed order that mixes them."""
    groups = [list(islice(group, TEXTS)) for group in _of_the_catalogue()]
    if data.is_dir():
        world = World(data)
        kinds = [kind for kind in all_kinds() if kind.role != "train"]
        groups += [
            list(islice(_short(world, kind, language), TEXTS))
            for kind in kinds
            for language in kind.languages
        ]
    random.Random(0).shuffle(groups)
    return [ballot for group in groups for ballot in group][:count]


def _of_the_catalogue() -> Iterator[Iterator[Ballot]]:
    """For each of the catalogue's criteria, the texts that are examples of it or of another that
    reads the same fields.
    """
    for language in languages():
        known = [criteria(name, language) for name in criteria_names("direct", language)]
        for one in known:
            others = sorted(known, key=lambda other: other is not one)
            texts = [
                example.fields
                for other in others
                if _reads(other) == _reads(one)
                for example in other.examples
            ]
            short = [fields for fields in texts if _fits(fields)]
            yield (
                Ballot(
                    one,
                    Instance(fields),
                    question_of(one),
                    "direct",
                    "",
                    language,
                    mode="likelihood",
                )
                for fields in short
            )


def _reads(one: Criteria) -> tuple[object, ...]:
    return (
        one.to_evaluate_field,
        one.context_fields,
        {frozenset(example.fields) for example in one.examples},
    )


def _fits(fields: Mapping[str, object]) -> bool:
    return len("".join(map(str, fields.values())).encode()) <= LONGEST


def _short(world: World, kind: Kind, language: Language) -> Iterator[Ballot]:
    """Ballots with short texts on a few criteria."""
    wordings: set[str] = set()
    for text in range(20 * TEXTS):
        rng, words = (
            random.Random(f"{kind.name} {language} {text}"),
            random.Random(f"{kind.name} {language}"),
        )
        case = kind.make(Draw(world, rng, language, fresh=True, wording=words))
        if case is None or not _fits(case.fields):
            continue
        if len(wordings) < 2 or case.criteria.identity in wordings:
            wordings.add(case.criteria.identity)
            yield ballot_of(case, language)


def asked(ballots: list[Ballot], model: Model) -> Distributions:
    """The distribution of every ballot."""

    async def all_of_them() -> Distributions:
        votes = await asyncio.gather(*(ask(ballot, model, 0) for ballot in ballots))
        return [dict(vote.distribution or {}) for vote in votes]

    return event_loop.run(all_of_them())


def compared(ballots: list[Ballot], before: Distributions, after: Distributions) -> str:
    """How many verdicts are alike, and how far the distributions are from each other."""
    differences = sorted(
        max(abs(old[name] - new[name]) for name in old)
        for old, new in zip(before, after, strict=True)
    )
    alike = sum(_first(old) == _first(new) for old, new in zip(before, after, strict=True))
    count = len(ballots)
    within = sum(difference <= WITHIN for difference in differences)
    quantiles = ", ".join(
        f"{share:.1%} {differences[min(count - 1, int(share * count))]:.4f}"
        for share in (0.5, 0.9, 0.99, 0.999)
    )
    return (
        f"{alike} of {count} verdicts alike ({alike / count:.4f}); {within} distributions "
        f"within .02 ({within / count:.4f}); "
        f"differences: {quantiles}, largest {differences[-1]:.4f}"
    )


def _first(shares: Mapping[str, float]) -> str:
    return max(shares, key=shares.__getitem__)


if __name__ == "__main__":
    main()
