"""What the pages of ``adjudge view`` show, asked over a real socket."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import nodes
from jinja2.ext import extract_from_ast

from adjudge import AspectCritic, DirectJudge, Instance, PairwiseJudge, ScriptedModel
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.layers.account import Account
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.errors import SetupError
from adjudge.messages import Message, read_catalogue
from adjudge.runs.cli.main import app
from adjudge.runs.folder import reading
from adjudge.web.library import Library, run_version
from adjudge.web.names import NAMES
from adjudge.web.site import templates
from support.labels import compared, judged, model
from support.page import Page, served
from support.trust import labelled, labels_of, population, run_of

ROWS = population(120)
WEB = files("adjudge.web")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run_of(root / "dates", ROWS, failed=lambda text: text.startswith("row 7 "))
    labelled(root / "dates", labels_of(ROWS[:60]))
    run_of(root / "again", [(text, good, not passed) for text, good, passed in ROWS[:40]])
    compared(
        root / "deeper" / "pairs", [(f"first {number}", f"second {number}") for number in range(3)]
    )
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Page]:
    with served(root) as found:
        yield found


def test_what_is_vendored_is_what_was_published() -> None:
    vendor = WEB / "static" / "vendor"
    lines = (line.split() for line in (vendor / "SHA256SUMS").read_text().splitlines())
    sums = {name: value for value, name in lines}
    assert sums.keys() == {one.name for one in vendor.iterdir()} - {"SHA256SUMS"}
    assert {name: hashlib.sha256((vendor / name).read_bytes()).hexdigest() for name in sums} == sums


def source_of(template: str) -> str:
    environment = templates("en")
    assert environment.loader
    return environment.loader.get_source(environment, template)[0]


def test_a_page_says_its_texts_and_names_in_russian() -> None:
    russian = templates("ru").from_string(
        '{{ _("Skip to the content") }} {{ name_of("flag", "low") }}'
    )
    assert russian.render() == "К содержанию неуверенно"


def test_every_text_of_the_pages_is_there_in_russian() -> None:
    environment = templates("en")
    texts: set[tuple[object, object]] = {
        (one.context, one.template)
        for names in NAMES.values()
        for one in names.values()
        if isinstance(one, Message)
    }
    for name in environment.list_templates():
        tree = environment.parse(source_of(name))
        for _, call, given in extract_from_ast(tree, ("_", "term"), babel_style=False):
            assert isinstance(given, tuple)
            context, text = given if call == "term" else ("", given[0])
            texts.add((context, text))
    assert len(texts) > 300
    assert sorted(texts - read_catalogue("ru").texts.keys()) == []


def test_what_a_user_wrote_is_never_translated() -> None:
    text = templates("ru").from_string('{{ _("Versions of {name}", name=name) }} {{ name }}')
    assert text.render(name="Criteria") == "Версии «Criteria» Criteria"


def test_templates_call_only_what_there_is() -> None:
    """Also in the parts that a page seldom shows, such as what a stopped run says."""
    environment = templates("en")
    known = environment.globals.keys()
    for name in environment.list_templates():
        tree = environment.parse(source_of(name))
        called = {
            call.node.name
            for call in tree.find_all(nodes.Call)
            if isinstance(call.node, nodes.Name)
        }
        macros = {macro.name for macro in tree.find_all(nodes.Macro)}
        imported = {
            one if isinstance(one, str) else one[1]
            for each in tree.find_all(nodes.FromImport)
            for one in each.names
        }
        assert (
            called - known - macros - imported - {"is_watched", "has_questions", "caller"} == set()
        ), name


def test_runs_are_listed_with_what_they_came_to(page: Page) -> None:
    runs = {one["name"]: one for one in page.data("/")["runs"]}
    assert sorted(runs) == ["again", "dates", "deeper/pairs"]
    (judge,) = runs["dates"]["judges"]
    assert judge["statuses"] == {"scored": 119, "failed": 1}
    assert judge["models"] == ["scripted"]
    mean = judge["means"][""]
    assert mean["lower"] < mean["value"] < mean["upper"]
    assert [one["name"] for one in page.data("/?q=AGA")["runs"]] == ["again"]


def test_a_number_that_labels_correct_is_in_the_list_a_moment_later(page: Page) -> None:
    run = page.run("dates")
    if not next(one for one in page.data("/")["runs"] if one["name"] == "dates")["complete"]:
        assert f'hx-get="{page.access.place}{run}/line"' in page.get("/").text
    (corrected,) = page.data(f"{run}/line")["run"]["corrected"]
    assert corrected["lower"] < corrected["value"] < corrected["upper"]
    assert f'<a href="{page.access.place}{run}/trust">corrected</a>' in page.get("/").text
    assert f'hx-get="{page.access.place}{run}/line"' not in page.get("/").text


def test_several_criteria_have_a_mean_each_and_none_together(tmp_path: Path) -> None:
    kind, short = (
        replace(yes_no_criteria(f"Is it {name}?"), name=name) for name in ("kind", "short")
    )
    judge = DirectJudge(model(lambda prompt: "Yes" if "Is it kind?" in prompt else "No"))
    rows = [Instance({"response": f"text {number}"}, f"r{number}") for number in range(10)]
    judge.evaluate([*rows, *rows], [kind] * 10 + [short] * 10, run=tmp_path / "both")
    with served(tmp_path) as page:
        run, line = page.run("both"), page.data("/")["runs"][0]["judges"][0]
        figures = page.data(run)["figures"]
        assert figures["mean"] is None
        assert {name: one["value"] for name, one in figures["means"].items()} == {
            "kind": 1.0,
            "short": 0.0,
        }
        assert line["means"] == figures["means"]
        assert {row["verdict"] for row in page.data(f"{run}?criteria=short")["rows"]} == {"No"}
        assert len(page.data(f"{run}?criteria=short")["rows"]) == 10
        assert figures["identity"][:16] in page.get(run).text
        (other,) = page.data(f"{run}/row/1")["chosen"]["same"]
        assert (other["row"], other["criteria"], other["verdict"]) == (11, "short", "No")
        assert "The same text elsewhere in this run" in page.get(f"{run}/row/1").text


def test_why_a_run_stopped_is_told_in_the_language_of_the_page(tmp_path: Path) -> None:
    judged(tmp_path / "run", ["text"], lambda _: "PASS")
    ended = Message(
        "batches under way: {count}, with {requests} requests; they continue at the provider",
        count=1,
        requests=8,
    )
    with connect(tmp_path / "run" / FILE) as ledger:
        write_meta(ledger, {"ended": ended})
    with served(tmp_path, language="ru") as page:
        assert "пакетов в работе: 1" in page.get("/").text
        assert "batches under way" not in page.get("/").text


def test_rows_whose_reply_had_to_be_asked_for_again_are_found(tmp_path: Path) -> None:
    replies = iter(
        ["I would rather not.", '{"explanation": "so", "selected_option": "PASS"}']
        + ['{"selected_option": "PASS"}'] * 3
    )
    critic = AspectCritic("It is kind.", ScriptedModel(lambda _: next(replies)), name="kind")
    critic.evaluate(["one"], run=tmp_path / "run")
    critic.evaluate(["one", "two"], run=tmp_path / "run")
    with served(tmp_path) as page:
        run = page.run("run")
        assert [line["flags"] for line in page.data(f"{run}?sort=row")["rows"]] == [
            ["repaired"],
            [],
        ]
        assert [line["row"] for line in page.data(f"{run}?flag=repaired")["rows"]] == [1]
        assert "asked again" in page.get(run).text


def test_what_the_order_does_and_what_it_cost_is_with_the_figures(tmp_path: Path) -> None:
    judge = PairwiseJudge(model(lambda _: "A"), check_positional_bias=True)
    judge.evaluate([["one", "two"]] * 3, "Which is better?", run=tmp_path / "pairs")
    with connect(tmp_path / "pairs" / FILE) as ledger:
        write_meta(
            ledger,
            {"spending": Account({"openai/gpt-4o-mini": Usage(2, 1_000_000, 0)}).to_dict()},
        )
    with served(tmp_path) as page:
        figures = page.data(page.run("pairs"))["figures"]
        assert (figures["order"]["turned"], figures["order"]["rows"]) == (3, 3)
        assert figures["usd"] == page.data("/")["runs"][0]["usd"] > 0
        assert "Verdict depends on order" in page.get(page.run("pairs")).text


def test_every_row_is_on_exactly_one_page_the_worst_first(page: Page) -> None:
    run, seen, after = page.run("dates"), [], ""
    while True:
        found = page.data(f"{run}?after={after}")
        seen += [(line["status"], line["score"], line["row"]) for line in found["rows"]]
        if not (after := found["next"]):
            break
    assert len(seen) == len(set(seen)) == 120
    assert seen[0] == ("failed", None, 8)
    assert [score for _, score, _ in seen[1:]] == sorted(score for _, score, _ in seen[1:])


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("status=failed", 1),
        ("verdict=FAIL", sum(not passed for place, (*_, passed) in enumerate(ROWS) if place != 7)),
        ("max=0.5", sum(not passed for place, (*_, passed) in enumerate(ROWS) if place != 7)),
        ("q=ROW+11", 11),
        ("sort=row&q=ROW+11", 11),
        ("flag=split", 0),
    ],
)
def test_filters_find_what_they_say(page: Page, query: str, count: int) -> None:
    found, after = 0, ""
    while after is not None:
        answer = page.data(f"{page.run('dates')}?{query}&after={after}")
        found, after = found + len(answer["rows"]), answer["next"]
    assert found == count


def test_a_large_run_does_not_wait_for_its_figures(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.LARGE", 1)
    with served(root) as page:
        run = page.run("dates")
        found = page.data(run)
        assert found["figures"] is None
        assert found["rows"][0]["status"] == "failed"
        assert f'hx-get="{page.access.place}{run}/figures?' in page.get(run).text
        assert page.data(f"{run}/figures")["figures"]["attempted"] == 120
        by_row = page.data(f"{run}?verdict=FAIL")
        assert by_row["sort"] == "row"
        assert [line["verdict"] for line in by_row["rows"]] == ["FAIL"] * len(by_row["rows"])
        assert "in the order of the rows" in page.get(f"{run}?verdict=FAIL").text


def test_the_list_does_not_wait_for_what_a_large_run_comes_to(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.library.LARGE", 1)
    with served(root) as page:
        run = page.run("dates")
        assert f'hx-get="{page.access.place}{run}/line"' in page.get("/").text
        assert page.data(f"{run}/line")["run"]["judges"][0]["statuses"] == {
            "scored": 119,
            "failed": 1,
        }
        assert f'hx-get="{page.access.place}{run}/line"' not in page.get("/").text


def test_by_row_is_in_the_order_of_the_data(page: Page) -> None:
    assert [line["row"] for line in page.data(f"{page.run('dates')}?sort=row")["rows"]] == list(
        range(1, 51)
    )


def test_the_figures_are_those_of_the_run(page: Page) -> None:
    figures = page.data(page.run("dates"))["figures"]
    assert figures["attempted"] == 120
    assert sum(bar["count"] for bar in figures["histogram"]) == 119
    assert sum(figures["verdicts"].values()) == 119


def test_a_row_shows_its_fields_and_every_vote(page: Page) -> None:
    row = page.data(f"{page.run('dates')}/row/1")["chosen"]
    assert row["fields"][0]["parts"] == [[ROWS[0][0], False]]
    (vote,) = row["votes"]
    assert vote["model"] == "scripted"
    assert vote["outcome"] == "ok"
    assert "selected_option" in vote["text"]
    assert vote["prompt"]["checked"]
    assert ROWS[0][0] in vote["prompt"]["turns"][-1][1]
    assert "records(run, judge=" in row["python"]
    shown = page.get(f"{page.run('dates')}?row=1").text
    assert ROWS[0][0] in shown
    assert "The reply, unchanged" in shown
    assert "The prompt as it was sent" in shown


def test_a_row_that_failed_says_why(page: Page) -> None:
    row = page.data(f"{page.run('dates')}/row/8")["chosen"]
    assert row["status"] == "failed"
    assert row["reason"]


def test_pages_are_small(page: Page) -> None:
    first = page.get(page.run("dates"))
    loaded = re.findall(rf'(?:src|href)="{page.access.place}(/static/[^"]+)"', first.text)
    assert len(loaded) == 8
    assert len(first.body) + sum(len(page.get(path).body) for path in loaded) < 152_000


def test_the_language_is_a_switch_in_the_page(page: Page) -> None:
    assert "Прогоны" in page.get("/", cookie=f"{page.cookie}; adjudge_language=ru").text
    assert '<html lang="en">' in page.get("/").text
    assert (
        page.get("/language?set=ru&back=/").headers["set-cookie"].startswith("adjudge_language=ru")
    )


def test_a_run_that_has_ended_is_shown_as_ended_at_once(tmp_path: Path) -> None:
    judged(tmp_path / "late", ["one", "two"], lambda _: "PASS")
    ledger = tmp_path / "late" / FILE
    with connect(ledger) as connection:
        write_meta(connection, {"ended": None})
    with served(tmp_path) as page:
        for number in range(5):
            assert page.data("/")["runs"][0]["state"] == "not finished"
            with connect(ledger) as connection:
                write_meta(connection, {"ended": f"stopped {number}"})
            assert page.data("/")["runs"][0]["state"] == f"stopped {number}"
            with connect(ledger) as connection:
                write_meta(connection, {"ended": None})


def test_a_commit_counts_when_it_can_be_read_whatever_the_log_looks_like(tmp_path: Path) -> None:
    """It is written to the log before it can be read: here the log has the size and time that it
    will have.
    """
    judged(tmp_path / "run", ["one", "two"], lambda _: "PASS")
    library = Library(tmp_path)
    (place,) = library.scan()
    log = tmp_path / "run" / f"{FILE}-wal"
    with connect(tmp_path / "run" / FILE) as connection:
        write_meta(connection, {"filler": "x" * 50_000})
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        before = log.stat()
        assert sum(one.statuses["scored"] for one in library.counts(place).values()) == 2
        connection.execute("DELETE FROM judgments WHERE number = 0")
        assert log.stat().st_size == before.st_size
        os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (
            sum(one.statuses["scored"] for one in library.counts(place, at_once=True).values()) == 1
        )


_IN_USE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as index:
    fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)
"""
"""How SQLite sees whether anybody uses the index of a log: where nobody does, it is emptied."""


