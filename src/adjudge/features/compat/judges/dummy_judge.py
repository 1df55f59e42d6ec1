"""``DummyDirectJudge`` and ``DummyPairwiseJudge`` under EvalAssist's path."""

from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge

__all__ = ["DummyDirectJudge", "DummyPairwiseJudge"]
