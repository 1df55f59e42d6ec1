"""Where EvalAssist has ``DummyDirectJudge`` and ``DummyPairwiseJudge``."""

from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge

__all__ = ["DummyDirectJudge", "DummyPairwiseJudge"]
