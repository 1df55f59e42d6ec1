"""Where EvalAssist has ``DummyDirectJudge`` and ``DummyPairwiseJudge``."""

from adjudge.judges.dummy import DummyDirectJudge, DummyPairwiseJudge

__all__ = ["DummyDirectJudge", "DummyPairwiseJudge"]
