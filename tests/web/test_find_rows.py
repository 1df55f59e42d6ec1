"""Rows found by an expression, sorted by any column, and views that are kept under a name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import LifoQueue
from typing import Any
from urllib.parse import quote

import pytest

from adjudge import AspectCritic, Criteria, DirectJudge, Instance, MultiCriteria
from adjudge.core.aio.side_process import SideProcess
from adjudge.core.domain.criteria import CriteriaOption, yes_no_criteria
from adjudge.core.ledger.columns import KnownColumns
from adjudge.core.ledger.conditions import WrongCondition, read_condition
from adjudge.core.reading.patterns import CannotMatch, which_match
from adjudge.features.rag import RagEvaluator
from adjudge.messages import Message
from adjudge.web.views import read_views
from support.agent_runs import agent_run
from support.labels import judged_by_two, model
from support.page import Page, served
from support.rag import ROW, gives
from support.trust import labelled, labels_of, population, run_of

ROWS = population(60)
HOSTILE = "<b>x</b> ' \" ; DROP TABLE judgments --"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(root / "dates", labels_of(ROWS[:20], annotator="bob"))
    judged_by_two(root / "two")
    rows = [
        Instance({"response": text, "вопрос": asked, "длина": str(len(text))}, id)
        for id, text, asked in (
            ("a", "Верните деньги за заказ", "Как вернуть?"),
            ("b", "Ждите", "КОГДА?"),
            ("c", HOSTILE, "x"),
        )
    ]
    judge = model(lambda asked: "FAIL" if "Ждите" in asked else "PASS")
    AspectCritic("Вежливо?", judge, name="вежливость").evaluate(rows, run=root / "russian")
    RagEvaluator(gives()).evaluate([ROW], run=root / "rag")
    texts: tuple[tuple[str, str, str, list[str], str], ...] = (
        ("a", "- a list", "3", ["one", "Two words"], "x"),
        ("b", "2024-01-01", "12", ["two"], ""),
        ("c", "...", "1e3", [], "y"),
    )
    named = [
        Instance({"response": text, "n": n, "pages": pages, "verdict": own, 'own"': "x"}, id)
        for id, text, n, pages, own in texts
    ]
    AspectCritic("Fine?", model(lambda _: "PASS"), name="fine").evaluate(named, run=root / "texts")
    agent_run(root / "agents", measures=("errors", "steps"))
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def _found(page: Page, run: str, where: str, more: str = "") -> list[dict[str, Any]]:
    found, after = [], ""
    while after is not None:
        data = page.data(f"{run}?where={quote(where)}&after={after}{more}")
        found += data["rows"]
        after = data["next"]
    return found


def _ids(page: Page, run: str, where: str, more: str = "") -> list[str]:
    return [line["id"] for line in _found(page, run, where, more)]


def test_an_expression_finds_what_python_finds(page: Page) -> None:
    run = page.run("dates")
    every = {line["id"]: line for line in _found(page, run, "")}
    assert len(every) == 60

    def ids(fits: Any) -> set[str]:
        return {id for id, line in every.items() if fits(line)}

    labels = {id for id, line in every.items() if line["people"]}
    for where, wanted in {
        "verdict = fail": ids(lambda one: one["verdict"] == "FAIL"),
        "verdict != FAIL": ids(lambda one: one["verdict"] != "FAIL"),
        "not verdict": {"r7"},
        "status = failed or score >= 1": ids(lambda one: one["score"] in (None, 1)),
        "not score < 0,5 and labelled": ids(lambda one: one["score"] != 0) & labels,
        "people = differ": ids(lambda one: one["people"] and one["people"]["stand"] == "differ"),
        "row > 10 and row <= 12": {"r10", "r11"},
        'text ~ "ROW 3 "': {"r3"},
        'response ~ "row 1" and response !~ "row 1 "': {f"r{n}" for n in range(10, 20)},
        "(verdict = pass or verdict = fail) and not (row < 59)": {"r58", "r59"},
        "не verdict = fail и row = 1 или id = r5": ids(
            lambda one: one["id"] == "r5" or (one["id"] == "r0" and one["verdict"] != "FAIL")
        ),
        "votes = 1 and tokens > 0 and seconds >= 0 and id = R2": {"r2"},
    }.items():
        assert set(_ids(page, run, where)) == wanted, where
    both = _ids(page, run, "row <= 30", "&verdict=FAIL&people=agree")
    assert set(both) <= set(_ids(page, run, "verdict = fail and people = agree and row <= 30"))
    assert both
    assert len(page.get(f"{run}/rows.jsonl?where={quote('row <= 3')}").text.splitlines()) == 3
    where = quote("row = 4 or row = 6")
    assert page.get(f"{run}/these/label?where={where}").headers["location"].endswith("rows=4%2C6")


def test_words_of_any_language_and_any_field_are_found_and_nothing_runs(page: Page) -> None:
    run = page.run("russian")
    assert _ids(page, run, "вопрос = когда?") == ["b"]
    assert _ids(page, run, 'вопрос ~ «ВЕРНУТЬ» или "response" ~ дроп') == ["a"]
    assert _ids(page, run, "длина > 9 and длина < 30") == ["a"]
    asked = 'response ~ "<b>x</b> \' \\" ; DROP TABLE"'
    assert _ids(page, run, asked) == ["c"]
    shown = page.get(f"{run}?where={quote(asked)}").text
    assert "<b>x</b>" not in shown
    for injected in (
        "1=1",
        "verdict = x'; DROP TABLE judgments",
        "sqlite_master",
        "judge",
        "ballots",
    ):
        assert page.get(f"{run}?where={quote(injected)}").status == 400, injected


def test_texts_are_numbers_only_where_they_are_nothing_else(page: Page) -> None:
    run = page.run("texts")
    for where, wanted in {
        "response < 5": [],
        "n > 3": ["b", "c"],
        "n = 3.0": ["a"],
        "N = 3": ["a"],
        "VERDICT = pass": ["a", "b", "c"],
        "verdict = ‘pass’ and n = „12“": ["b"],
        "pages = two": ["b"],
        "pages != two": ["a", "c"],
        "not pages": ["c"],
        "field:verdict = x": ["a"],
        "score = 1e0 and row < 1000,0": ["a", "b", "c"],
    }.items():
        assert sorted(_ids(page, run, where)) == wanted, where
    for where in ("row > 1,000", 'own\\" = x', "row = nan", "row = 1e999"):
        assert page.get(f"{run}?where={quote(where)}").status == 400, where
    assert "write 1000 or 1.000" in page.get(f"{run}?where={quote('row > 1,000')}").text
    assert 'own"' not in str(page.data(run)["columns"]), "a column that cannot be sorted by"


def test_a_regular_expression_finds_what_python_finds(page: Page) -> None:
    run = page.run("dates")
    every = _found(page, run, "")

    def ids(pattern: str) -> set[str]:
        found = re.compile(pattern, re.IGNORECASE)
        return {one["id"] for one in every if found.search(one["fields"]["response"])}

    for where, wanted in {
        r"response ~ /^ROW 1\d /": ids(r"^row 1\d "),
        r"text ~ /row (3|5) /": ids(r"row (3|5) "),
        r"response ~ /(?-i:^ROW)/": set(),
        r"response !~ /\d\d/": {one["id"] for one in every} - ids(r"\d\d"),
        r"(response ~ /1 / or response ~ /2 /) and response ~ /^row [12] /": {"r1", "r2"},
        r"verdict ~ /^f(ai)l$/ and row < 9": {
            one["id"] for one in every if one["verdict"] == "FAIL" and one["row"] < 9
        },
        r"id ~ /^r(7|8)$/ and status ~ /fail/": {"r7"},
        r"response ~ /said\/or/": set(),
    }.items():
        assert set(_ids(page, run, where)) == wanted, where
        assert set(_ids(page, run, where, "&sort=-verdict")) == wanted, where
        assert set(_ids(page, run, where, "&sort=best")) == wanted, where
    assert {one["id"] for one in every} - ids("row 1") != set()
    beginning = quote("response ~ /^row 1/")
    lines = page.get(f"{run}/rows.jsonl?where={beginning}&people=agree").text.splitlines()
    assert {json.loads(line)["id"] for line in lines} <= ids("^row 1")
    assert len(lines) == page.data(f"{run}?where={beginning}")["people"]["agree"]
    both = _ids(page, page.run("two"), "id ~ /^r(0|21)$/ and verdict ~ /no/")
    assert sorted(both) == ["r0", "r21"], "a row of several criteria is one line"


def test_many_texts_are_matched_a_part_at_a_time(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.core.ledger.record_browser._CHUNK", 7)
    monkeypatch.setattr("adjudge.core.ledger.text_matcher._AT_ONCE", 100)
    run, where = page.run("dates"), "response ~ /row [135]/ or id ~ /^r[02]$/"
    wanted = {n for n in range(60) if str(n)[0] in "135" or n in (0, 2)}
    for sort in ("row", "worst", "last", "field:response"):
        assert {*_ids(page, run, where, f"&sort={sort}")} == {f"r{n}" for n in wanted}


def test_a_list_whose_rows_take_too_long_to_count_is_shown_without_their_number(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list looks at its first rows alone: a slow text may come later."""

    def rows_of(*_: object) -> None:
        raise WrongCondition(0, 8, Message("it takes too long"))

    monkeypatch.setattr("adjudge.web.pages.run.rows_of", rows_of)
    run, where = page.run("two"), quote("response ~ /text [0-4]/")
    answer = page.get(f"{run}?where={where}", accept="application/json")
    assert (answer.status, answer.json()["matching"]) == (200, None)
    assert answer.json()["rows"]
    counted = page.get(f"{run}/count?where={where}", accept="application/json")
    assert (counted.status, counted.json()["matching"]) == (200, None)


