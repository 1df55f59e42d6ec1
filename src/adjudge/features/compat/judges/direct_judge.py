"""``DirectJudge`` under EvalAssist's path."""

from adjudge.core.judges.direct import DirectJudge

__all__ = ["DirectJudge"]
