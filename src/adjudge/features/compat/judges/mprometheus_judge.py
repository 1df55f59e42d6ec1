"""Where EvalAssist has ``MPrometheusDirectJudge`` and ``MPrometheusPairwiseJudge``."""

from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge

__all__ = ["MPrometheusDirectJudge", "MPrometheusPairwiseJudge"]
