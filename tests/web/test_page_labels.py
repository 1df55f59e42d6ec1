"""Labelling in the page: blind, each key on the disk, the same labels as the terminal gives."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adjudge.trust.labels.criteria_notes import notes_in
from adjudge.trust.labels.scales import JudgedScale
from adjudge.trust.labels.session import Annotator, DrawnRows, draw_rows
from adjudge.trust.labels.store import LabelStore
from adjudge.web import label_sessions
from adjudge.web.label_sessions import LabelSessions
from adjudge.web.library import Library
from adjudge.web.pages import label as label_page
from support.labels import compared, judged
from support.page import Page, served


@pytest.fixture
def root(tmp_path: Path) -> Path:
    judged(
        tmp_path / "dates",
        [f"text {number}" for number in range(6)],
        lambda text: "PASS" if "text 1" in text else "FAIL",
    )
    return tmp_path


@pytest.fixture
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def desk(page: Page, name: str = "dates", more: str = "") -> str:
    return f"{page.run(name)}/label?annotator=ann{more}"


def next_row(page: Page, address: str) -> dict[str, object]:
    found: dict[str, object] = page.data(address)["work"]["row"]
    return found


def press(page: Page, address: str, **fields: str) -> str:
    answer = page.post(address, **fields)
    assert answer.status == 200, answer.text
    return answer.text


def test_an_answer_is_on_the_disk_before_the_next_row_is_shown(page: Page, root: Path) -> None:
    address = desk(page)
    row = next_row(page, address)
    press(page, address, do="answer", row=str(row["identity"]), choice="PASS", note="clear")
    (label,) = LabelStore(root / "dates").current()
    assert (label.option, label.annotator, label.design, label.note) == (
        "PASS",
        "ann",
        "random",
        "clear",
    )
    assert not label.judge_visible
    assert next_row(page, address)["identity"] != row["identity"]


def test_skip_unsure_and_undo(page: Page, root: Path) -> None:
    address, store = desk(page), LabelStore(root / "dates")
    first = next_row(page, address)
    press(page, address, do="skip", row=str(first["identity"]))
    second = next_row(page, address)
    press(page, address, do="unsure", row=str(second["identity"]))
    assert {label.state for label in store.current()} == {"skipped", "unsure"}
    press(page, address, do="undo")
    assert next_row(page, address) == second
    assert [label.state for label in store.history()][-1] == "withdrawn"


def test_rows_that_are_drawn_for_long_hold_up_nobody_in_another_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root / "dates", root / "large")
    large, small = Library(root).scan()
    large, small = (large, small) if large.name == "large" else (small, large)
    sessions, began, other_was_served = LabelSessions(), threading.Event(), threading.Event()

    def draw_for_long(store: LabelStore, judged: JudgedScale, who: Annotator) -> DrawnRows:
        if store.folder == large.folder:
            began.set()
            assert other_was_served.wait(60)
        return draw_rows(store, judged, who)

    monkeypatch.setattr(label_sessions, "draw_rows", draw_for_long)
    with ThreadPoolExecutor(1) as beside:
        slow = beside.submit(sessions.work, large, None, Annotator("ann"))
        assert began.wait(60) and sessions.work(small, None, Annotator("bob")).next()
        other_was_served.set()
        assert slow.result().next()


def test_a_session_is_served_while_one_of_another_run_takes_its_room(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root / "dates", root / "other")
    place, other = Library(root).scan()
    sessions, ann = LabelSessions(), Annotator("ann")
    first = sessions.work(place, None, ann)

    def look_while_another_begins(*_: object) -> bool:
        with ThreadPoolExecutor(1) as beside:
            assert beside.submit(sessions.work, other, None, ann).result().next()
        return False

    monkeypatch.setattr(label_sessions, "_MOST", 1)
    monkeypatch.setattr(label_sessions, "_is_over", look_while_another_begins)
    assert sessions.work(place, None, ann) is first


def test_a_row_that_another_tab_labelled_is_not_labelled_by_mistake(page: Page, root: Path) -> None:
    address = desk(page)
    row = str(next_row(page, address)["identity"])
    press(page, address, do="answer", row=row, choice="PASS")
    assert "another tab" in press(page, address, do="answer", row=row, choice="FAIL")
    assert [label.option for label in LabelStore(root / "dates").current()] == ["PASS"]


def test_the_page_of_a_row_does_not_depend_on_its_verdict(tmp_path: Path) -> None:
    """Byte by byte, but for nonces and what is of this server: the same rows, judged in opposite
    ways.
    """
    shown = []
    for verdict in ("PASS", "FAIL", ""):
        root = tmp_path / (verdict or "none")
        judged(root / "dates", ["the only text"], lambda _, said=verdict: said)  # type: ignore[misc]
        with served(root) as page:
            address = desk(page)
            pages = [page.get(address).text, str(page.data(address))]
        own = rf'nonce="[^"]*"|"X-Adjudge-Token": "\w+"|{page.access.place[1:]}'
        plain = [re.sub(own, "", text) for text in pages]
        shown.append(plain)
    assert shown[0] == shown[1] == shown[2]


def test_who_looked_at_the_verdict_first_was_not_blind(page: Page, root: Path) -> None:
    address = desk(page)
    row = next_row(page, address)
    number = str(row["id"]).removeprefix("r")
    assert page.get(f"{page.run('dates')}/row/{int(number) + 1}").status == 200
    assert page.data(address)["work"]["seen"]
    press(page, address, do="answer", row=str(row["identity"]), choice="PASS")
    assert [label.judge_visible for label in LabelStore(root / "dates").current()] == [True]


@pytest.mark.parametrize(
    "address",
    [
        "/compare/outputs?runs={a}&runs={b}",
        "/compare?a={a}&b={b}",
        "{run}/row/1/more?other={b}&judge={judge}",
    ],
)
def test_verdicts_seen_elsewhere_are_not_blind_either(page: Page, root: Path, address: str) -> None:
    judged(root / "later", [f"text {number}" for number in range(6)], lambda _: "PASS")
    a, b = (page.run(name).rsplit("/", 1)[1] for name in ("dates", "later"))
    assert not page.data(desk(page, "later"))["work"]["seen"]
    run, judge = page.run("dates"), page.data(page.run("dates"))["judge"]
    assert page.get(address.format(a=a, b=b, run=run, judge=judge)).status == 200
    seen = {name: page.data(desk(page, name))["work"] for name in ("dates", "later")}
    for work in seen.values():
        is_shown = work["row"]["id"] == "r0" if "more" in address else work["row"]["id"] != "r1"
        assert work["seen"] == is_shown


def test_a_verdict_on_the_same_text_in_another_run_is_not_blind_either(
    page: Page, root: Path
) -> None:
    judged(root / "later", [f"text {number}" for number in range(3)], lambda _: "PASS")
    assert page.get(f"{page.run('later')}/row/1").status == 200
    address = desk(page)
    for _ in range(6):
        work = page.data(address)["work"]
        assert work["seen"] == (work["row"]["id"] == "r0")
        press(page, address, do="answer", row=work["row"]["identity"], choice="PASS")


def test_one_verdict_marks_copies_of_the_row_and_its_other_criteria(tmp_path: Path) -> None:
    judged(tmp_path / "copies", ["twice", "once", "twice"], lambda _: "PASS")
    with served(tmp_path) as page:
        assert page.get(f"{page.run('copies')}/row/3").status == 200
        address = desk(page, "copies")
        for _ in range(2):
            work = page.data(address)["work"]
            assert work["seen"] == (work["row"]["fields"][0]["text"] == "twice")
            press(page, address, do="answer", row=work["row"]["identity"], choice="PASS")


def test_compared_responses_are_shuffled_and_put_back(tmp_path: Path) -> None:
    compared(tmp_path / "pairs", [(f"first {number}", f"second {number}") for number in range(8)])
    with served(tmp_path) as page:
        address, shown = desk(page, "pairs"), []
        for _ in range(8):
            row = page.data(address)["work"]["row"]
            texts = [field["text"] for field in row["fields"]]
            shown.append(texts[0].split()[0])
            winner = "A" if texts[0].startswith("second") else "B"
            press(page, address, do="answer", row=row["identity"], choice=winner)
    assert {"first", "second"} == set(shown)
    assert [label.winner for label in LabelStore(tmp_path / "pairs").current()] == [1] * 8


def test_chosen_rows_are_marked_as_chosen(page: Page, root: Path) -> None:
    address = desk(page, more="&queue=failed")
    assert page.data(address)["work"]["row"] is None
    assert "This queue has no rows" in page.get(address).text


def test_read_only_keeps_no_label(root: Path) -> None:
    with served(root, read_only=True) as page:
        assert page.get(desk(page)).status == 403
        assert page.post(desk(page), do="undo").status == 403
    assert not (root / "dates" / "labels.sqlite").exists()


def test_a_strange_desk_is_refused_in_words(page: Page) -> None:
    run = page.run("dates")
    for more in (
        "&criteria=none",
        "&queue=none",
        "&count=0",
        "&count=x",
        "&overlap=x",
        "&annotator=%00",
    ):
        assert page.get(f"{run}/label?annotator=ann{more}").status == 400


def test_a_form_that_is_too_large_is_refused(page: Page) -> None:
    assert page.post(desk(page), do="skip", note="x" * 70_000).status == 413
    assert (
        page.post(
            desk(page),
            do="answer",
            choice="NEITHER",
            row=str(next_row(page, desk(page))["identity"]),
        ).status
        == 400
    )


def test_annotators_share_some_rows_and_divide_the_others(page: Page) -> None:
    shown: dict[str, list[str]] = {"ann": [], "bob": []}
    for _ in range(6):
        for name, seen in shown.items():
            address = f"{page.run('dates')}/label?annotator={name}&overlap=2"
            if row := page.data(address)["work"]["row"]:
                seen.append(str(row["id"]))
                press(page, address, do="answer", row=row["identity"], choice="PASS")
    assert len(set(shown["ann"]) & set(shown["bob"])) == 2
    assert len(set(shown["ann"]) | set(shown["bob"])) == 6


def test_where_annotators_differ_somebody_decides_and_the_row_is_done(
    page: Page, root: Path
) -> None:
    for name, choice in (("ann", "PASS"), ("bob", "FAIL")):
        address = f"{page.run('dates')}/label?annotator={name}"
        for _ in range(2):
            row = page.data(address)["work"]["row"]
            press(
                page,
                address,
                do="answer",
                row=row["identity"],
                choice=choice,
                note=f"{name} thinks so: “{row['fields'][0]['text'][:6]}”",
            )
    store = LabelStore(root / "dates")
    assert len([one for one in store.conflicts() if one.is_open]) == 2
    decide = f"{page.run('dates')}/label?annotator=chris&queue=conflicts"
    work = page.data(decide)["work"]
    assert {(one["annotator"], one["answer"]) for one in work["said_by_others"]} == {
        ("ann", "PASS"),
        ("bob", "FAIL"),
    }
    shown = page.get(decide).text
    assert "ann thinks so" in shown
    assert f"<mark>{work['row']['fields'][0]['text'][:6]}</mark>" in shown, "what they quote"
    press(page, decide, do="answer", row=work["row"]["identity"], choice="PASS")
    assert len([one for one in store.conflicts() if one.is_open]) == 1
    assert page.data(decide)["work"]["row"]["identity"] != work["row"]["identity"]
    own = f"{page.run('dates')}/label?annotator=ann&queue=conflicts"
    press(page, own, do="answer", row=page.data(own)["work"]["row"]["identity"], choice="FAIL")
    assert not [one for one in store.conflicts() if one.is_open]
    assert page.data(own)["work"]["row"] is None


def test_the_verdict_is_revealed_after_the_label_and_a_change_is_marked(
    page: Page, root: Path
) -> None:
    address = desk(page)
    assert page.data(address)["work"]["last"] is None
    row = next_row(page, address)
    assert "What did the judge say" in press(
        page, address, do="answer", row=str(row["identity"]), choice="PASS"
    )
    last = page.data(address)["work"]["last"]
    assert f"r{last['row'] - 1}" == row["id"]
    assert (
        page.get(f"{page.run('dates')}/row/{last['row']}?judge={last['judge']}&part=1").status
        == 200
    )
    assert [label.judge_visible for label in LabelStore(root / "dates").current()] == [False]
    press(page, address, do="undo")
    assert page.data(address)["work"]["last"] is None
    press(page, address, do="answer", row=str(row["identity"]), choice="FAIL")
    assert [
        (label.option, label.judge_visible) for label in LabelStore(root / "dates").current()
    ] == [("FAIL", True)]
    assert [label.option for label in LabelStore(root / "dates").of_each_copy()] == ["PASS"]


def test_a_note_on_the_criteria_is_kept_with_them_and_shown_to_who_writes_them(
    page: Page, root: Path
) -> None:
    address = desk(page)
    row = next_row(page, address)
    assert "Kept as a note" in press(page, address, do="unclear", unclear=" What is a <date>? ")
    assert next_row(page, address) == row
    assert [(one.criteria, one.annotator, one.note) for one in notes_in(root / "dates")] == [
        ("dates", "ann", "What is a <date>?")
    ]
    assert "What is a &lt;date&gt;?" in page.get(f"{page.run('dates')}/trust").text
    assert page.post(address, do="unclear", unclear=" ").status == 400
    (root / "dates" / "criteria-notes.jsonl").write_text('{"criteria": 1}\nnothing\n', "utf-8")
    assert notes_in(root / "dates") == []


def test_notes_are_not_written_through_a_link(
    page: Page, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("outside") / "file"
    (root / "dates" / "criteria-notes.jsonl").symlink_to(target)
    assert page.post(desk(page), do="unclear", unclear="x").status == 400
    assert not target.exists()


def test_a_label_is_in_the_trust_report_at_once(tmp_path: Path) -> None:
    judged(tmp_path / "run", [f"text {number}" for number in range(30)], lambda _: "PASS")
    with served(tmp_path) as page:
        run = page.run("run")
        for labelled in range(1, 4):
            desk = f"{run}/label?annotator=ann"
            page.post(desk, row=page.data(desk)["work"]["row"]["identity"], choice="PASS")
            (found,) = page.data(f"{run}/trust")["calibrations"]
            assert found["data"]["labels"]["n"] == labelled


def test_how_sure_the_number_is_shows_while_labelling_and_never_depends_on_the_judge(
    tmp_path: Path,
) -> None:
    """The judge agrees with every label, or with none: annotators see the same."""
    told = []
    for verdict in ("PASS", "FAIL"):
        root = tmp_path / verdict
        texts = [f"text {number}" for number in range(30)]
        judged(root / "run", texts, lambda _, said=verdict: said)  # type: ignore[misc]
        with served(root) as page:
            address = desk(page, "run")
            row = next_row(page, address)
            for _ in range(20):
                press(page, address, do="answer", row=str(row["identity"]), choice="PASS")
                work = page.data(address)["work"]
                row = work["row"]
                told.append(work["so_far"])
            text = page.get(address).text
            assert "20 rows, all annotators" in text
            for reach in ("reach", "anytime"):
                assert f"<dd>±{told[-1][reach]:.3f}</dd>" in text
            assert "Labels still needed for ±0.05</dt><dd>more than the run has" in text
            assert (
                page.data(f"{page.run('run')}/label?annotator=ann&queue=failed")["work"]["so_far"]
                is None
            )
    assert told[:20] == told[20:]
    assert [one["reach"] is None for one in told[:20]] == [True] * 7 + [False] * 13
    widths = [one["reach"] for one in told[7:20]]
    assert widths == sorted(widths, reverse=True)
    assert told[19]["soon"] < told[19]["reach"]
    assert told[19]["more"] > 0


def test_a_run_that_was_replaced_is_labelled_anew(page: Page, root: Path) -> None:
    address = desk(page)
    row = str(next_row(page, address)["identity"])
    shutil.rmtree(root / "dates")
    judged(root / "dates", ["another text"], lambda _: "PASS")
    assert "this is the next one" in press(page, address, do="answer", row=row, choice="PASS")
    press(page, address, do="answer", row=str(next_row(page, address)["identity"]), choice="FAIL")
    assert [label.option for label in LabelStore(root / "dates").current()] == ["FAIL"]


def test_a_row_that_was_only_fetched_ahead_is_not_seen(page: Page, root: Path) -> None:
    address = desk(page)
    row = next_row(page, address)
    at = f"{page.run('dates')}/row/{int(str(row['id'])[1:]) + 1}?part=1"
    assert page.get(f"{at}&ahead=1").status == 200
    assert not page.data(address)["work"]["seen"]
    assert page.get(f"{at}&seen=1").status == 204
    assert page.data(address)["work"]["seen"]


def test_markdown_is_drawn_and_a_row_without_an_id_has_its_number(page: Page, root: Path) -> None:
    compared(root / "drawn", [("**one**", "\u202etwo")])
    shown = page.get(desk(page, "drawn")).text
    assert "<h2>Row 1</h2>" in shown
    assert "<strong>one</strong>" in shown and "⟨U+202E⟩two" in shown


def test_two_who_divide_rows_never_have_the_same_one(page: Page) -> None:
    ann, bob = (f"{page.run('dates')}/label?annotator={who}&overlap=1" for who in ("ann", "bob"))
    seen: dict[str, list[str]] = {ann: [], bob: []}
    for _ in range(3):
        rows = {who: str(next_row(page, who)["identity"]) for who in (ann, bob)}
        assert rows == {who: str(next_row(page, who)["identity"]) for who in (ann, bob)}
        for who, row in rows.items():
            seen[who].append(row)
            press(page, who, do="answer", row=row, choice="PASS")
    shared = set(seen[ann]) & set(seen[bob])
    assert shared == {seen[ann][0]} == {seen[bob][0]}
    last = str(next_row(page, ann)["identity"])
    waits = page.data(bob)["work"]
    assert waits["row"] is None and waits["waiting"]
    assert "assigned to other annotators" in page.get(bob).text
    press(page, ann, do="skip", row=last)
    assert next_row(page, bob)["identity"] == last


def test_a_row_that_was_taken_back_is_nobody_elses(page: Page) -> None:
    ann, bob = (f"{page.run('dates')}/label?annotator={who}&overlap=0" for who in ("ann", "bob"))
    first = next_row(page, ann)["identity"]
    press(page, ann, do="answer", row=str(first), choice="PASS")
    assert next_row(page, ann)["identity"] != first
    press(page, ann, do="undo")
    assert next_row(page, bob)["identity"] != first
    assert next_row(page, ann)["identity"] == first


def test_the_page_is_there_before_its_rows_are_drawn(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.SLOW", 0)
    address = desk(page)
    waiting = page.get(address).text
    assert 'hx-trigger="load"' in waiting and 'id="work"' not in waiting
    assert "label.js" in waiting, "what labels by keys is there before the rows come"
    drawn = page.get(f"{address}&wait=1").text
    assert 'id="work"' in drawn and "wait=1" not in drawn.partition("<main")[2]
    assert 'id="work"' in page.get(address).text, "they are drawn once"


def test_rows_are_assigned_and_everybody_gets_their_own(page: Page, root: Path) -> None:
    run = page.run("dates")
    shown = press(page, f"{run}/label/assign", people="ann\n bob  smith \n", per_row="1")
    assert shown.count("0 of 3 labelled") == 2 and "annotator=bob+smith" in shown
    begin = page.get(f"{run}/label").text
    assert 'name="annotator" value=""' in begin, "a login that nobody named is not offered"
    seen = {}
    for who in ("ann", "bob+smith"):
        address = f"{run}/label?annotator={who}"
        work = page.data(address)["work"]
        assert (work["done"], work["total"], work["assigned"]) == (0, 3, True)
        seen[who] = {work["row"]["identity"], work["ahead"]["row"]["identity"]}
        press(page, address, do="answer", row=work["row"]["identity"], choice="PASS")
        assert page.data(address)["work"]["row"] == work["ahead"]["row"], "the row that was ahead"
    assert len(seen["ann"] | seen["bob+smith"]) == 4
    assert [(one["annotator"], one["done"]) for one in page.data(f"{run}/trust")["assigned"]] == [
        ("ann", 1),
        ("bob smith", 1),
    ]
    refused = page.get(f"{run}/label?annotator=eve")
    assert refused.status == 400 and "assigned to ann, bob smith" in refused.text
    press(page, f"{run}/label/assign", people="eve", per_row="1")
    assert page.data(f"{run}/label?annotator=eve")["work"]["total"] == 4, "two are labelled"
    press(page, f"{run}/label/assign", do="unassign")
    assert page.data(f"{run}/label?annotator=ann")["work"]["total"] == 6


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"people": ""}, "name at least one person"),
        ({"people": "ann", "per_row": "2"}, "from 1 to 1"),
        ({"people": "ann", "per_row": "x"}, "from 1 to 1"),
        ({"people": "ann", "queue": "failed"}, "cannot be assigned"),
        ({"people": "ann", "count": "0"}, "from 1 to 5000"),
    ],
)
def test_what_cannot_be_assigned_is_said(page: Page, wrong: dict[str, str], said: str) -> None:
    answer = page.post(f"{page.run('dates')}/label/assign", **wrong)
    assert answer.status == 400 and said in answer.text
    assert page.data(f"{page.run('dates')}/label")["assigned"] == []


def test_two_tabs_of_one_session_take_turns(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are read ahead and let go of again."""
    taken, show_work = list[bool](), label_page._work_data

    def overtaken(*given: Any) -> Any:
        site = page.server.site
        lock = site.sessions.lock(site.library.find(page.run("dates").rpartition("/")[2]))
        other = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
        return show_work(*given)

    monkeypatch.setattr(label_page, "_work_data", overtaken)
    assert page.get(desk(page)).status == 200
    assert taken == [False]
