"""EvalAssist's import paths, as ``adjudge.judges`` and its submodules."""

from __future__ import annotations

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import DirectInstance, Instance, PairwiseInstance
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.multi_results import (
    MultiCriteriaDirectInstanceResult,
    MultiCriteriaItemResult,
)
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.cascade import Cascade
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.pairwise import BasePairwiseJudge, PairwiseJudge
from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge
from adjudge.features.compat.judges.base import BaseJudge
from adjudge.features.compat.judges.const import DEFAULT_JUDGE_INFERENCE_PARAMS
from adjudge.features.compat.judges.types import (
    DirectPositionalBiasResult,
    InstanceResult,
    PairwisePositionalBiasResult,
    SingleSystemPairwiseInstanceResult,
)
from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge
from adjudge.features.compat.unitxt import UnitxtDirectJudge, UnitxtPairwiseJudge
from adjudge.features.evidence.judge import EvidenceJudge
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria

__all__ = [
    "DEFAULT_JUDGE_INFERENCE_PARAMS",
    "AspectCritic",
    "BaseDirectJudge",
    "BaseJudge",
    "BasePairwiseJudge",
    "Cascade",
    "Criteria",
    "CriteriaExample",
    "CriteriaOption",
    "DirectInstance",
    "DirectInstanceResult",
    "DirectJudge",
    "DirectPositionalBiasResult",
    "DummyDirectJudge",
    "DummyPairwiseJudge",
    "EvidenceJudge",
    "Instance",
    "InstanceResult",
    "Judge",
    "MPrometheusDirectJudge",
    "MPrometheusPairwiseJudge",
    "MultiCriteria",
    "MultiCriteriaDirectInstanceResult",
    "MultiCriteriaItem",
    "MultiCriteriaItemResult",
    "PairwiseInstance",
    "PairwiseInstanceResult",
    "PairwiseJudge",
    "PairwisePositionalBiasResult",
    "QualitativeCriteria",
    "QuantitativeCriteria",
    "SingleSystemPairwiseInstanceResult",
    "UnitxtDirectJudge",
    "UnitxtPairwiseJudge",
]
