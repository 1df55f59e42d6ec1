"""Where EvalAssist has ``MPrometheusDirectJudge`` and ``MPrometheusPairwiseJudge``."""

from adjudge.judges.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge

__all__ = ["MPrometheusDirectJudge", "MPrometheusPairwiseJudge"]