@pytest.mark.skipif(sys.platform == "win32", reason="locks are another matter there")
def test_who_asks_for_the_version_of_a_run_leaves_the_locks_of_its_readers(tmp_path: Path) -> None:
    """Else whoever writes to the run next kills the page: its readers have the index mapped."""
    judged(tmp_path / "run", ["one"], lambda _: "PASS")
    with connect(tmp_path / "run" / FILE) as writer, reading(tmp_path / "run") as reader:
        write_meta(writer, {"filler": 1})
        reader.execute("SELECT * FROM meta").fetchone()
        run_version(tmp_path / "run")
        index = tmp_path / "run" / f"{FILE}-shm"
        words = [sys.executable, "-c", _IN_USE, str(index)]
        asked = subprocess.run(words, capture_output=True, check=False)
    assert b"BlockingIOError" in asked.stderr


def test_the_list_is_without_a_run_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        judged(tmp_path / name, ["a"], lambda _: "PASS")
    with served(tmp_path) as page:
        address, places = page.run("one"), page.server.site.library.scan()
        monkeypatch.setattr(page.server.site.library, "scan", lambda: places)
        monkeypatch.setattr(page.server.site.library, "find", lambda _: places[0])
        for path in (place.folder for place in places if place.name == "one"):
            shutil.rmtree(path)
        assert [one["name"] for one in page.data("/")["runs"]] == ["two"]
        shutil.rmtree(places[0].folder, ignore_errors=True)
        gone = page.get(f"{address}/line")
        assert (gone.status, "have been deleted" in gone.text) == (404, True)


