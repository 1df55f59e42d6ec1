"""Attacks on the page over a real socket: nothing runs, nothing is read outside the folder, nothing
falls over.
"""

from __future__ import annotations

import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.core.ledger.rows import COLUMNS, insert, select, with_checksum
from adjudge.features.bench.benchmark import FACT
from adjudge.features.rag import RagEvaluator
from adjudge.trust.labels.store import LabelStore
from adjudge.web.pages.row import mark_quotes
from support.labels import judged, model
from support.page import Page, served
from support.tower import ROW, knows, says

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>"
    "<a href='javascript:alert(1)' hx-get='/x' hx-on:click='x'>\"'`</textarea>"
)

CELL = int(os.environ.get("ADJUDGE_PAGE_CELL", "200000"))
AT_ONCE = int(os.environ.get("ADJUDGE_PAGE_AT_ONCE", "40"))
"""Ten million characters and two hundred requests with make test-browser."""
LINKS = ("href", "src", "action", "hx-get", "hx-post", "hx-push-url", "data-link", "data-events")
OURS = ("/", "?", "#main", "#rows", "data:,")


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    @classmethod
    def of(cls, text: str) -> Elements:
        found = cls()
        found.feed(text)
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    judged(root / "plain", ["one", "two"], lambda text: "PASS" if "one" in text else "FAIL")
    rows = [Instance({"response": HOSTILE, HOSTILE: HOSTILE}, HOSTILE)]
    AspectCritic(HOSTILE, model(lambda _: HOSTILE), name=HOSTILE).evaluate(
        rows, run=root / "hostile"
    )
    outside = tmp_path_factory.mktemp("outside")
    judged(outside / "secret", ["secret text"], lambda _: "PASS")
    (root / "linked").symlink_to(outside / "secret", target_is_directory=True)
    (root / "linked file").mkdir()
    (root / "linked file" / "ledger.sqlite").symlink_to(outside / "secret" / "ledger.sqlite")
    LabelStore(root / "hostile").add(
        Label(
            row=rows[0].identity,
            criteria=HOSTILE,
            annotator=HOSTILE,
            option="PASS",
            note=HOSTILE,
            design="random",
        )
    )
    with connect(root / "hostile" / FILE) as ledger:
        write_meta(ledger, {FACT: {"data": HOSTILE, "notes": [HOSTILE]}})
    with (root / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["answer", HOSTILE], [HOSTILE, HOSTILE]])
    (root / "own.yaml").write_text(
        json.dumps(
            {"name": HOSTILE, "description": HOSTILE, "options": [HOSTILE, "other"]}, indent=1
        )
    )
    with served(root, home=root) as found:
        yield found


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""]
)
def test_a_host_that_is_not_ours_is_refused(page: Page, host: str) -> None:
    answer = page.get("/", host=host)
    assert answer.status == 421
    assert b"plain" not in answer.body


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_our_own_names_are_served(page: Page, name: str) -> None:
    assert page.get("/", host=f"{name}:{page.access.port}").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/run/x",
        "/static/page.css",
        "/?token=wrong",
        "/run/x?token={token}",
        "/language?set=ru",
    ],
)
def test_without_the_token_nothing_is_shown(page: Page, path: str) -> None:
    assert page.ask(path.format(token=page.access.token)).status == 403
    assert (
        page.ask(path.format(token=page.access.token), cookie=f"{page.access.cookie}=wrong").status
        == 403
    )
    assert (
        page.ask(
            path.format(token=page.access.token), x_adjudge_token=page.access.form_token
        ).status
        == 403
    )


def test_the_token_in_the_address_becomes_a_cookie_and_is_gone(page: Page) -> None:
    answer = page.ask(page.access.url.removeprefix(f"http://127.0.0.1:{page.access.port}"))
    assert (answer.status, answer.headers["location"]) == (303, f"{page.access.place}/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/{place}x/",
        "/x/{place}/",
        "/?token={session}",
        "/run/x",
        "/static/page.css",
        "/%2e/{place}",
    ],
)
def test_a_server_on_another_port_can_do_nothing_with_the_cookie(page: Page, path: str) -> None:
    """Browsers send the cookies of 127.0.0.1 to every port: one that held the token let anybody
    there read and label.
    """
    answer = page.ask(page.access.url.removeprefix(f"http://127.0.0.1:{page.access.port}"))
    given = answer.headers["set-cookie"]
    assert page.access.token not in given and f"Path={page.access.place};" in f"{given};"
    value = given.partition(";")[0]
    address = path.format(place=page.access.place[1:], session=page.access.session)
    assert page.ask(address, cookie=value).status == 403
    assert page.ask(address, x_adjudge_token=page.access.session).status == 403
    forged = {"origin": f"http://127.0.0.1:{page.access.port}", "sec_fetch_site": "same-origin"}
    for token in (page.access.session, page.access.form_token):
        assert (
            page.ask(
                f"{page.run('plain')}/label?annotator=x",
                "POST",
                "do=undo",
                cookie=value,
                x_adjudge_token=token,
                **forged,
            ).status
            == 403
        )


