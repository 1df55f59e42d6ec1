"""adjudge: judge the answers of language models, and know how sure the judgment is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.judges import HOME_OF
from adjudge.lazy import loader
from adjudge.version import __version__ as __version__

_HOME_OF = {
    **HOME_OF,
    "AdjudgeError": "errors",
    "Agent": "strategy.agent",
    "AgentEvaluator": "agents.evaluator",
    "AspectResult": "domain.results",
    "Budget": "gateway.layers.budget",
    "Capabilities": "domain.message",
    "LLM": "strategy.llm",
    "ModelError": "errors",
    "Outcome": "domain.vote",
    "RagEvaluator": "rag.evaluator",
    "Reply": "domain.message",
    "Request": "domain.message",
    "RunError": "errors",
    "Runtime": "strategy.runtime",
    "ScriptedModel": "gateway.providers.scripted",
    "SetupError": "errors",
    "Status": "domain.results",
    "Strategy": "strategy.strategy",
    "Trajectory": "domain.trajectory",
    "best_of": "strategy.texts",
    "judge_dataset": "runs.ray_dataset",
    "judge_partition": "runs.partition",
    "open_model": "gateway.open",
}
__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605

if TYPE_CHECKING:
    from adjudge.agents.evaluator import AgentEvaluator as AgentEvaluator
    from adjudge.domain.criteria import Criteria as Criteria
    from adjudge.domain.criteria import CriteriaExample as CriteriaExample
    from adjudge.domain.criteria import CriteriaOption as CriteriaOption
    from adjudge.domain.instance import DirectInstance as DirectInstance
    from adjudge.domain.instance import Instance as Instance
    from adjudge.domain.instance import PairwiseInstance as PairwiseInstance
    from adjudge.domain.message import Capabilities as Capabilities
    from adjudge.domain.message import Reply as Reply
    from adjudge.domain.message import Request as Request
    from adjudge.domain.multi_criteria import MultiCriteria as MultiCriteria
    from adjudge.domain.multi_criteria import MultiCriteriaItem as MultiCriteriaItem
    from adjudge.domain.multi_results import (
        MultiCriteriaDirectInstanceResult as MultiCriteriaDirectInstanceResult,
    )
    from adjudge.domain.multi_results import MultiCriteriaItemResult as MultiCriteriaItemResult
    from adjudge.domain.results import AspectResult as AspectResult
    from adjudge.domain.results import DirectInstanceResult as DirectInstanceResult
    from adjudge.domain.results import PairwiseInstanceResult as PairwiseInstanceResult
    from adjudge.domain.results import Status as Status
    from adjudge.domain.trajectory import Trajectory as Trajectory
    from adjudge.domain.vote import Outcome as Outcome
    from adjudge.errors import AdjudgeError as AdjudgeError
    from adjudge.errors import ModelError as ModelError
    from adjudge.errors import RunError as RunError
    from adjudge.errors import SetupError as SetupError
    from adjudge.gateway.layers.budget import Budget as Budget
    from adjudge.gateway.open import open_model as open_model
    from adjudge.gateway.providers.scripted import ScriptedModel as ScriptedModel
    from adjudge.judges.aspect import AspectCritic as AspectCritic
    from adjudge.judges.cascade import Cascade as Cascade
    from adjudge.judges.direct import BaseDirectJudge as BaseDirectJudge
    from adjudge.judges.direct import DirectJudge as DirectJudge
    from adjudge.judges.dummy import DummyDirectJudge as DummyDirectJudge
    from adjudge.judges.dummy import DummyPairwiseJudge as DummyPairwiseJudge
    from adjudge.judges.evidence import EvidenceJudge as EvidenceJudge
    from adjudge.judges.judge import Judge as Judge
    from adjudge.judges.pairwise import BasePairwiseJudge as BasePairwiseJudge
    from adjudge.judges.pairwise import PairwiseJudge as PairwiseJudge
    from adjudge.judges.prometheus import MPrometheusDirectJudge as MPrometheusDirectJudge
    from adjudge.judges.prometheus import MPrometheusPairwiseJudge as MPrometheusPairwiseJudge
    from adjudge.judges.qualitative import QualitativeCriteria as QualitativeCriteria
    from adjudge.judges.quantitative import QuantitativeCriteria as QuantitativeCriteria
    from adjudge.judges.unitxt import UnitxtDirectJudge as UnitxtDirectJudge
    from adjudge.judges.unitxt import UnitxtPairwiseJudge as UnitxtPairwiseJudge
    from adjudge.rag.evaluator import RagEvaluator as RagEvaluator
    from adjudge.runs.partition import judge_partition as judge_partition
    from adjudge.runs.ray_dataset import judge_dataset as judge_dataset
    from adjudge.strategy.agent import Agent as Agent
    from adjudge.strategy.llm import LLM as LLM
    from adjudge.strategy.runtime import Runtime as Runtime
    from adjudge.strategy.strategy import Strategy as Strategy
    from adjudge.strategy.texts import best_of as best_of

__getattr__ = loader(__name__, _HOME_OF)


def __dir__() -> list[str]:
    return list(__all__)
