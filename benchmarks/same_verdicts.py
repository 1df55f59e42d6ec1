"""Whether the embedded judge says what it said on xllamacpp: a fixed set of ballots, distributions compared.

    python benchmarks/same_verdicts.py --data FOLDER [--count 2000] [--kept FILE.json] [--precision int8]

The ballots are of the kinds of criteria that the adapter was not trained on, in both languages, with every kind of answer,
drawn with fixed seeds. What xllamacpp says of them (minutes) is kept in FILE, and read from there the next time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from training.kinds.base import Draw, Kind, Language
from training.prompts import ballot as ballot_of
from training.rows import all_kinds
from training.texts import World

from adjudge.aio import event_loop
from adjudge.domain.ballot import Ballot
from adjudge.domain.frozen import FrozenDict
from adjudge.domain.message import Capabilities, Reply, Request, Usage
from adjudge.engine.ask import ask
from adjudge.gateway.model import Model
from adjudge.gateway.providers.local import LocalModel
from adjudge.local.llama import Llama
from adjudge.local.weights.shipped import adapter_for, calibration_for
from adjudge.local.weights.store import find

TEXTS = 40
"""Texts for each wording of a criterion."""
LONGEST = 130
"""Bytes of all texts of a ballot: xllamacpp reads some fifty tokens a second."""
Distributions = list[dict[str, float]]


class Xllamacpp:
    """The embedded model as it was asked before: one prompt at a time, by xllamacpp."""

    name = "local/smollm2-135m"
    capabilities = Capabilities(logprobs=True, exact_logprobs=True, calibration=calibration_for("smollm2-135m"))

    def __init__(self) -> None:
        self._llama = Llama(find("smollm2-135m"), adapter_for("smollm2-135m"))

    async def complete(self, request: Request) -> Reply:
        """Log-probabilities of the labels."""
        score = self._llama.score(request.prompt, request.labels)
        return Reply("", usage=Usage(1, score.prompt_tokens), logprobs=(FrozenDict(score.logprobs),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kept", type=Path, help="where the answers of xllamacpp are kept")
    parser.add_argument("--precision", choices=("int8", "fp32"), default="int8")
    args = parser.parse_args()
    os.environ["ADJUDGE_LOCAL_PRECISION"] = args.precision
    ballots = fixed_set(args.data, args.count)
    before = _before(ballots, args.kept)
    after = asked(ballots, LocalModel(Xllamacpp.name))
    print(compared(ballots, before, after))


def fixed_set(data: Path, count: int) -> list[Ballot]:
    """The ballots: many texts under each of the criteria, criteria one after the other."""
    world, found = World(data), []
    kinds = [kind for kind in all_kinds() if kind.role != "train"]
    places = [(kind, language) for kind in kinds for language in kind.languages]
    random.Random(0).shuffle(places)
    for kind, language in places:
        found += list(islice(_short(world, kind, language), TEXTS))
        if len(found) >= count:
            return found[:count]
    return found


def _short(world: World, kind: Kind, language: Language) -> Iterator[Ballot]:
    """Ballots with short texts on a few criteria."""
    criteria: set[str] = set()
    for text in range(20 * TEXTS):
        rng, words = random.Random(f"{kind.name} {language} {text}"), random.Random(f"{kind.name} {language}")
        case = kind.make(Draw(world, rng, language, fresh=True, wording=words))
        if case is None or len("".join(map(str, case.fields.values())).encode()) > LONGEST:
            continue
        if len(criteria) < 6 or case.criteria.identity in criteria:
            criteria.add(case.criteria.identity)
            yield ballot_of(case, language)


def asked(ballots: list[Ballot], model: Model) -> Distributions:
    """The distribution of every ballot."""

    async def all_of_them() -> Distributions:
        votes = await asyncio.gather(*(ask(ballot, model, 0) for ballot in ballots))
        return [dict(vote.distribution or {}) for vote in votes]

    return event_loop.run(all_of_them())


def _before(ballots: list[Ballot], kept: Path | None) -> Distributions:
    if kept is not None and kept.is_file():
        found: Distributions = json.loads(kept.read_text())[: len(ballots)]
        if len(found) == len(ballots):
            return found
    began, cpu = time.monotonic(), time.process_time()
    found = asked(ballots, Xllamacpp())
    print(f"xllamacpp: {time.monotonic() - began:.0f} s, {time.process_time() - cpu:.0f} s CPU", flush=True)
    if kept is not None:
        kept.write_text(json.dumps(found))
    return found


def compared(ballots: list[Ballot], before: Distributions, after: Distributions) -> str:
    """How many verdicts are alike, and how far the distributions are from each other."""
    differences = sorted(max(abs(old[name] - new[name]) for name in old) for old, new in zip(before, after, strict=True))
    alike = sum(_first(old) == _first(new) for old, new in zip(before, after, strict=True))
    count = len(ballots)
    within = sum(difference <= 0.02 for difference in differences)
    quantiles = ", ".join(
        f"{share:.1%} {differences[min(count - 1, int(share * count))]:.4f}" for share in (0.5, 0.9, 0.99, 0.999)
    )
    return (
        f"{alike} of {count} verdicts alike ({alike / count:.4f}); {within} distributions within .02 ({within / count:.4f}); "
        f"differences: {quantiles}, largest {differences[-1]:.4f}"
    )


def _first(shares: Mapping[str, float]) -> str:
    return max(shares, key=shares.__getitem__)


if __name__ == "__main__":
    main()
