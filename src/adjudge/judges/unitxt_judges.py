"""Where EvalAssist has ``UnitxtDirectJudge`` and ``UnitxtPairwiseJudge``."""

from adjudge.judges.unitxt import UnitxtDirectJudge, UnitxtPairwiseJudge

__all__ = ["UnitxtDirectJudge", "UnitxtPairwiseJudge"]