def test_a_pattern_that_cannot_be_read_or_takes_too_long_is_said_at_its_place(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = page.run("dates")
    for where, place, says in (
        ("text ~ /a(b/", 9, "is invalid: missing )"),
        ("text ~ /a{99999999999}/", 8, "is invalid"),
        ("text ~ /(?a)(?u)x/", 8, "is invalid: ASCII and UNICODE"),
        ("id = /a/", 5, "follow ~ or !~"),
        ("score < /1/", 8, "follow ~ or !~"),
        ("text ~ /a b", 10, "expected and, or, or the end"),
    ):
        answer = page.get(f"{run}?where={quote(where)}", accept="application/json")
        assert (answer.status, answer.json()["rows"]) == (400, []), where
        assert (answer.json()["wrong"]["at"], says in answer.json()["wrong"]["why"]) == (
            place,
            True,
        ), answer.json()["wrong"]
    # six ways to read each character: an hour for the shortest text
    where = "row = 3 or response ~ /^(.|.|.|.|.|.)*;$/"
    with monkeypatch.context() as patched:
        patched.setattr("adjudge.core.reading.patterns.SECONDS", 0.3)
        slow_to_read = page.get(f"{run}?where={quote('text ~ /' + '[Ѐ-￿]' * 180 + '/')}")
        assert (slow_to_read.status, "the matching rows are unknown" in slow_to_read.text) == (
            400,
            True,
        )
        for more in ("", "&sort=verdict", "&part=list"):
            address = f"{run}?where={quote(where)}{more}"
            answer = page.get(address, accept="application/json")
            assert answer.status == (200 if "part" in more else 400)
            assert answer.json()["rows"] == []
            assert "the matching rows are unknown" in answer.json()["wrong"]["why"]
            assert answer.json()["next"] is None
            assert "the matching rows are unknown" in page.get(address).text.split('id="list"')[1]
        assert page.get(f"{run}/rows.csv?where={quote(where)}").status == 400
        assert page.get(f"{run}/these/label?where={quote(where)}").status == 400
    assert _ids(page, run, "response ~ /^row 3 /") == ["r3"], "the next one is matched again"


def test_a_matcher_that_is_killed_is_not_called_slow(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, where = page.run("dates"), quote("response ~ /row/")
    gone: LifoQueue[SideProcess] = LifoQueue()
    gone.put(SideProcess(lambda: [sys.executable, "-c", "print()"], shows_errors=False))
    with monkeypatch.context() as patched:
        patched.setattr("adjudge.core.reading.patterns._IDLE", gone)
        answer = page.get(f"{run}?where={where}", accept="application/json")
    assert (answer.status, answer.json()["rows"]) == (400, [])
    assert "was stopped: try again" in answer.json()["wrong"]["why"]
    assert len(_ids(page, run, "response ~ /row/")) == 60


def test_a_quick_pattern_does_not_wait_for_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.core.reading.patterns.SECONDS", 2.0)
    with ThreadPoolExecutor(1) as pool, pytest.raises(CannotMatch):
        slow = pool.submit(which_match, "^(.|.)*;$", 0, ["x" * 40])
        assert which_match("x", 0, ["x"]) == [True]
        assert not slow.done()
        slow.result()


def test_slashes_are_a_pattern_or_refused(tmp_path: Path) -> None:
    texts = ("a/x", "b/y", r"C:\new", "axx")
    AspectCritic("Fine?", model(lambda _: "PASS"), name="fine").evaluate(
        [Instance({"response": text}, text) for text in texts], run=tmp_path / "run"
    )
    with served(tmp_path) as page:
        run = page.run("run")
        for where, wanted in {
            "response ~ /[/]x/": ["a/x"],
            "response ~ /[^]/]x/ and row": ["axx"],
            r"response ~ /\/[xy]/": ["a/x", "b/y"],
            'response ~ "/y"': ["b/y"],
            "response ~ /y": ["b/y"],
            r'response ~ "c:\new"': [r"C:\new"],
        }.items():
            assert _ids(page, run, where) == wanted, where
        for where in ("response ~ //", "response !~ /x/i", "response ~ /usr/bin/"):
            answer = page.get(f"{run}?where={quote(where)}", accept="application/json")
            assert (answer.status, answer.json()["wrong"]["at"]) == (400, where.index("/"))
        bad = page.get(f"{run}?where={quote('response ~ /' + '[^]' * 300 + '/x')}")
        assert bad.status == 400, "and at once"


def test_two_equals_signs_list_no_more_rows_than_one(tmp_path: Path) -> None:
    """ "==" ignored spaces around a text, and "=" did not."""
    states = ["open", "open ", "Open", "closed"]
    rows = [
        Instance({"response": f"row {n}", "state": state}, f"r{n}")
        for n, state in enumerate(states)
    ]
    AspectCritic("Fine?", model(lambda _: "PASS"), name="fine").evaluate(rows, run=tmp_path / "run")
    with served(tmp_path) as page:
        run = page.run("run")
        for value in ("open", '"open"', '" open "'):
            assert _ids(page, run, f"state == {value}") == ["r0", "r1"]
            assert _ids(page, run, f"state = {value}") == ["r0", "r1", "r2"]
            assert _ids(page, run, f"state != {value}") == ["r3"]


def test_verdicts_that_are_numbers_sort_as_numbers(tmp_path: Path) -> None:
    grades = ("10", "2", "0.25", "0.5", "", "n/a")
    options = [CriteriaOption(name, "", place / 9) for place, name in enumerate(grades) if name]
    both = MultiCriteria([Criteria(name, f"{name}?", options) for name in ("one", "two")])

    def verdict(prompt: str) -> str:
        return grades[int(prompt[prompt.rindex("text ") + 5])] if "two?" in prompt else "2"

    DirectJudge(model(verdict), max_repairs=0).evaluate_multi_criteria(
        [Instance({"response": f"text {place}"}, name) for place, name in enumerate(grades)],
        both,
        run=tmp_path / "run",
    )
    wanted = ["0.25", "0.5", "2", "10", "n/a"]
    with served(tmp_path) as page:
        for more in ("", "&criteria=two&", "&criteria=one"):
            sort = "verdict" if more.endswith("&") else "criterion:two"
            found = _ids(page, page.run("run"), "", f"{more}&sort={sort}")
            assert found == [*wanted, found[-1]], more
            down = _ids(page, page.run("run"), "", f"{more}&sort=-{sort}")
            assert down == [*reversed(wanted), found[-1]], more


def test_texts_that_sqlite_cannot_read_are_listed_and_found(tmp_path: Path) -> None:
    texts = {"nul": "before\0behind", "half": "half \ud83d a smile", "both": ["x", "\0y\udc00"]}
    rows = [Instance({"response": "r", "said": said}, id) for id, said in texts.items()]
    rows += [Instance({"response": "half \ud83d without an id"})]
    kind, short = (replace(yes_no_criteria(f"Is it {one}?"), name=one) for one in ("kind", "short"))
    DirectJudge(model(lambda _: "Yes")).evaluate_multi_criteria(
        rows, MultiCriteria([kind, short]), run=tmp_path / "run"
    )
    with served(tmp_path) as page:
        run = page.run("run")
        assert _ids(page, run, "") == ["nul", "half", "both", None]
        for where, wanted in {
            "said ~ BEHIND": ["nul"],
            "said ~ /behind$/": ["nul"],
            r"said ~ /\x00[by]/": ["nul", "both"],
            "said ~ smile": ["half"],
            r"text ~ /\ud83d/": ["half", None],
            "said = x": ["both"],
            "said > b and said < c": ["nul", "both"],
            "not said": [None],
        }.items():
            assert _ids(page, run, where) == wanted, where
        assert [one["id"] for one in page.data(f"{run}?q=behind")["rows"]] == ["nul"]
        assert page.get(f"{run}/row/7").status == 200


def test_a_text_that_comes_late_has_a_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Instance({"response": f"row {n}"}, f"r{n}") for n in range(30)]
    rows += [Instance({"response": "x", "Late": "yes", "verdict": "mine"}, "late")]
    AspectCritic("Fine?", model(lambda _: "PASS"), name="fine").evaluate(rows, run=tmp_path / "run")
    with served(tmp_path) as page:
        run = page.run("run")
        assert _ids(page, run, "late = yes") == ["late"]
        assert _ids(page, run, "field:verdict = mine and Late") == ["late"]
        assert _ids(page, run, "", "&sort=field:Late")[0] == "late"
        answer = page.get(f"{run}?where=later", accept="application/json").json()["wrong"]
        assert "'later'" in answer["why"]
        monkeypatch.setattr("adjudge.web.library.SLOW", 0)
    with served(tmp_path) as page:
        assert 'id="waiting"' in page.get(f"{run}?where=later").text
        assert "<mark>later</mark>" in page.get(f"{run}?where=later&wait=1").text
        assert 'id="waiting"' not in page.get(f"{run}?where=later").text
        assert "Late" in answer["why"]


def test_counts_of_agents_are_compared_and_sorted_as_numbers(page: Page) -> None:
    run = page.run("agents")
    assert sorted(_ids(page, run, "steps > 9")) == ["t1", "t2"]
    assert _ids(page, run, "steps = 12 and errors") == ["t1"]
    assert _ids(page, run, "", "&sort=-criterion:steps") == ["t2", "t1", "t0"]


def test_other_criteria_and_dimensions_are_columns(page: Page) -> None:
    run = page.run("two")
    assert sorted(_ids(page, run, "kind = no and short = no")) == sorted(
        f"r{n}" for n in range(0, 70, 21)
    )
    assert _ids(page, run, "row = 4") == ["r3"]
    shown = page.get(run).text
    assert "if one of its judgments matches the whole expression" in shown
    assert "one of its judgments" not in page.get(page.run("dates")).text
    assert page.data(f"{run}?min=0,5")["rows"] == page.data(f"{run}?min=0.5")["rows"] != []
    assert _ids(page, run, "not short") == ["r5"]
    rag = page.run("rag")
    (name, score) = next(
        (name, score) for name, score in page.data(rag)["rows"][0]["scores"].items() if score
    )
    assert len(_found(page, rag, f"{name} = {score}")) == 1
    assert not _found(page, rag, f"{name} > {score}")
    assert len(_found(page, rag, 'explanation ~ "because of"')) == 1, "of each dimension"


def test_what_is_wrong_is_shown_at_its_place(page: Page) -> None:
    run = page.run("dates")
    for where, place, says in (
        ("verdict = fail nd score < 1", 15, "expected and, or, or the end"),
        ("verdcit = fail", 0, "'verdcit'"),
        ("score < much", 8, "expected a number"),
        ("(row = 1", 0, "not closed"),
        ("labelled = yes", 9, "yes-or-no"),
        ("row =", 5, "expected a value"),
        ("row = 1 and", 11, "expected the name"),
        ("text", 0, "expected ~"),
        ('text ~ "open', 7, "does not belong"),
        ("not " * 30 + "tie", None, "levels"),
        (" or ".join(["tie"] * 60), None, "more than 50 conditions"),
        ("tie or " * 200 + "tie", 1000, "longer than"),
    ):
        answer = page.get(f"{run}?where={quote(where)}", accept="application/json")
        wrong = answer.json()["wrong"]
        assert (answer.status, answer.json()["rows"]) == (400, []), where
        assert says in wrong["why"], wrong
        assert place is None or wrong["at"] == place, wrong
        assert "".join(wrong["parts"]) == where
    shown = page.get(f"{run}?where=verdcit").text
    assert "<mark>verdcit</mark>" in shown
    assert "agreement" in shown.split("where-wrong")[-1]
    assert page.get(f"{run}/rows.csv?where=verdcit").status == 400


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        *(
            (("dates", sort))
            for sort in ("verdict", "-verdict", "people", "-tokens", "field:response")
        ),
        *(("two", sort) for sort in ("criterion:short", "-criterion:kind")),
    ],
)
def test_any_column_sorts_and_pages_follow_each_other(page: Page, name: str, sort: str) -> None:
    run = page.run(name)
    lines = _found(page, run, "", f"&sort={sort}&columns=text,verdict,people,tokens")
    assert len({line["id"] for line in lines}) == len(lines) == (60 if name == "dates" else 70)

    def value(line: dict[str, Any]) -> Any:
        column = sort.removeprefix("-")
        if column.startswith("criterion:"):
            return line["group"][column[10:]]["verdict"]
        if column == "people":
            return line["people"] and line["people"]["stand"]
        if column == "tokens":
            return line["numbers"]["tokens"]
        return line["fields"]["response"] if column.startswith("field") else line[column]

    values = [value(line) for line in lines]
    known = [one for one in values if one is not None]
    assert values[len(known) :] == [None] * (len(values) - len(known)), "none comes last"
    assert known == sorted(known, reverse=sort.startswith("-"))
    head = page.get(f"{run}?sort={sort}&columns=text,verdict,people,tokens").text
    assert f'aria-sort="{"descending" if sort.startswith("-") else "ascending"}"' in head
    some = _ids(page, run, "row <= 20", f"&sort={sort}")
    assert some == [line["id"] for line in lines if line["id"] in some]


