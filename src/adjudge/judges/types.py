"""The types judges take and give, under the path where users of EvalAssist look for them."""

from adjudge.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.domain.instance import DirectInstance, Instance, PairwiseInstance
from adjudge.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.domain.results import (
    DirectInstanceResult,
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaItemResult,
    PairwiseInstanceResult,
)

__all__ = [
    "Criteria",
    "CriteriaExample",
    "CriteriaOption",
    "DirectInstance",
    "DirectInstanceResult",
    "Instance",
    "MultiCriteria",
    "MultiCriteriaDirectInstanceResult",
    "MultiCriteriaItem",
    "MultiCriteriaItemResult",
    "PairwiseInstance",
    "PairwiseInstanceResult",
]
