"""``PairwiseJudge`` under EvalAssist's path."""

from adjudge.core.judges.pairwise import PairwiseJudge

__all__ = ["PairwiseJudge"]