def test_who_knows_the_place_alone_sees_nothing(page: Page) -> None:
    assert page.ask(f"{page.access.place}/").status == 403
    assert (
        page.ask(
            f"{page.access.place}/", cookie=f"{page.access.cookie}={page.access.form_token}"
        ).status
        == 403
    )


@pytest.mark.parametrize(
    "odd",
    [
        "a[b]=c",
        "x",
        "=;;",
        'q="\\',
        "\xe9=\xff",
        "adjudge_{port}=odd",
        "adjudge_{port}",
        "a=b " * 500,
    ],
)
def test_an_odd_cookie_of_another_port_locks_nobody_out(page: Page, odd: str) -> None:
    odd = odd.format(port=page.access.port)
    assert page.get("/", cookie=f"{odd}; {page.cookie}").status == 200
    assert page.get("/", cookie=f"{page.cookie}; {odd}").status == 200


def test_the_way_in_from_another_page_brings_the_cookie_along(page: Page) -> None:
    """A browser withholds a strict cookie from a redirect that another page began: it is asked to
    go on by itself.
    """
    answer = page.ask(
        f"/?token={page.access.token}&q=%22%3E%3Cscript%3E", sec_fetch_site="cross-site"
    )
    assert (answer.status, answer.headers["set-cookie"].partition("=")[0]) == (
        200,
        page.access.cookie,
    )
    assert f'url={page.access.place}/?q=%22%3E%3Cscript%3E"' in answer.text
    assert page.access.token not in answer.text


def test_an_address_without_the_place_says_how_to_get_in_and_nothing_else(page: Page) -> None:
    answer = page.ask(page.run("plain"), accept="text/html", cookie=page.cookie)
    assert (answer.status, page.access.place in answer.text) == (403, False)
    assert "open the address that adjudge view printed" in answer.text


def test_a_script_that_has_the_token_needs_no_place(page: Page) -> None:
    answer = page.ask(page.run("plain"), x_adjudge_token=page.access.token)
    assert (answer.status, page.access.place in answer.text) == (200, False)


def test_every_link_stays_where_the_cookie_is_sent(page: Page) -> None:
    run = page.run("plain")
    id = run.removeprefix("/run/")
    for path in (
        "/",
        f"{run}?row=1",
        f"{run}/figures",
        f"{run}/row/1",
        f"{run}/label?annotator=ann",
        f"{run}/trust",
        "/start?data=rows.csv",
        "/criteria",
        "/criteria/conciseness",
        "/criteria-file?name=own.yaml",
        "/benchmarks",
        f"/compare?a={id}&b={id}",
        f"/compare/row?cell={id}:1:AspectCritic&cell={id}:1:AspectCritic",
        "/playground",
        f"/playground?run={id}&row=1&judge=AspectCritic",
        "/nowhere",
    ):
        given = Elements.of(page.get(path).text).attributes
        links = [
            value
            for name, value in given
            if name in LINKS
            and not value.startswith(("#", "?", "data:,"))  # "?": of the same page
            and (name, value) != ("hx-push-url", "true")  # the address that was asked for
        ]
        assert (
            links and [one for one in links if not one.startswith(f"{page.access.place}/")] == []
        ), path


