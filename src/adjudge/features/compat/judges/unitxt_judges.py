"""Where EvalAssist has ``UnitxtDirectJudge`` and ``UnitxtPairwiseJudge``."""

from adjudge.features.compat.unitxt import UnitxtDirectJudge, UnitxtPairwiseJudge

__all__ = ["UnitxtDirectJudge", "UnitxtPairwiseJudge"]
