"""Scripts of users of EvalAssist, and those of its README, with the import path and the engine
changed and nothing else.
"""

from __future__ import annotations

import re

import pytest

from support.records import PUBLIC, SAMPLES

SEED = PUBLIC.parent / "seeds" / "evalassist-judges.md"
ENGINE = re.compile(r"CrossProviderInferenceEngine\(.*?\n    \)", re.DOTALL)
SCRIPT = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
OURS = SCRIPT.findall((SAMPLES / "evalassist.md").read_text(encoding="utf-8"))
GRADES = {"Direct": "Feedback: It helps. [RESULT] 4", "Pairwise": "Feedback: It helps. [RESULT] B"}


def ported(script: str) -> str:
    script = script.replace("evalassist.judges", "adjudge.judges")
    script = script.replace(
        "from unitxt.inference import CrossProviderInferenceEngine",
        "from adjudge import open_model",
    )
    for kind, reply in GRADES.items():
        script = script.replace(
            f"MPrometheus{kind}Judge(billions_of_params=3)",
            f'MPrometheus{kind}Judge("scripted/{reply}")',
        )
    return ENGINE.sub('open_model("scripted", **DEFAULT_JUDGE_INFERENCE_PARAMS)', script)


def shown(script: str, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(ported(script), "script", "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out


def test_there_are_twelve_scripts() -> None:
    assert len(OURS) == 12


@pytest.mark.parametrize("place", range(len(OURS)))
def test_the_script_prints_what_it_printed_there(
    place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    script, expected = OURS[place]
    assert shown(script, capsys) == expected


@pytest.mark.skipif(not SEED.is_file(), reason="the seed document is not part of this project")
@pytest.mark.parametrize("place", range(2))
def test_the_script_of_the_seed_runs(place: int, capsys: pytest.CaptureFixture[str]) -> None:
    script = SCRIPT.findall(SEED.read_text(encoding="utf-8"))[place][0]
    if "DirectJudge" not in script.partition("judge =")[0].replace("BaseDirectJudge", ""):
        script = (
            "from adjudge.judges import DirectJudge\n" + script
        )  # the README uses a name that it does not import
    assert "1.0" in shown(script, capsys)
