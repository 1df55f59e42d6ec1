"""Every kind of judge: which ballots it writes, and how their votes are pooled."""

from __future__ import annotations

from adjudge.lazy import loader

HOME_OF = {
    "AspectCritic": "judges.aspect",
    "BaseDirectJudge": "judges.direct",
    "BasePairwiseJudge": "judges.pairwise",
    "Cascade": "judges.cascade",
    "Criteria": "domain.criteria",
    "CriteriaExample": "domain.criteria",
    "CriteriaOption": "domain.criteria",
    "DirectInstance": "domain.instance",
    "DirectInstanceResult": "domain.results",
    "DirectJudge": "judges.direct",
    "DummyDirectJudge": "judges.dummy",
    "DummyPairwiseJudge": "judges.dummy",
    "EvidenceJudge": "judges.evidence",
    "Instance": "domain.instance",
    "Judge": "judges.judge",
    "MPrometheusDirectJudge": "judges.prometheus",
    "MPrometheusPairwiseJudge": "judges.prometheus",
    "MultiCriteria": "domain.multi_criteria",
    "MultiCriteriaDirectInstanceResult": "domain.multi_results",
    "MultiCriteriaItem": "domain.multi_criteria",
    "MultiCriteriaItemResult": "domain.multi_results",
    "PairwiseInstance": "domain.instance",
    "PairwiseInstanceResult": "domain.results",
    "PairwiseJudge": "judges.pairwise",
    "QualitativeCriteria": "judges.qualitative",
    "QuantitativeCriteria": "judges.quantitative",
    "UnitxtDirectJudge": "judges.unitxt",
    "UnitxtPairwiseJudge": "judges.unitxt",
}
"""Where each name lives; the package's own table takes it over."""
_EVALASSIST = {
    "BaseJudge": "judges.base",
    "DEFAULT_JUDGE_INFERENCE_PARAMS": "judges.const",
    "DirectPositionalBiasResult": "judges.types",
    "InstanceResult": "judges.types",
    "PairwisePositionalBiasResult": "judges.types",
    "SingleSystemPairwiseInstanceResult": "judges.types",
}
"""What EvalAssist's scripts import from here under another name than ours."""
__all__ = sorted([*HOME_OF, *_EVALASSIST])  # noqa: PLE0605

__getattr__ = loader(__name__, HOME_OF | _EVALASSIST)
