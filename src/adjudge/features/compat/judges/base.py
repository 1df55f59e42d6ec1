"""The base classes of judges, where EvalAssist has them."""

from adjudge.core.judges.direct import BaseDirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.pairwise import BasePairwiseJudge

BaseJudge = Judge

__all__ = ["BaseDirectJudge", "BaseJudge", "BasePairwiseJudge", "Judge"]
