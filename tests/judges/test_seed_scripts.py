"""Scripts of users of EvalAssist, and those of its README, with the import path and the engine changed and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.records import PUBLIC, SAMPLES

SEED = PUBLIC.parent / "seeds" / "evalassist-judges.md"
ENGINE = re.compile(r"CrossProviderInferenceEngine\(.*?\n    \)", re.DOTALL)

without_seed = pytest.mark.skipif(not SEED.is_file(), reason="the seed document is not part of this project")


def scripts(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def ported(script: str) -> str:
    script = script.replace("evalassist.judges", "adjudge.judges")
    script = script.replace("from unitxt.inference import CrossProviderInferenceEngine", "from adjudge import open_model")
    return ENGINE.sub('open_model("scripted", **DEFAULT_JUDGE_INFERENCE_PARAMS)', script)


@pytest.mark.parametrize("place", range(2))
@pytest.mark.parametrize(
    "page", [pytest.param(SAMPLES / "evalassist.md", id="samples"), pytest.param(SEED, id="seed", marks=without_seed)]
)
def test_the_script_runs(page: Path, place: int, capsys: pytest.CaptureFixture[str]) -> None:
    script = ported(scripts(page)[place])
    assert "open_model" in script
    if "DirectJudge" not in script.partition("judge =")[0].replace("BaseDirectJudge", ""):
        script = "from adjudge.judges import DirectJudge\n" + script  # the README uses a name that it does not import
    exec(compile(script, "seed", "exec"), {})
    shown = capsys.readouterr().out
    assert "1.0" in shown or "Aggregated score: 1.00" in shown
