"""Where EvalAssist has ``DirectJudge``."""

from adjudge.core.judges.direct import DirectJudge

__all__ = ["DirectJudge"]
