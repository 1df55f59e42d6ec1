"""``MPrometheusDirectJudge`` and ``MPrometheusPairwiseJudge`` under EvalAssist's path."""

from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge

__all__ = ["MPrometheusDirectJudge", "MPrometheusPairwiseJudge"]
