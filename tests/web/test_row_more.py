"""A row beside another run and to take away; who labelled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance, RagEvaluator
from support.labels import compared, model
from support.page import Page, served
from support.rag import ROW, gives
from support.trust import labelled, labels_of, population, run_of

ROWS = population(30)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    labelled(root / "dates", labels_of(ROWS[:20], annotator="bob"))
    labelled(root / "dates", labels_of(ROWS[:10], annotator="ann"))
    run_of(root / "again", ROWS[:20])
    compared(root / "pairs", [("a good text", "a bad text")])
    for name, text in (("one", "It's the <b>first</b> day."), ("two", "It's the last day.")):
        AspectCritic("It is kind.", model(lambda _: "PASS"), name="kind").evaluate(
            [Instance({"response": text}, "x")], run=root / name
        )
    with served(root) as found:
        yield found


def more(page: Page, run: str, row: int, judge: str, other: str = "") -> str:
    chosen = page.run(other).removeprefix("/run/") if other else ""
    return f"{page.run(run)}/row/{row}/more?judge={judge}&other={chosen}"


def test_the_same_row_of_another_run_stands_beside_it(page: Page) -> None:
    address = more(page, "dates", 3, "AspectCritic", "again")
    found = page.data(address)["against"]
    assert [one["row"] for one in found["found"]] == [3, 3]
    assert found["same"] is True
    missing = page.data(more(page, "dates", 25, "AspectCritic", "again"))["against"]
    assert missing["found"] is None
    changed = page.get(more(page, "one", 1, "AspectCritic", "two")).text
    assert "<del>&lt;b&gt;first&lt;/b&gt;</del><ins>last</ins>" in changed
    assert page.get(more(page, "dates", 999, "AspectCritic")).status == 400


def test_two_systems_answers_are_compared_word_by_word(page: Page) -> None:
    found = page.data(more(page, "pairs", 1, "PairwiseJudge"))["answers"]
    assert ["gone", "good"] in found["parts"]
    assert ["new", "bad"] in found["parts"]


def test_a_row_is_taken_away_as_data_and_as_a_call(page: Page) -> None:
    data = page.data(more(page, "one", 1, "AspectCritic"))
    assert json.loads(data["eval_row"]) == {"id": "x", "response": "It's the <b>first</b> day."}
    body = data["curl"].split(" -d '")[1].removesuffix("'").replace("'\\''", "'")
    assert json.loads(body)["response"] == "It's the <b>first</b> day."
    assert json.loads(body)["criteria"]["name"] == "kind"


def test_trust_says_who_labelled_and_how_often_they_agree(page: Page) -> None:
    ann, bob = page.data(f"{page.run('dates')}/trust")["annotators"]
    assert (ann["annotator"], ann["labels"], bob["labels"]) == ("ann", 10, 20)
    assert ann["with_others"] == bob["with_others"] == [10, 10]
    judged = [verdict == truth for _, verdict, truth in ROWS[:20]]
    assert bob["with_judge"] == [sum(judged), 20]


def test_the_end_of_a_queue_sums_up_what_was_said(page: Page) -> None:
    address = f"{page.run('again')}/label?annotator=eve&count=1"
    row = page.data(address)["work"]["row"]["identity"]
    page.post(address, do="answer", row=row, choice="PASS", note="“said”")
    while (found := page.data(address)["work"])["row"]:
        page.post(address, do="unsure", row=found["row"]["identity"])
    assert found["summary"]["answers"] == {"PASS": 1}
    assert found["summary"]["notes"] == 1
    assert "Your answer" in page.get(address).text


def test_a_vote_on_a_rag_answer_says_which_dimension_it_is_about(tmp_path: Path) -> None:
    RagEvaluator(gives()).evaluate([ROW], run=tmp_path / "rag")
    with served(tmp_path) as page:
        there = f"{page.run('rag')}/row/1"
        chosen, shown = page.data(there)["chosen"], page.get(there).text
    told = {one["about"]: int(one["said"]) for one in chosen["votes"]}
    assert told == {one["title"]: one["score"] for one in chosen["dimensions"]}
    assert len(told) == 6
    assert all(f'<span class="tag">{title}</span>' in shown for title in told)


def test_what_we_say_of_a_row_is_said_in_the_language_of_the_page(tmp_path: Path) -> None:
    run_of(tmp_path / "run", ROWS[:3], failed=lambda text: text.startswith("row 1 "))
    with served(tmp_path, language="ru") as page:
        run = page.run("run")
        assert "в ответе нет вердикта" in page.data(f"{run}/row/2")["chosen"]["reason"]
        assert "в ответе нет вердикта" in page.get(f"{run}/row/2").text
