"""People label what the sources say of a whole text, and the share of supported texts is corrected
by that.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import EvidenceJudge, Instance, RagEvaluator, ScriptedModel
from adjudge.core.domain.label import Answer, Label
from adjudge.core.domain.message import Request
from adjudge.errors import RunError
from adjudge.features.stress.card import judge_cards
from adjudge.runs.folder import records_of
from adjudge.trust import calibrate_run
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.labels.files import LabelDefaults, read_labels, run_rows
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.rows import Rows
from support.page import served

FRAGMENT = "The tower was finished in 1889. It is 330 metres tall."


def script(request: Request) -> str:
    """Supports whatever names the year, and contradicts what names another height."""
    sentence = request.prompt.messages[1].content.rsplit('field="sentence">', 1)[-1]
    said, quote = ("supported", "in 1889") if "1889" in sentence else ("contradicted", "330 metres")
    said = "not found" if "red" in sentence else said
    evidence = [{"fragment": 1, "quote": quote}] if said != "not found" else []
    return json.dumps({"explanation": "so", "evidence": evidence, "selected_option": said})


def text(number: int) -> str:
    second = (
        "It is red."
        if number % 4 == 1
        else "It is 400 metres tall."
        if number % 4 == 2
        else "Hello!"
    )
    return f"Tower {number} was finished in 1889. {second}"


def looked_up(folder: Path, rows: int = 40, language: str = "en") -> Path:
    judge = EvidenceJudge(ScriptedModel(script), language=language)
    judge.evaluate(
        [
            Instance({"contexts": [FRAGMENT], "response": text(row)}, f"r{row}")
            for row in range(rows)
        ],
        run=folder,
    )
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return looked_up(tmp_path_factory.mktemp("run") / "run")


def identity(number: int) -> str:
    return Instance({"contexts": [FRAGMENT], "response": text(number)}).identity


def test_people_are_asked_what_the_sentences_come_to_and_see_the_sources(run: Path) -> None:
    scale = label_scale(run, None).scale
    assert scale.criteria.option_names == ("supported", "contradicted", "not found")
    work = labelling(run, Annotator("ann"))
    shown = work.next()
    assert shown is not None and set(shown.fields) == {"contexts", "response"}
    work.answer(shown, Answer(option="not found"))
    assert [one.option for one in LabelStore(run).current("support")] == ["not found"]


def test_the_share_of_supported_texts_is_corrected(tmp_path: Path) -> None:
    """People find that one in ten of the texts that the judge supports is not: the corrected share
    says so.
    """
    run = looked_up(tmp_path / "run", rows=120)
    judged = ["supported", "not found", "contradicted", "supported"]
    store = LabelStore(run)
    for row in range(60):
        said = judged[row % 4] if row % 10 else "not found"
        store.add(
            Label(
                row=identity(row), criteria="support", annotator="ann", option=said, design="random"
            )
        )
    (found,) = calibrate_run(run, settings=CalibrationSettings(agreement=None))
    assert (found.measure.name, found.naive.value) == ("supported", pytest.approx(0.5))
    assert found.corrected is not None and found.corrected.value == pytest.approx(0.45)


def test_the_card_of_the_judge_says_what_it_judges(run: Path) -> None:
    (card,) = judge_cards(run).cards
    assert card.questions == (
        ("support", "Do the sources say what the text says?", "supported, contradicted, not found"),
    )


def test_labels_come_from_a_sheet(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("id,label\nr0,Supported\nr1,not found\n", encoding="utf-8")
    with run_rows(run) as rows:
        labels = list(read_labels(sheet, rows, LabelDefaults(annotators=("ann",))))
    assert [(one.row, one.option) for one in labels] == [
        (identity(0), "supported"),
        (identity(1), "not found"),
    ]


def test_the_page_asks_the_same_in_the_language_of_the_run(tmp_path: Path) -> None:
    looked_up(tmp_path / "looked", rows=2, language="ru")
    with served(tmp_path) as page:
        address = f"{page.run('looked')}/label?annotator=ann"
        row = page.data(address)["work"]["row"]
        assert "Сказано ли в источниках" in page.get(address).text
        assert (
            page.post(address, do="answer", row=str(row["identity"]), choice="supported").status
            == 200
        )
    (label,) = LabelStore(tmp_path / "looked").current()
    assert label.option == "supported"


def test_rules_give_no_verdict_to_be_labelled(tmp_path: Path) -> None:
    EvidenceJudge(method="rules").evaluate(
        [{"contexts": [FRAGMENT], "response": "It is 330 m tall."}], run=tmp_path / "run"
    )
    with pytest.raises(RunError, match="nothing to label"):
        label_scale(tmp_path / "run", None)


def test_votes_on_sentences_and_on_other_dimensions_are_no_votes_on_the_row(
    run: Path, tmp_path: Path
) -> None:
    """They would tell how often a vote or a member of the panel is right, by what it said of
    something else.
    """
    rag = RagEvaluator("scripted", dimensions=["clarity", "conciseness"])
    rag.evaluate([{"user_input": "?", "response": "Yes."}], run=tmp_path / "several")
    one = RagEvaluator("scripted", dimensions=["clarity"])
    one.evaluate([{"user_input": "?", "response": "Yes."}], run=tmp_path / "one")
    found = {
        name: label_scale(folder, name).scale
        for name, folder in (("support", run), ("clarity", tmp_path / "several"))
    }
    assert [
        scale.by_parts for scale in (*found.values(), label_scale(tmp_path / "one", None).scale)
    ] == [True, True, False]
    (judgment,) = (one for one in records_of(run, votes=True) if one.index == 0)
    assert judgment.votes
    rows = Rows(found["support"], {}, read_votes=lambda _: judgment.votes or (), all_votes=[])
    rows.add(judgment)
    assert (rows.verdicts, rows.all_votes) == ([judgment.verdict], [()])
