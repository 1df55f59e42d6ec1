"""The base classes of judges, where EvalAssist has them."""

from adjudge.judges.direct import BaseDirectJudge
from adjudge.judges.judge import Judge
from adjudge.judges.pairwise import BasePairwiseJudge

BaseJudge = Judge

__all__ = ["BaseDirectJudge", "BaseJudge", "BasePairwiseJudge", "Judge"]
