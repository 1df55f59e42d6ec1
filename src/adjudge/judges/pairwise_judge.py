"""Where EvalAssist has ``PairwiseJudge``."""

from adjudge.judges.pairwise import PairwiseJudge

__all__ = ["PairwiseJudge"]
