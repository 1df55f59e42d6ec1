"""Improve a text by feedback: judge, rewrite by the judge's advice, judge again, and keep
the best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjudge.core.aio.event_loop import sync_call
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import DirectInstanceResult
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.inputs import CriteriaLike, as_criteria
from adjudge.core.judges.judge import InstanceLike
from adjudge.core.judges.settings import at_least
from adjudge.core.prompts.renderer import shown_fields
from adjudge.errors import SetupError


@dataclass(frozen=True)
class Improvement:
    """All versions of a text with their judgments, the original first."""

    versions: tuple[Instance, ...]
    results: tuple[DirectInstanceResult, ...]

    @property
    def best(self) -> int:
        """The index of the version with the highest score; the earliest one if several are
        equal.
        """
        scores = [-1.0 if result.score is None else result.score for result in self.results]
        # An equal later version would be a change for nothing.
        return scores.index(max(scores))

    @property
    def text(self) -> str:
        """The text of the best version."""
        (*_, text) = shown_fields(self.results[0].criteria, self.versions[self.best]).values()
        return str(text)


async def aimprove(
    instance: InstanceLike, judge: DirectJudge, criteria: CriteriaLike, rounds: int = 3
) -> Improvement:
    """Rewrite a text using the judge's feedback, up to ``rounds`` times or until there is no
    more.
    """
    at_least("rounds", rounds, 1)
    if not judge.generate_feedback:
        raise SetupError("the judge gives no feedback: create it with generate_feedback=True")
    criteria_asked = as_criteria(criteria, judge.kind, judge.language)
    versions = [judge.case(judge.instance_of(instance), criteria_asked).instance]
    results = await judge.aevaluate([instance], criteria_asked)
    while len(versions) <= rounds and results[-1].feedback:
        text = await judge.aimprove(versions[-1], results[-1])
        *_, judged_field = shown_fields(criteria_asked, versions[-1])
        versions.append(replace(versions[-1], fields={**versions[-1].fields, judged_field: text}))
        results += await judge.aevaluate(versions[-1:], criteria_asked)
    return Improvement(tuple(versions), tuple(results))


improve = sync_call(aimprove)