def test_columns_of_votes_are_shown_when_somebody_wants_them(page: Page) -> None:
    run = page.run("dates")
    line = page.data(f"{run}?columns=text,agreement,tokens,seconds,probability&sort=-tokens")
    assert line["rows"][0]["numbers"].keys() == {"agreement", "tokens", "seconds", "probability"}
    assert line["rows"][0]["numbers"]["tokens"] > 0
    assert page.get(f"{run}?sort=nothing").status == 400
    assert "agreement" in page.get(f"{run}?sort=nothing").text


def test_a_sort_of_a_large_run_comes_behind_the_page(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.SLOW", 0)
    run = page.run("dates")
    assert 'id="waiting"' in page.get(f"{run}?sort=-seconds").text
    assert 'id="waiting"' not in page.get(f"{run}?sort=-seconds&wait=1").text
    assert 'id="waiting"' not in page.get(f"{run}?sort=-seconds").text
    monkeypatch.setattr("adjudge.web.library.LARGE", 0)
    found = page.data(f"{run}?where={quote('verdict = fail')}&sort=-verdict")
    assert found["sort"] == "row"
    assert page.get(f"{run}?where=labelled").status == 400, "labels of such a run are not read"


def test_rows_are_numbered_as_people_count_them(tmp_path: Path) -> None:
    judged_by_two(tmp_path / "two")
    with served(tmp_path) as page:
        run = page.run("two")
        assert page.data(f"{run}/row/8")["chosen"]["number"] == 4
        assert "Row 4 · r3" in page.get(f"{run}/row/8").text
        there = page.get(f"{run}?go=4").headers["location"]
        assert "row=7#" in there
        assert ">rows 4 <" in page.get(f"{run}?rows=7,8").text


def test_views_are_kept_under_a_name(root: Path, page: Page) -> None:
    run = page.run("dates")
    asked = {"where": "verdict = fail", "sort": "-agreement", "row": "3", "rows": "1", "after": "x"}
    saved = page.post(f"{run}/views", do="save", name=HOSTILE, **asked)
    assert saved.status == 200
    assert "<b>x</b>" not in saved.text
    assert json.loads((root / "views.json").read_text()) == {
        HOSTILE: "where=verdict+%3D+fail&sort=-agreement"
    }
    shown = page.get(run).text
    assert "?where=verdict+%3D+fail&amp;sort=-agreement" in shown
    other = page.data(page.run("russian"))["views"]
    assert [one["name"] for one in other] == [HOSTILE], "it is there for every run of the folder"
    page.post(f"{run}/views", do="rename", name=HOSTILE, new="Плохие")
    page.post(f"{run}/views", do="save", name="of a judge", judge="AspectCritic", verdict="FAIL")
    assert [one["name"] for one in page.data(run)["views"]] == ["of a judge", "Плохие"]
    before = page.data(run)["views"]
    for name, new in (("of a judge", " Плохие "), ("gone", "new"), ("gone", "Плохие")):
        assert page.post(f"{run}/views", do="rename", name=name, new=new).status == 400
    assert page.data(run)["views"] == before, "no view takes the place of another"
    assert [one["name"] for one in page.data(page.run("two"))["views"]] == ["Плохие"]
    for wrong in ({"name": " "}, {"name": "x" * 81}, {"name": "a\x00b"}):
        assert page.post(f"{run}/views", do="save", verdict="FAIL", **wrong).status == 400
    assert page.post(f"{run}/views", do="save", name="all").status == 400, "nothing to save"
    with served(root, read_only=True) as reading:
        own = reading.run("dates")
        assert "Плохие" in reading.get(own).text
        assert "Save this view" not in reading.get(f"{own}?verdict=FAIL").text
        assert reading.post(f"{own}/views", do="delete", name="Плохие").status == 403
    page.post(f"{run}/views", do="delete", name="Плохие")
    page.post(f"{run}/views", do="delete", name="of a judge")
    assert page.data(run)["views"] == []
    (root / "views.json").write_text("[1]")
    assert "views.json" in page.data(run)["views_wrong"]
    assert page.post(f"{run}/views", do="save", name="x", verdict="FAIL").status == 400
    (root / "views.json").unlink()


def test_no_value_gets_into_the_text_of_a_query() -> None:
    known = KnownColumns(("a b", "q\"'"), ("c",), ("d",), {"agree": frozenset({1})})
    text = '"a b" = \'secret-1\' or c ~ secret-2 or d < 12345 or labelled or "q\\"\'" = secret-3'
    found = read_condition(text, known)
    assert "secret" not in found.sql
    assert "12345" not in found.sql
    assert {"secret-1", "secret-2", 12345.0, "secret-3"} <= {*found.values.values()}
    assert read_condition("d > ,5", known).values["w1"] == pytest.approx(0.5)
    with pytest.raises(WrongCondition, match="at character 5"):
        read_condition("d = x", known)


def test_two_servers_that_save_views_at_once_lose_none(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from adjudge.web.views import save_view\n"
        "for n in range(40): save_view(Path(sys.argv[1]), sys.argv[2] + str(n), 'verdict=FAIL')"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")
    ]
    assert [one.wait(60) for one in both] == [0, 0]
    assert len(read_views(tmp_path)) == 80
