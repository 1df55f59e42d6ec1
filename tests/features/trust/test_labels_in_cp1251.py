"""Files of labels that are not UTF-8, as Russian spreadsheets write them."""

from __future__ import annotations

from pathlib import Path

from adjudge.trust.labels.store import LabelStore
from support.commands import adjudge
from support.labels import judged


def test_the_encoding_that_the_error_asks_for_can_be_said(tmp_path: Path) -> None:
    """The error named ``--encoding``, and neither command had it."""
    run = judged(tmp_path / "run", ["Built in 1889.", "Old."], lambda _: "PASS")
    sheet = tmp_path / "labels.csv"
    sheet.write_bytes("id;label;annotator\nr0;PASS;Анна\nr1;FAIL;Анна\n".encode("cp1251"))
    for words in (("label", run, "--import", sheet), ("calibrate", run, "--labels", sheet)):
        refused = adjudge(*words)
        assert refused.returncode == 1 and "--encoding cp1251" in refused.stderr
        accepted = adjudge(*words, "--encoding", "cp1251")
        assert "UTF-8" not in accepted.stderr and accepted.returncode in (0, 5), accepted.stderr
    assert {label.annotator for label in LabelStore(run).current()} == {"Анна"}
