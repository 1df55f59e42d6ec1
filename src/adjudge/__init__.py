"""adjudge: judge the answers of language models, and know how sure the judgment is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader
from adjudge.version import __version__ as __version__

_HOME_OF = {
    "AdjudgeError": "errors",
    "Agent": "features.generate.agent",
    "AgentEvaluator": "features.agents.judge",
    "AspectCritic": "core.judges.aspect",
    "AspectResult": "core.domain.results",
    "BaseDirectJudge": "core.judges.direct",
    "BasePairwiseJudge": "core.judges.pairwise",
    "Budget": "core.gateway.layers.budget",
    "BudgetSpent": "errors",
    "Capabilities": "core.domain.message",
    "Cascade": "core.judges.cascade",
    "Cluster": "core.engine.cluster",
    "Criteria": "core.domain.criteria",
    "CriteriaExample": "core.domain.criteria",
    "CriteriaOption": "core.domain.criteria",
    "DirectInstance": "core.domain.instance",
    "DirectInstanceResult": "core.domain.results",
    "DirectJudge": "core.judges.direct",
    "DummyDirectJudge": "features.compat.dummy_judges",
    "DummyPairwiseJudge": "features.compat.dummy_judges",
    "EvidenceJudge": "features.evidence.judge",
    "Instance": "core.domain.instance",
    "Judge": "core.judges.judge",
    "LLM": "features.generate.llm",
    "Label": "core.domain.label",
    "LearnSettings": "features.learning.names",
    "LearnedJudge": "features.learning.names",
    "MPrometheusDirectJudge": "features.compat.prometheus",
    "MPrometheusPairwiseJudge": "features.compat.prometheus",
    "ModelError": "errors",
    "MultiCriteria": "core.domain.multi_criteria",
    "MultiCriteriaDirectInstanceResult": "core.domain.multi_results",
    "MultiCriteriaItem": "core.domain.multi_criteria",
    "MultiCriteriaItemResult": "core.domain.multi_results",
    "Outcome": "core.domain.vote",
    "PairwiseInstance": "core.domain.instance",
    "PairwiseInstanceResult": "core.domain.results",
    "PairwiseJudge": "core.judges.pairwise",
    "QualitativeCriteria": "features.generate.qualitative",
    "QuantitativeCriteria": "features.generate.quantitative",
    "RagEvaluator": "features.rag.judge",
    "RagResult": "features.rag.result",
    "RateLimited": "errors",
    "Refused": "errors",
    "Reply": "core.domain.message",
    "Request": "core.domain.message",
    "Run": "features.integrations.saved_run",
    "RubricJudge": "features.rubrics.judge",
    "SqlJudge": "features.sql.judge",
    "RunError": "errors",
    "RunSettings": "core.engine.run",
    "Runtime": "features.generate.runtime",
    "ScriptedModel": "core.gateway.providers.scripted",
    "SetupError": "errors",
    "Status": "core.domain.results",
    "Strategy": "features.generate.strategy",
    "Trajectory": "features.agents.trajectory",
    "UnitxtDirectJudge": "features.compat.unitxt",
    "UnitxtPairwiseJudge": "features.compat.unitxt",
    "Vote": "core.domain.vote",
    "aload_run": "features.integrations.saved_run",
    "arun": "features.integrations.eval_run",
    "best_of": "features.generate.texts",
    "explain_run": "features.explain.opinions",
    "judge_dataset": "features.scale.ray_dataset",
    "judge_partition": "features.scale.partition",
    "load_run": "features.integrations.saved_run",
    "merge_partitions": "features.scale.partition",
    "open_model": "core.gateway.opener",
    "read_criteria": "core.catalog.criteria",
    "run": "features.integrations.eval_run",
}
__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605

if TYPE_CHECKING:
    from adjudge.core.catalog.criteria import read_criteria as read_criteria
    from adjudge.core.domain.criteria import Criteria as Criteria
    from adjudge.core.domain.criteria import CriteriaExample as CriteriaExample
    from adjudge.core.domain.criteria import CriteriaOption as CriteriaOption
    from adjudge.core.domain.instance import DirectInstance as DirectInstance
    from adjudge.core.domain.instance import Instance as Instance
    from adjudge.core.domain.instance import PairwiseInstance as PairwiseInstance
    from adjudge.core.domain.label import Label as Label
    from adjudge.core.domain.message import Capabilities as Capabilities
    from adjudge.core.domain.message import Reply as Reply
    from adjudge.core.domain.message import Request as Request
    from adjudge.core.domain.multi_criteria import MultiCriteria as MultiCriteria
    from adjudge.core.domain.multi_criteria import MultiCriteriaItem as MultiCriteriaItem
    from adjudge.core.domain.multi_results import (
        MultiCriteriaDirectInstanceResult as MultiCriteriaDirectInstanceResult,
    )
    from adjudge.core.domain.multi_results import MultiCriteriaItemResult as MultiCriteriaItemResult
    from adjudge.core.domain.results import AspectResult as AspectResult
    from adjudge.core.domain.results import DirectInstanceResult as DirectInstanceResult
    from adjudge.core.domain.results import PairwiseInstanceResult as PairwiseInstanceResult
    from adjudge.core.domain.results import Status as Status
    from adjudge.core.domain.vote import Outcome as Outcome
    from adjudge.core.domain.vote import Vote as Vote
    from adjudge.core.engine.cluster import Cluster as Cluster
    from adjudge.core.engine.run import RunSettings as RunSettings
    from adjudge.core.gateway.layers.budget import Budget as Budget
    from adjudge.core.gateway.opener import open_model as open_model
    from adjudge.core.gateway.providers.scripted import ScriptedModel as ScriptedModel
    from adjudge.core.judges.aspect import AspectCritic as AspectCritic
    from adjudge.core.judges.cascade import Cascade as Cascade
    from adjudge.core.judges.direct import BaseDirectJudge as BaseDirectJudge
    from adjudge.core.judges.direct import DirectJudge as DirectJudge
    from adjudge.core.judges.judge import Judge as Judge
    from adjudge.core.judges.pairwise import BasePairwiseJudge as BasePairwiseJudge
    from adjudge.core.judges.pairwise import PairwiseJudge as PairwiseJudge
    from adjudge.errors import AdjudgeError as AdjudgeError
    from adjudge.errors import BudgetSpent as BudgetSpent
    from adjudge.errors import ModelError as ModelError
    from adjudge.errors import RateLimited as RateLimited
    from adjudge.errors import Refused as Refused
    from adjudge.errors import RunError as RunError
    from adjudge.errors import SetupError as SetupError
    from adjudge.features.agents.judge import AgentEvaluator as AgentEvaluator
    from adjudge.features.agents.trajectory import Trajectory as Trajectory
    from adjudge.features.compat.dummy_judges import DummyDirectJudge as DummyDirectJudge
    from adjudge.features.compat.dummy_judges import DummyPairwiseJudge as DummyPairwiseJudge
    from adjudge.features.compat.prometheus import MPrometheusDirectJudge as MPrometheusDirectJudge
    from adjudge.features.compat.prometheus import (
        MPrometheusPairwiseJudge as MPrometheusPairwiseJudge,
    )
    from adjudge.features.compat.unitxt import UnitxtDirectJudge as UnitxtDirectJudge
    from adjudge.features.compat.unitxt import UnitxtPairwiseJudge as UnitxtPairwiseJudge
    from adjudge.features.evidence.judge import EvidenceJudge as EvidenceJudge
    from adjudge.features.explain.opinions import explain_run as explain_run
    from adjudge.features.generate.agent import Agent as Agent
    from adjudge.features.generate.llm import LLM as LLM
    from adjudge.features.generate.qualitative import QualitativeCriteria as QualitativeCriteria
    from adjudge.features.generate.quantitative import QuantitativeCriteria as QuantitativeCriteria
    from adjudge.features.generate.runtime import Runtime as Runtime
    from adjudge.features.generate.strategy import Strategy as Strategy
    from adjudge.features.generate.texts import best_of as best_of
    from adjudge.features.integrations.eval_run import arun as arun
    from adjudge.features.integrations.eval_run import run as run
    from adjudge.features.integrations.saved_run import Run as Run
    from adjudge.features.integrations.saved_run import aload_run as aload_run
    from adjudge.features.integrations.saved_run import load_run as load_run
    from adjudge.features.learning.names import LearnedJudge as LearnedJudge
    from adjudge.features.learning.names import LearnSettings as LearnSettings
    from adjudge.features.rag.judge import RagEvaluator as RagEvaluator
    from adjudge.features.rag.result import RagResult as RagResult
    from adjudge.features.rubrics.judge import RubricJudge as RubricJudge
    from adjudge.features.scale.partition import judge_partition as judge_partition
    from adjudge.features.scale.partition import merge_partitions as merge_partitions
    from adjudge.features.scale.ray_dataset import judge_dataset as judge_dataset
    from adjudge.features.sql.judge import SqlJudge as SqlJudge

__getattr__ = loader(__name__, _HOME_OF)


def __dir__() -> list[str]:
    return list(__all__)
