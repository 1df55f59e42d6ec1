"""What once went wrong on the pages of ``adjudge view``: wrong figures after quick trials, lost
drafts, lists that did not say by which criterion, searches and comparisons that ended too soon.
"""

from __future__ import annotations

import colorsys
import re
import signal
import subprocess
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from html import unescape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.ledger.record_browser import LOOKED_AT
from adjudge.features.playground.trial import CriterionTrial, ExpectedAgreement, trials_of
from adjudge.features.playground.trial_view import trial_data
from support.labels import compared, judged, model
from support.page import Page, served
from support.playground import MODEL, direct, sent
from support.trust import labelled, labels_of, population, run_of

ROWS = population(300)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS)
    labelled(root / "dates", labels_of(ROWS[:60]))
    judged(
        root / "other",
        [text for text, _, _ in ROWS],
        lambda prompt: "FAIL" if "yes" in prompt[prompt.rindex("row ") :] else "PASS",
    )
    compared(root / "pairs", [(f"first {number}", f"second {number}") for number in range(3)])
    kind, short = (
        replace(yes_no_criteria(f"Is it {name}?"), name=name) for name in ("kind", "short")
    )
    judge = DirectJudge(model(lambda prompt: "Yes" if "Is it kind?" in prompt else "No"))
    rows = [Instance({"response": f"text {number}"}, f"r{number}") for number in range(10)]
    judge.evaluate([*rows, *rows], [kind] * 10 + [short] * 10, run=root / "both")
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def test_a_trial_that_ends_while_it_is_drawn_is_drawn_again(
    play: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the figures of the first few rows would stay for good."""
    started = sent(
        play, "/playground/judge", direct([("In 1889.", "Yes")], ("model", MODEL))
    ).json()["trial"]["id"]
    trial = trials_of(play.server.site).find(started)
    assert trial.wait(20)
    trial.ended = False
    drawn = CriterionTrial.measure_agreement

    def ends_meanwhile(self: CriterionTrial, rows: Container[int]) -> ExpectedAgreement | None:
        found = drawn(self, rows)
        trial.ended = True
        return found

    monkeypatch.setattr(CriterionTrial, "measure_agreement", ends_meanwhile)
    first = trial_data(trial, 1.0)["trial"]
    assert isinstance(first, dict)
    assert first["ended"] is False


def test_another_kind_and_back_keeps_what_was_typed(play: Page) -> None:
    form = direct([("In 1889.", "Yes")], ("lower_is_better", "1"), ("persona", "a teacher"))
    there = _fields(
        sent(
            play, "/playground/edit?do=redraw", [("kind", "pairwise"), *form[1:]], wants="*/*"
        ).text
    )
    back = sent(
        play,
        "/playground/edit?do=redraw",
        [(name, "direct" if name == "kind" else value) for name, value in there],
    ).json()["draft"]
    assert [one[0] for one in back["options"]] == ["Yes", "No"]
    assert [one[1] for one in back["options"]] == ["1", "0"]
    assert back["rows"][0]["answer"] == "Yes"
    assert back["lower_is_better"]
    assert back["settings"]["persona"] == "a teacher"


def test_a_second_response_is_kept_while_the_kind_is_another(play: Page) -> None:
    form = [
        ("kind", "direct"),
        ("judged", "response"),
        ("row.id", ""),
        ("row.text:response", "one"),
        ("row.text:response", "two"),
    ]
    fields = _fields(sent(play, "/playground/edit?do=redraw", form, wants="*/*").text)
    assert [value for name, value in fields if name == "row.text:response"] == ["one", "two"]


def test_what_was_saved_can_be_saved_again(play: Page) -> None:
    form = [*direct([("In 1889.", "Yes")]), ("save_as", "twice")]
    first = sent(play, "/playground/save", form).json()["saved"]
    assert first == {"case": "twice", "base": 1}
    again = sent(
        play, "/playground/save", [*form, ("case", first["case"]), ("base", str(first["base"]))]
    )
    assert again.json()["saved"] == {"case": "twice", "base": 2}
    assert (
        'data-saved-base="1"'
        in sent(play, "/playground/save", [*form[:-1], ("save_as", "once")], wants="*/*").text
    )


def test_deciding_between_annotators_opens_the_criterion_they_differ_on(tmp_path: Path) -> None:
    other = replace(yes_no_criteria("Is it short?"), name="another")
    dates = replace(yes_no_criteria("Is it kind?"), name="dates")
    rows = [Instance({"response": text}) for text, _, _ in ROWS[:3]]
    DirectJudge(model(lambda _: "Yes")).evaluate(
        [*rows, *rows], [other] * 3 + [dates] * 3, run=tmp_path / "both"
    )
    for annotator, option in (("ann", "Yes"), ("bob", "No")):
        labelled(
            tmp_path / "both",
            [replace(one, option=option) for one in labels_of(ROWS[:1], annotator)],
        )
    with served(tmp_path) as page:
        shown = page.get(f"{page.run('both')}/trust").text
        assert "label?queue=conflicts&amp;criteria=dates" in shown
        assert "queue=conflicts&amp;criteria=another" not in shown
        work = page.data(f"{page.run('both')}/label?queue=conflicts&criteria=dates&annotator=cleo")
        assert work["work"]["total"] == 1


def test_a_list_of_several_criteria_says_which_and_draws_each_apart(page: Page) -> None:
    found = page.data(page.run("both"))
    assert {(line["criterion"], line["verdict"]) for line in found["rows"]} == {
        ("kind", "Yes"),
        ("short", "No"),
    }
    assert found["figures"]["histogram"] == []
    assert {
        name: [(one["answer"], one["rows"], one["score"]) for one in each]
        for name, each in found["figures"]["answers"].items()
    } == {"kind": [("Yes", 10, 1.0)], "short": [("No", 10, 0.0)]}
    shown = page.get(page.run("both")).text
    assert "verdict=No&amp;criteria=short" in shown
    assert '<td class="soft cell"><span>kind</span></td>' in shown


def test_compared_responses_are_listed_as_texts_and_votes_name_systems(page: Page) -> None:
    run = page.run("pairs")
    assert page.data(f"{run}?sort=row")["rows"][0]["begins"] == "first 0 | second 0"
    row = page.data(f"{run}/row/1")["chosen"]
    assert {vote["said"] for vote in row["votes"]} <= {*row_names(row), "tie"}
    assert next(vote["option"] for vote in row["votes"]) in ("0", "1")
    assert [one["parts"][0][0] for one in row["fields"]] == ["first 0", "second 0"]


def row_names(row: dict[str, object]) -> list[str]:
    fields = row["fields"]
    assert isinstance(fields, list)
    return [one["name"] for one in fields]


def test_a_search_for_an_absent_word_goes_on_by_itself_to_the_end(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.core.ledger.record_browser.LOOKED_AT", 40)
    run = page.run("dates")
    first = page.get(f"{run}?q=absent&sort=row").text
    assert "Searched 40 of 300 judgments." in first
    address, steps = _goes_on(first, page), 0
    while address:
        part = page.get(address).text
        assert "<html" not in part
        address, steps = _goes_on(part, page), steps + 1
    assert "No judgment matches." in part
    assert steps == 1, "one step looks for longer than a page does"
    assert LOOKED_AT > 40


def test_a_row_is_gone_to_by_its_id_or_its_number(page: Page) -> None:
    run = page.run("dates")
    for wanted, row in (("r41", 42), ("42", 42)):
        answer = page.get(f"{run}?go={wanted}")
        assert answer.status == 303
        assert answer.headers["location"].endswith(f"row={row}#row")
    assert page.get(f"{run}?go=absent").status == 400


def test_every_changed_row_of_a_comparison_can_be_reached(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (page.run(name).removeprefix("/run/") for name in ("dates", "other"))
    for held in (5_000, 100):
        monkeypatch.setattr("adjudge.web.pages.compare._HELD", held)
        page.server.site.library._kept.clear()
        seen: list[int] = []
        for first in (0, 200):
            found = page.data(f"/compare?a={a}&b={b}&anyway=1&from={first}")
            seen += [one["a"]["row"] for one in found["rows"]]
        assert found["counts"]["changed"] == 300
        assert sorted(seen) == list(range(1, 301))
    assert "Rows 201 to 300 of 300" in page.get(f"/compare?a={a}&b={b}&from=200").text


def test_a_row_has_its_neighbours(page: Page) -> None:
    run = page.run("dates")
    shown = page.get(f"{run}/row/2").text
    assert f'href="{page.access.place}{run}/row/1?' in shown
    assert f'href="{page.access.place}{run}/row/3?' in shown
    assert page.data(f"{run}/row/1")["chosen"]["before"] is None
    assert page.data(f"{run}/row/300")["chosen"]["behind"] is None


def test_an_address_of_an_earlier_server_says_what_to_do_in_the_readers_language(
    page: Page,
) -> None:
    earlier = f"/{'0' * 32}/"
    english = page.ask(earlier, accept="text/html")
    assert english.status == 403
    assert "<h1>This address does not give access</h1>" in english.text
    assert "adjudge view" in english.text
    russian = page.ask(earlier, accept="text/html", cookie="adjudge_language=ru")
    assert "<h1>Этот адрес не открывает страницу</h1>" in russian.text


def test_the_page_starts_where_there_are_no_runs_yet(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "adjudge", "view", "--no-open"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    with served(tmp_path / "runs", home=tmp_path) as page:
        first = page.get("/").text
        assert "There are no runs here yet" in first
        assert f'href="{page.access.place}/start"' in first
        run_of(tmp_path / "runs" / "late", ROWS[:3])
        assert [one["name"] for one in page.data("/")["runs"]] == ["late"]


def test_what_people_said_stands_in_the_list_and_filters_it(page: Page) -> None:
    run = page.run("dates")
    differing = [
        place for place, (_, good, passed) in enumerate(ROWS[:60], 1) if good is not passed
    ]
    found = page.data(f"{run}?people=differ&sort=row")
    assert [line["row"] for line in found["rows"]] == differing
    assert found["people"] == {"agree": 60 - len(differing), "differ": len(differing)}
    first = found["rows"][0]
    assert first["people"]["said"][0]["annotator"] == "ann"
    assert first["people"]["said"][0]["answer"] != first["verdict"]
    row = page.data(f"{run}/row/{differing[0]}")["chosen"]["people"]
    assert row == first["people"]
    assert "✗ people disagree with the judge: " in page.get(f"{run}/row/{differing[0]}").text
    assert page.get(f"{run}?people=strange").status == 400


def test_what_people_said_is_not_sent_to_those_who_label(page: Page) -> None:
    shown = page.get(f"{page.run('dates')}/label?annotator=dora").text
    assert "people disagree" not in shown
    assert "people agree" not in shown


def test_headings_follow_each_other_and_what_scrolls_has_the_focus(page: Page) -> None:
    run = page.run("dates")
    for path in ("/", run, f"{run}?row=3", f"{run}/row/3", f"{run}/trust", f"{run}/label"):
        shown = page.get(path).text.split("<dialog")[0]
        levels = [int(level) for level in re.findall(r"<h([1-6])", shown)]
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert all("tabindex" in tag for tag in re.findall(r'<div class="scroll[^>]*>', shown))


def _goes_on(shown: str, page: Page) -> str:
    found = re.search(r'<section id="list"[^>]*hx-get="([^"]+)"', shown)
    return found[1].replace("&amp;", "&").removeprefix(page.access.place) if found else ""


def _fields(form: str) -> list[tuple[str, str]]:
    """What a browser would send of a form."""
    tags = re.compile(
        r"<input (?P<input>[^>]*)>|<textarea (?P<area>[^>]*)>(?P<text>.*?)</textarea>|"
        r"<select (?P<select>[^>]*)>(?P<options>.*?)</select>",
        re.DOTALL,
    )
    found = []
    for tag in tags.finditer(form):
        attributes = tag["input"] or tag["area"] or tag["select"] or ""
        name = re.search(r'name="([^"]*)"', attributes)
        is_box = 'type="checkbox"' in attributes and " checked" not in attributes
        if name is None or is_box:
            continue
        value = re.search(r'value="([^"]*)"', attributes)
        if tag["select"] is not None:
            chosen = re.search(r"<option([^>]*selected[^>]*)>([^<]*)", tag["options"])
            own = re.search(r'value="([^"]*)"', chosen[1]) if chosen else None
            text = own[1] if own else chosen[2] if chosen else ""
        else:
            text = tag["text"] if tag["area"] is not None else value[1] if value else ""
        found.append((unescape(name[1]), unescape(text)))
    return found


def test_a_fault_of_the_page_is_told_on_a_page(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(page.server.site.library, "scan", lambda: breaks(None))
    answer = page.get("/")
    assert answer.status == 500
    assert "<h1>That did not work</h1>" in answer.text
    assert "ZeroDivisionError" in answer.text


def test_the_badge_of_a_bad_row_in_a_report_can_be_read() -> None:
    css = (files("adjudge.runs.view") / "templates" / "report.css").read_text()
    badge = css[css.index(".badge {") :].partition("}")[0]
    lightness, text = re.search(r"55% (\d+)%", badge), re.search(r"color: #(\w{6})", badge)
    assert lightness
    assert text
    red = colorsys.hls_to_rgb(5 / 360, int(lightness[1]) / 100, 0.55)
    dark = [int(text[1][at : at + 2], 16) / 255 for at in (0, 2, 4)]
    bright, dim = sorted((_luminance(red), _luminance(dark)), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5


def _luminance(colour: Sequence[float]) -> float:
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
