"""Where EvalAssist has ``DirectJudge``."""

from adjudge.judges.direct import DirectJudge

__all__ = ["DirectJudge"]
