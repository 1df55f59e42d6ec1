"""Labels go by the name of a criterion, so one name cannot stand for two opposite questions."""

from __future__ import annotations

from pathlib import Path

from adjudge import DirectJudge, Instance
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.labels.store import LabelStore
from support import commands
from support.labels import label, model

REFUSED = "disagree about which option of 'tone' is better"
EVAL = """
data: rows.csv
models: [scripted]
judges:
  - kind: direct
    name: a
    criteria: {name: tone, description: "Rude?", options: [Yes, No], good: No}
  - kind: direct
    name: b
    criteria: {name: tone, description: "Kind?", options: [Yes, No], good: %s}
"""


def test_an_eval_file_with_opposed_criteria_of_one_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response\n1,Hello.\n", encoding="utf-8")
    file = tmp_path / "eval.yaml"
    for good, code in (("No", 0), ("Yes", 1)):  # another wording alone is a comparison
        file.write_text(EVAL % good, encoding="utf-8")
        done = commands.adjudge("run", file, "--dry-run")
        assert done.returncode == code
    assert REFUSED in done.stderr


def test_no_number_is_corrected_with_labels_of_an_opposed_criterion(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    rows = [Instance({"response": f"number {number} ."}) for number in range(12)]
    tones = [
        Criteria("tone", question, [CriteriaOption("Yes", yes), CriteriaOption("No", 1 - yes)])
        for question, yes in (("Rude?", 0.0), ("Kind?", 1.0))
    ]
    DirectJudge(model(lambda _: "No")).evaluate(rows, [*tones * 6], run=folder)
    LabelStore(folder).add(label("number 0 .", "No", criteria="tone", design="random"))
    assert calibrate_run(folder) == []
    for command in (["calibrate"], ["label", "--criteria", "tone"]):
        done = commands.adjudge(command[0], folder, *command[1:])
        assert done.returncode and REFUSED in done.stderr
