"""``UnitxtDirectJudge`` and ``UnitxtPairwiseJudge`` under EvalAssist's path."""

from adjudge.features.compat.unitxt import UnitxtDirectJudge, UnitxtPairwiseJudge

__all__ = ["UnitxtDirectJudge", "UnitxtPairwiseJudge"]
