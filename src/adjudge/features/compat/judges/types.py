"""The types of judges' inputs and results under EvalAssist's path."""

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import DirectInstance, Instance, PairwiseInstance
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.multi_results import (
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaItemResult,
)
from adjudge.core.domain.record import SystemResult
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, PositionalBias

InstanceResult = DirectInstanceResult
DirectPositionalBiasResult = PairwisePositionalBiasResult = PositionalBias
SingleSystemPairwiseInstanceResult = SystemResult

__all__ = [
    "Criteria",
    "CriteriaExample",
    "CriteriaOption",
    "DirectInstance",
    "DirectInstanceResult",
    "DirectPositionalBiasResult",
    "Instance",
    "InstanceResult",
    "MultiCriteria",
    "MultiCriteriaDirectInstanceResult",
    "MultiCriteriaItem",
    "MultiCriteriaItemResult",
    "PairwiseInstance",
    "PairwiseInstanceResult",
    "PairwisePositionalBiasResult",
    "SingleSystemPairwiseInstanceResult",
]
