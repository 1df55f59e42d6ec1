"""What a label says about probabilities: one scale for the threshold that is learned and the
cascade that applies it, and a temperature for its own judge alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, Cascade, Instance
from adjudge.core.domain.decision import DecisionOption, DecisionQuestion
from adjudge.core.domain.label import Label
from adjudge.core.gateway.opener import open_model
from adjudge.core.judges.learnt_settings import Learnt, LearntTemperature
from adjudge.errors import SetupError
from adjudge.runs.service.known_questions import KnownQuestion, KnownQuestions
from adjudge.stats.temperature import at_temperature
from adjudge.trust.cascades import CascadeSettings
from adjudge.trust.probabilities import calibrate_probabilities
from support.decision_server import serving

ROWS = 40
IS_KIND = "It is kind."


def labels_of(rows: list[Instance], results: list[Any]) -> list[Label]:
    """Every third verdict is wrong."""
    other = {"PASS": "FAIL", "FAIL": "PASS"}
    return [
        Label(
            row=row.identity,
            criteria="kind",
            annotator="ann",
            option=other[result.verdict] if number % 3 == 0 else result.verdict,
            design="random",
        )
        for number, (row, result) in enumerate(zip(rows, results, strict=True))
    ]


def test_a_cascade_accepts_on_the_scale_of_its_threshold_and_serves_at_its_temperature(
    tmp_path: Path,
) -> None:
    with serving() as server:
        critic = AspectCritic(IS_KIND, open_model(f"systemone:{server.url}#fake-1"), name="kind")
        rows = [Instance({"response": f"text {number}"}) for number in range(ROWS)]
        results: list[Any] = critic.evaluate(rows, run=tmp_path / "run")
        (report,) = calibrate_probabilities(
            tmp_path / "run",
            labels_of(rows, results),
            settings=CascadeSettings(risk=0.6, delta=0.3),
        )
        needed, fitted = report.threshold.confidence, report.learnt_temperature
        assert needed is not None and fitted is not None
        learnt = Learnt((report.thresholds,), temperatures=(fitted,))
        learnt.write(tmp_path / "learnt.json")
        cascade: Any = Cascade([critic], calibration=tmp_path / "learnt.json")
        judged = cascade.evaluate(rows)
        for plain, one in zip(results, judged, strict=True):
            # the raw probability of the verdict decides, and the temperature moves none
            sure = plain.votes[0].distribution[plain.verdict] >= needed
            assert one.verdict == (plain.verdict if sure else None)
        question = DecisionQuestion(
            "q", "predicate", IS_KIND, (DecisionOption("true"), DecisionOption("false"))
        )
        known = KnownQuestion(critic.criteria, cascade)
        fields = {"response": "text 0"}
        answer, _ = asyncio.run(KnownQuestions((known,)).ask(known, question, fields))
        expected = at_temperature(results[0].votes[0].distribution, fitted.temperature)
        assert answer.probabilities == pytest.approx((expected["PASS"], expected["FAIL"]))
        # of another judge, or of a file that does not say which step it is for
        for identity in ("0" * 16, ""):
            other = replace(learnt, temperatures=(replace(fitted, step_identity=identity),))
            strange = KnownQuestion(critic.criteria, Cascade([critic], calibration=other))
            answer, _ = asyncio.run(KnownQuestions((strange,)).ask(strange, question, fields))
            assert answer.probabilities is not None
            assert answer.probabilities[0] == pytest.approx(
                results[0].votes[0].distribution["PASS"]
            )


def test_a_temperature_alone_is_no_threshold_and_says_so() -> None:
    fitted = LearntTemperature(
        criteria="kind", labels=40, date="2026-11-19", model="m", temperature=1.5, identity="one"
    )
    with pytest.raises(SetupError, match="a temperature for 'kind', but no threshold"):
        Learnt(temperatures=(fitted,)).cascade_for("kind")
