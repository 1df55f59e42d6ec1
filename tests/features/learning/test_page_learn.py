"""``/run/ID/learn``: the offer to teach a local judge, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.label import Label
from adjudge.trust.labels.store import LabelStore
from support.page import Page, served

CRITERIA = yes_no_criteria("Is it about the sea?")


def text_of(place: int) -> str:
    return f"Number {place} tells of a {'desk' if place % 2 else 'ship'} that day."


def label_of(place: int, option: str) -> Label:
    return Label(
        row=Instance({"response": text_of(place)}).identity,
        criteria=CRITERIA.name,
        annotator="ada",
        option=option,
        design="random",
        at=1.0 + place,
        seed=1,
        drawn_of=60,
    )


def label_rows(folder: Path, count: int) -> None:
    LabelStore(folder).add(
        *(label_of(place, "No" if place % 2 else "Yes") for place in range(count))
    )


def test_mistakes_are_links_to_their_rows(page: Page, tmp_path: Path) -> None:
    label_rows(tmp_path / "run", 58)
    LabelStore(tmp_path / "run").add(label_of(58, "No"))  # a ship
    criterion, *_ = page.data(f"{page.run('run')}/learn?wait=1")["criteria"]
    assert criterion["mistakes"][0] == {
        "row": 59,
        "name": "59",
        "identity": identity_of({"response": text_of(58)}),
        "text": text_of(58),
        "people": "No",
    }
    assert "/row/59" in page.get(f"{page.run('run')}/learn?wait=1").text


def test_who_saw_a_mistake_does_not_label_its_row_blind(page: Page, tmp_path: Path) -> None:
    label_rows(tmp_path / "run", 58)
    LabelStore(tmp_path / "run").add(label_of(58, "No"))  # a ship
    (criterion,) = page.data(f"{page.run('run')}/learn?wait=1")["criteria"]
    shown = {mistake["identity"] for mistake in criterion["mistakes"]}
    address = f"{page.run('run')}/label?annotator=eve&count=60"
    for _ in range(60):
        work = page.data(address)["work"]
        assert work["seen"] == (work["row"]["identity"] in shown)
        page.post(address, do="answer", row=work["row"]["identity"], choice="Yes")
    assert shown


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    texts = [text_of(place) for place in range(60)]
    DirectJudge("scripted/Yes").evaluate(texts, CRITERIA, run=tmp_path / "run")
    with served(tmp_path) as found:
        yield found


def test_few_labels_say_how_many_are_missing(page: Page, tmp_path: Path) -> None:
    assert page.data(f"{page.run('run')}/learn")["criteria"] == []
    label_rows(tmp_path / "run", 20)
    (criterion,) = page.data(f"{page.run('run')}/learn?wait=1")["criteria"]
    assert (criterion["labelled"], criterion["missing"]) == (20, 10)
    assert "/learn" not in page.get(page.run("run")).text


def test_enough_labels_show_the_figures_and_the_command(page: Page, tmp_path: Path) -> None:
    label_rows(tmp_path / "run", 60)
    assert f"{page.run('run')}/learn" in page.get(page.run("run")).text
    (criterion,) = page.data(f"{page.run('run')}/learn?wait=1")["criteria"]
    assert criterion["figures"]["rows"] == 60
    assert criterion["verdict"].startswith("worth it: AUC")
    assert criterion["judges"][0]["auc"]["value"] > 0.9
    assert [labels for labels, _ in criterion["figures"]["curve"]][-1] == 60
    shown = page.get(f"{page.run('run')}/learn?wait=1").text
    assert "AUC by number of labels" in shown
    assert "adjudge learn" in shown
    assert "From words alone, cross-validated:" in shown
