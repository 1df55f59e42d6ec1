"""Where EvalAssist has ``PairwiseJudge``."""

from adjudge.core.judges.pairwise import PairwiseJudge

__all__ = ["PairwiseJudge"]
