"""The base classes of judges, where EvalAssist has them."""

from adjudge.judges.base_direct import BaseDirectJudge
from adjudge.judges.base_pairwise import BasePairwiseJudge
from adjudge.judges.judge import Judge

BaseJudge = Judge

__all__ = ["BaseDirectJudge", "BaseJudge", "BasePairwiseJudge", "Judge"]