def test_the_token_stands_in_no_page(page: Page) -> None:
    for path in ("/", page.run("plain")):
        body = page.get(path).body
        assert page.access.token.encode() not in body and page.access.session.encode() not in body


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "x_adjudge_token": "{form}"},
        {"origin": "null", "x_adjudge_token": "{form}"},
        {"x_adjudge_token": "{form}"},
        {"sec_fetch_site": "cross-site", "x_adjudge_token": "{form}"},
        {"origin": "http://127.0.0.1:{port}"},
        {"origin": "http://127.0.0.1:{port}", "x_adjudge_token": "wrong"},
        {"origin": "http://127.0.0.1:1", "x_adjudge_token": "{form}"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_changes_something_must_come_from_our_page(
    page: Page, method: str, headers: dict[str, str]
) -> None:
    given = {
        name: value.format(form=page.access.form_token, port=page.access.port)
        for name, value in headers.items()
    }
    assert (
        page.ask(f"{page.access.place}/", method, "a=b", cookie=page.cookie, **given).status == 403
    )


def test_every_answer_forbids_what_is_not_ours(page: Page) -> None:
    for answer in (
        page.get("/"),
        page.get("/static/page.js"),
        page.get("/nowhere"),
        page.ask("/"),
        page.ask("/", host="x"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_pages_hold_no_inline_script_or_style(page: Page) -> None:
    for path in ("/", page.run("plain"), f"{page.run('plain')}?row=1", "/nowhere"):
        text = page.get(path).text
        assert re.findall(r"<script(?![^>]* src=)", text) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", text) == []


def test_evaluated_text_stays_text_in_every_place(page: Page) -> None:
    run = page.run("hostile")
    for path in (
        "/",
        run,
        f"{run}?row=1",
        f"{run}/row/1",
        f"{run}/row/1?part=1",
        f"{run}?verdict={'%3Cscript%3E'}",
        f"/?q={'%3Cscript%3E'}",
        f"{run}/label?annotator=ann",
        f"{run}/label?{urlencode({'annotator': HOSTILE[:90]})}",
        f"{run}/trust",
        "/start",
        "/start?data=rows.csv",
        f"/start?{urlencode({'data': 'rows.csv', 'question': HOSTILE, 'columns': HOSTILE})}",
        "/criteria",
        "/criteria-file?name=own.yaml",
        "/benchmarks",
        "/benchmarks?group=model",
        f"/benchmarks?{urlencode({'q': HOSTILE})}",
        (
            f"/benchmarks/{run.removeprefix('/run/')}?"
            f"{urlencode({'judge': 'AspectCritic', 'criteria': HOSTILE})}"
        ),
    ):
        text = page.get(path).text
        elements = Elements.of(text)
        assert "img" not in elements.tags, path
        assert elements.tags.count("textarea") == ("/label?" in path), (
            path
        )  # the note on the criteria
        assert [name for name, _ in elements.attributes if name.startswith(("on", "hx-on"))] == []
        assert [
            value
            for name, value in elements.attributes
            if name in ("href", "src", "hx-get") and not value.startswith(OURS)
        ] == []
    assert HOSTILE in html.unescape(page.get(f"{run}/row/1").text)


@pytest.mark.parametrize(
    "name", ["..", "../outside", "..%2F..%2Fetc", "%2e%2e", "plain%00", "C:%5Cx", "%F0%9F%92%A9"]
)
def test_a_run_is_found_by_its_id_and_never_by_a_path(page: Page, name: str) -> None:
    assert page.get(f"/run/{name}").status == 404
    assert page.get(f"/run/{name}/row/1").status == 404
    assert page.get(f"/static/{name}").status == 404


def test_a_link_out_of_the_folder_is_not_followed(page: Page) -> None:
    shown = page.get("/").text
    assert "linked" not in shown
    assert sorted(one["name"] for one in page.data("/")["runs"]) == ["hostile", "plain"]


def test_a_run_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    judged(tmp_path / "runs" / "one", ["one"], lambda _: "PASS")
    judged(tmp_path / "secret", ["secret text"], lambda _: "PASS")
    with served(tmp_path / "runs") as page:
        address = page.run("one")
        (tmp_path / "runs" / "one").rename(tmp_path / "moved")
        (tmp_path / "runs" / "one").symlink_to(tmp_path / "secret", target_is_directory=True)
        answer = page.get(address)
    assert answer.status == 404
    assert b"secret text" not in answer.body


@pytest.mark.parametrize(
    "query",
    [
        "min=nan",
        "max=x",
        "sort=drop",
        "flag='--",
        "status=x",
        "after=x",
        "judge=nobody",
        "row=x",
        "row=9",
    ],
)
def test_a_strange_query_is_answered_in_words(page: Page, query: str) -> None:
    answer = page.get(f"{page.run('plain')}?{query}")
    assert answer.status == 400
    assert "Traceback" not in answer.text


def test_the_language_switch_leads_nowhere_else(page: Page) -> None:
    for back in (
        "http://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "%2F%0d%0aSet-Cookie:x",
    ):
        assert (
            page.get(f"/language?set=ru&back={back}").headers["location"] == f"{page.access.place}/"
        )
    assert page.get("/language?set=ru&back=/run/x").headers["location"] == "/run/x"


def test_an_address_without_end_is_refused(page: Page) -> None:
    assert page.get(f"/?q={'x' * 20_000}").status in (400, 414)


def test_a_huge_cell_is_shown_in_part(tmp_path: Path) -> None:
    judged(tmp_path / "large", ["x" * CELL], lambda _: "PASS")
    with served(tmp_path) as page:
        run = page.run("large")
        assert len(page.get(f"{run}?row=1").body) < 100_000
        assert len(page.get(f"{run}/label?annotator=ann").body) < 100_000
        assert len(page.get(f"{run}/label?annotator=ann&whole=1").body) > CELL
        assert f"{CELL - 20_000:,}" in page.get(f"{run}/row/1").text
        assert len(page.get(f"{run}/row/1?whole=1").body) > CELL


def test_a_huge_row_is_not_sent_to_the_playground(tmp_path: Path) -> None:
    judged(tmp_path / "large", ["x" * 600_000], lambda _: "PASS")
    with served(tmp_path) as page:
        answer = page.get(
            f"/playground?run={page.run('large').removeprefix('/run/')}&row=1&judge=AspectCritic"
        )
    assert (answer.status, len(answer.body) < 10_000, "at most" in answer.text) == (400, True, True)


def test_sixty_thousand_quotes_in_an_explanation_take_no_time(tmp_path: Path) -> None:
    """They took nine seconds of CPU, however short the text was."""
    quotes = " ".join(f'"quote {number:05}"' for number in range(60_000))
    judged(tmp_path / "quoting", ["It says quote 00001 and quote 59999."], lambda _: "PASS")
    change(tmp_path / "quoting", "result", lambda kept: {**kept, "explanation": quotes})
    with served(tmp_path) as page:
        run = page.run("quoting")
        before = time.process_time()
        shown = page.get(f"{run}/row/1").text
        assert time.process_time() - before < 2, (
            "seconds of CPU of this process, in which the server runs"
        )
    assert "<mark>quote 00001</mark>" in shown


def test_the_longest_quotation_at_a_place_is_marked() -> None:
    found = mark_quotes("so: abc def, abc, abc def", {"abc", "abc def", "bc", "def, a", "nothing"})
    assert found == [
        ("so: ", False),
        ("abc def", True),
        (", ", False),
        ("abc", True),
        (", ", False),
        ("abc def", True),
    ]


def change(folder: Path, column: str, how: Callable[[dict[str, Any]], object]) -> None:
    """A run as somebody else may have written it: the JSON of its first judgment changed, its
    checksum right.
    """
    with connect(folder / FILE) as ledger:
        row = dict(
            zip(
                (*COLUMNS["judgments"], "checksum"),
                ledger.execute(select("judgments")).fetchone(),
                strict=True,
            )
        )
        row[column] = json.dumps(how(json.loads(row[column])))
        ledger.execute(
            insert("judgments"), with_checksum(*(row[name] for name in COLUMNS["judgments"]))
        )
        ledger.commit()


ODD: list[object] = [None, "x", -1, 1e300, 10**400, True, [], [[]], [None], {}, {"value": {}}]
PLACES = [
    ("result", ["status"]),
    ("result", ["score"]),
    ("result", ["measures"]),
    ("result", ["measures", "citations"]),
    ("result", ["measures", "citations", "value"]),
    ("result", ["measures", "citations", "reason"]),
    ("result", ["evidence"]),
    ("result", ["evidence", "sentences"]),
    ("result", ["evidence", "sentences", 0]),
    ("result", ["evidence", "sentences", 0, "support"]),
    ("result", ["evidence", "sentences", 0, "evidence"]),
    ("result", ["blame"]),
    ("instance", ["response"]),
    ("instance", ["contexts"]),
]


@pytest.mark.parametrize(("column", "place"), PLACES, ids=str)
def test_a_run_that_holds_something_odd_is_shown_or_refused_in_words(
    tmp_path: Path, column: str, place: list[str | int]
) -> None:
    RagEvaluator(says(knows), dimensions="none", measures=["citations"], evidence="each").evaluate(
        ROW, run=tmp_path / "odd"
    )
    with served(tmp_path, home=tmp_path) as page:
        run = page.run("odd")
        for odd in ODD:
            change(tmp_path / "odd", column, partial(put, place=place, odd=odd))
            for path in (
                f"{run}/row/1",
                f"{run}?row=1",
                f"{run}/label?annotator=a",
                f"/playground?run={run[5:]}&judge=RagEvaluator",
            ):
                answer = page.get(path)
                assert answer.status in (200, 400), (path, odd, answer.text)


def put(found: Any, place: list[Any], odd: object) -> Any:
    """``found`` with something else in that place, where it has the place."""
    changed = json.loads(json.dumps(found))
    held = changed
    for part in place[:-1]:
        held = held[part] if isinstance(held, list) else held.setdefault(part, {})
    held[place[-1]] = odd
    return changed


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 400])
def test_a_row_number_without_end_is_answered_in_words(page: Page, number: str) -> None:
    run = page.run("plain")
    id = run.removeprefix("/run/")
    for path in (
        f"{run}/row/{number}",
        f"{run}?row={number}",
        f"{run}?row=1e300",
        f"{run}?after=0__{number}",
    ):
        assert page.get(path).status == 400, path
    assert page.get(f"/playground?run={id}&row={number}&judge=AspectCritic").status == 400


def test_a_blank_file_below_the_folder_stops_no_page(tmp_path: Path) -> None:
    """A YAML file of 12 kB of line breaks took ten seconds, one of 200 kB half an hour."""
    judged(tmp_path / "one", ["one"], lambda _: "PASS")
    (tmp_path / "blank.yaml").write_text(" \n" * 90_000)
    (tmp_path / "dashes.yaml").write_text("- " * 90_000)
    (tmp_path / "own.yaml").write_text(
        "- name: polite\n\n  description: Is it?\n  options: [Yes, No]\n"
    )
    with served(tmp_path, home=tmp_path) as page:
        before = time.process_time()
        shown = page.get("/criteria").text
        assert time.process_time() - before < 3, (
            "seconds of CPU of this process, in which the server runs"
        )
    assert "own.yaml" in shown and "blank.yaml" not in shown


def test_the_token_does_not_stand_among_the_words_that_start_the_browser(tmp_path: Path) -> None:
    """Every user of a machine can read them."""
    started, seen = tmp_path / "browser", tmp_path / "seen"
    started.write_text(
        f'#!/bin/sh\necho "$@" > {seen}.new && cat "${{1#file://}}" >> {seen}.new && mv '
        f"{seen}.new {seen}\n"
    )
    started.chmod(0o700)
    (tmp_path / "runs").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "adjudge", "view", str(tmp_path / "runs")],
        env={**os.environ, "BROWSER": f"{started} %s"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        while not seen.exists():
            assert process.poll() is None
            time.sleep(0.05)
        words, page = seen.read_text().split("\n", 1)
        token = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=(\S{43})", address)
        assert token and token[1] not in words and address in html.unescape(page)
        file = Path(words.removeprefix("file://"))
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert not file.exists()


def test_many_requests_at_once_are_all_answered(page: Page) -> None:
    run = page.run("plain")
    asked = [
        "/",
        run,
        f"{run}/row/1?part=1",
        f"{run}/figures",
        f"{run}/line",
        f"{run}/label?annotator=ann",
        "/start",
        "/criteria",
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(
            pool.map(lambda place: page.get(asked[place % len(asked)]).status, range(AT_ONCE))
        )
    assert answers == [200] * AT_ONCE


def test_many_labels_at_once_are_all_kept(tmp_path: Path) -> None:
    """One annotator in many tabs: no label is lost, and none is given to a row
    that was not shown.
    """
    judged(tmp_path / "one", [f"text {number}" for number in range(20)], lambda _: "PASS")
    with served(tmp_path) as page:
        address = f"{page.run('one')}/label?annotator=ann"

        def press(_: int) -> int:
            row = page.data(address)["work"]["row"]
            return (
                page.post(address, do="answer", row=row["identity"], choice="FAIL").status
                if row
                else 200
            )

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(press, range(40))) == {200}
        labels = list(LabelStore(tmp_path / "one").history())
    assert len(labels) == len({label.row for label in labels}) <= 20


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_cannot_be_written_is_shown(tmp_path: Path) -> None:
    judged(tmp_path / "kept", ["one"], lambda _: "PASS")
    (tmp_path / "kept").chmod(0o500)
    try:
        with served(tmp_path) as page:
            assert page.get(page.run("kept")).status == 200
    finally:
        (tmp_path / "kept").chmod(0o700)
