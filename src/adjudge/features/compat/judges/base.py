"""The base classes of judges under EvalAssist's path."""

from adjudge.core.judges.direct import BaseDirectJudge
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.pairwise import BasePairwiseJudge

BaseJudge = Judge

__all__ = ["BaseDirectJudge", "BaseJudge", "BasePairwiseJudge", "Judge"]
