"""How well the embedded judge looks sentences up: sentences about passages that training never saw,
asked by EvidenceJudge.

    python -m training.looked_up --data ../shared/data [--count 100] [--seed looked-up] [--language
    ru] [--flags]

Prints how often each of the three answers is right, and the AUC of "supported", for both languages
or one; with --flags what becomes of sentences that are supported and of those that are not.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from adjudge import EvidenceJudge
from adjudge.core.domain.instance import Instance
from adjudge.features.evidence.flags import odds_in
from adjudge.features.evidence.result import EvidenceResult
from adjudge.features.evidence.support import FLAGS, SUPPORTED, SUPPORTS
from adjudge.stats.intervals import wilson
from adjudge.stats.probability import auc
from training.kinds.base import Case, Draw, Language
from training.kinds.claims import support_case
from training.texts import World

LANGUAGES: tuple[Language, ...] = ("en", "ru")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--count", type=int, default=100, help="sentences in each language")
    parser.add_argument("--seed", default="looked-up")
    parser.add_argument("--language", choices=LANGUAGES, help="only this one")
    parser.add_argument("--flags", action="store_true", help="look at flags instead")
    args = parser.parse_args()
    for language in [args.language] if args.language else LANGUAGES:
        judge = EvidenceJudge(language=language, method="flags" if args.flags else "each")
        cases = drawn(
            judge, World(args.data), language, random.Random(f"{args.seed} {language}"), args.count
        )
        results = judge.evaluate([instance(case) for case in cases])
        (show_flags if args.flags else show)(language, cases, results)


def drawn(
    judge: EvidenceJudge, world: World, language: Language, rng: random.Random, count: int
) -> list[Case]:
    """Sentences that the package takes for one claim, with what is right."""
    made = (support_case(Draw(world, rng, language, fresh=True)) for _ in range(10 * count))
    fitting = (
        case for case in made if case is not None and len(judge.looked(instance(case)).claims) == 1
    )
    return list(islice(fitting, count))


def instance(case: Case) -> Instance:
    """The sentence as a text that is looked up."""
    fields = {name: text for name, text in case.fields.items() if name != "sentence"}
    return Instance({**fields, "response": case.fields["sentence"]})


def show(language: str, cases: Sequence[Case], results: Sequence[EvidenceResult]) -> None:
    """A line for each truth, and one for all."""
    right: dict[str, list[bool]] = defaultdict(list)
    stated: Counter[tuple[float, int]] = Counter()
    for case, result in zip(cases, results, strict=True):
        (vote,) = result.votes
        assert vote.verdict is not None and vote.distribution is not None
        right[case.truth].append(vote.verdict.option == case.truth)
        stated[vote.distribution[SUPPORTED], int(case.truth == SUPPORTED)] += 1
    for truth in SUPPORTS:
        print(f"{language} {truth:13} {sum(right[truth])} of {len(right[truth])}")
    hits = [hit for some in right.values() for hit in some]
    sure = wilson(sum(hits), len(hits))
    share = f"{sum(hits) / len(hits):.2f} ({sure.lower:.2f}–{sure.upper:.2f})"
    print(
        f"{language} all           {sum(hits)} of {len(hits)}: {share}; AUC of "
        f"{SUPPORTED!r} {auc(stated).value:.2f}"
    )


def show_flags(language: str, cases: Sequence[Case], results: Sequence[EvidenceResult]) -> None:
    """How many sentences have each flag, by what is true of them; and the AUC of the log-odds."""
    counts: Counter[tuple[str, str]] = Counter()
    odds: Counter[tuple[float, int]] = Counter()
    for case, result in zip(cases, results, strict=True):
        (claim,) = result.claims
        counts[str(claim.flag), case.truth] += 1
        odds[max(map(odds_in, result.votes)), int(case.truth == SUPPORTED)] += 1
    for flag in FLAGS:
        told = ", ".join(f"{truth} {counts[flag, truth]}" for truth in SUPPORTS)
        print(f"{language} {flag:24} {told}")
    print(f"{language} AUC of the log-odds {auc(odds).value:.2f}, {len(cases)} sentences")


if __name__ == "__main__":
    main()
