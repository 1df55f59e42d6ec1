"""Judges that do not judge: a guide for writing a custom one."""

from __future__ import annotations

import random
from dataclasses import dataclass

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.judges.direct import BaseDirectJudge
from adjudge.core.judges.pairwise import BasePairwiseJudge


@dataclass(kw_only=True, eq=False)
class DummyDirectJudge(BaseDirectJudge):
    """Chooses an option at random, the same one for the same text and seed."""

    def _run(
        self, instances: list[Instance], criteria: list[Criteria]
    ) -> list[DirectInstanceResult]:
        """Return one result per instance, using the criteria at the same index.

        The base class takes care of repetition, order and pooling.
        """
        results = []
        for instance, criterion in zip(instances, criteria, strict=True):
            choice = random.Random(content_hash(self.seed, instance.fields))  # noqa: S311
            option = choice.choice(criterion.options).name
            results.append(
                DirectInstanceResult(
                    instance=instance, criteria=criterion, option=option, explanation="by chance"
                )
            )
        return results


@dataclass(kw_only=True, eq=False)
class DummyPairwiseJudge(BasePairwiseJudge):
    """Prefers the longer response; if several are longest, the first of them."""

    def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[int]:
        """Return, for each instance, the index of the better response among those shown."""
        responses_of_rows = [
            instance.fields[criterion.to_evaluate_field]
            for instance, criterion in zip(instances, criteria, strict=True)
        ]
        lengths = [[len(text) for text in responses] for responses in responses_of_rows]
        return [row_lengths.index(max(row_lengths)) for row_lengths in lengths]