def test_a_run_that_was_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    judged(tmp_path / "gone", ["one"], lambda _: "PASS")
    with served(tmp_path) as page:
        address = page.run("gone")
        shutil.rmtree(tmp_path / "gone")
        for path in ("", "/row/1", "/label", "/trust", "/figures", "/line"):
            assert page.get(address + path).status == 404
        assert page.data("/")["runs"] == []


def test_a_damaged_run_is_said_to_be_damaged_and_the_others_are_shown(tmp_path: Path) -> None:
    judged(tmp_path / "whole", ["one"], lambda _: "PASS")
    judged(tmp_path / "broken", ["one"], lambda _: "PASS")
    (tmp_path / "broken" / "ledger.sqlite").write_bytes(b"SQLite format 3\0" + bytes(5000))
    with served(tmp_path) as page:
        runs = {one["name"]: one for one in page.data("/")["runs"]}
        assert "recover" in runs["broken"]["error"]
        assert runs["whole"]["judges"]
        assert page.get(page.run("broken")).status == 400


def test_the_command_prints_its_address_and_ends_with_ctrl_c(root: Path) -> None:
    command = [sys.executable, "-m", "adjudge", "view", str(root / "dates"), "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout
        assert process.stderr
        assert re.fullmatch(
            r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n", process.stdout.readline()
        )
        process.send_signal(signal.SIGINT)
        assert (process.stdout.read(), process.stderr.read()) == ("", "")
    assert process.returncode == 0


def test_the_command_says_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not a folder"):
        app(["view", str(tmp_path / "nothing")], standalone_mode=False)
