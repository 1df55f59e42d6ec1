"""Pages of installed packages: under the guard of ours, and a broken one is one warning."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adjudge.web.guard import Access
from support.labels import judged
from support.page import Page

HOSTILE = "<script>document.title = 'taken'</script>"
PAGE = """
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from adjudge.web.page import ListPart, NavigationLink, Page, RowPart
from adjudge.web.site import site_of


def show(request):
    return site_of(request).answer(request, "notes/notes.html.jinja", {"text": TEXT})


def keep(request):
    return PlainTextResponse("kept")


def fail(*values):
    raise ZeroDivisionError("a part that fails")


def row_data(row):
    return {"noted": row.record.verdict, "votes": []}


PAGE = Page(
    name="notes",
    routes=[
        Route("/notes", show),
        Route("/notes", keep, methods=["POST"]),
        Route("/notes/fail", fail),
        Route("/criteria", keep),
    ],
    link=NavigationLink("/notes", "Notes"),
    package="notes",
    scripts=["notes.js"],
    keys=[("z", "note something")],
    row=RowPart(data=row_data, findings="notes/row.html.jinja"),
)
FAILING = Page(
    name="failing",
    style=fail,
    document=fail,
    row=RowPart(
        data=fail, page_data=fail, hidden_fields=fail, owns=fail, content="failing/none"
    ),
    rows=ListPart(dimensions=fail, rows=fail, filter_data=fail, filters="failing/none"),
)
UNBUILT = Page(name="unbuilt", package="notes.nothing")
SCRIPT = Page(name="script", package="notes", scripts=["none.js"])
LATER = Page(name="late", routes=["/late"])
""".replace("TEXT", repr(HOSTILE))
TEMPLATES = {
    "notes.html.jinja": '{% extends "base.html.jinja" %}{% block main %}<p>{{ text }}</p>'
    "{% endblock %}",
    "row.html.jinja": '<p class="noted">Noted: {{ chosen.noted }}, {{ part.prompt_note }}</p>',
    "broken.html.jinja": "{% if %}",
    "base.html.jinja": "another base",
}
ENTRIES = """[adjudge.pages]
notes = notes.page:PAGE
failing = notes.page:FAILING
unbuilt = notes.page:UNBUILT
late = notes.page:LATER
missing = notes.missing:PAGE
script = notes.page:SCRIPT
wrong = notes.page:row_data
label = notes.page:PAGE
"""


@dataclass
class Started:
    page: Page
    log: Path
    """What the server writes to standard error."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a package is installed, as pip leaves it."""
    site = tmp_path_factory.mktemp("site")
    for folder in ("templates", "static"):
        (site / "notes" / folder).mkdir(parents=True)
    (site / "notes/__init__.py").touch()
    (site / "notes/page.py").write_text(PAGE)
    (site / "notes/static/notes.js").write_text("'use strict';")
    (site / "notes/static/page.js").write_text("alert('ours is served')")
    for name, text in TEMPLATES.items():
        (site / "notes/templates" / name).write_text(text)
    about = site / "adjudge_notes-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: adjudge-notes\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    return site


@pytest.fixture(scope="module")
def started(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """``adjudge view`` in an environment with the package."""
    root = tmp_path_factory.mktemp("runs")
    judged(root / "one", ["a text", "another"], lambda _: "PASS")
    log = tmp_path_factory.mktemp("log") / "log"
    paths = [str(site), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "adjudge", "view", str(root), "--no-open"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    try:
        assert process.stdout
        address = urlsplit(process.stdout.readline().strip())
        access = Access(address.port or 0, address.query.removeprefix("token="))
        yield Started(Page(access), log)
    finally:
        process.kill()
        process.communicate()


def test_a_page_of_a_package_has_routes_an_entry_templates_and_help(started: Started) -> None:
    page = started.page
    shown = page.get("/notes")
    assert shown.status == 200
    assert f'<a href="{page.access.place}/notes" aria-current="page">Notes</a></nav>' in shown.text
    assert "<kbd>z</kbd> </dt><dd>note something</dd>" in shown.text
    assert "/static/notes.js?v=" in shown.text
    assert page.get("/static/notes.js").text == "'use strict';"
    assert page.data("/notes") == {"text": HOSTILE}
    assert 'href="' + page.access.place + '/notes" >Notes' in page.get("/").text


def test_it_is_under_the_guard_of_our_pages(started: Started) -> None:
    page, path = started.page, started.page.access.place + "/notes"
    shown, ours = page.get("/notes"), page.get("/criteria")
    assert HOSTILE not in shown.text and "&lt;script&gt;document.title" in shown.text
    protected = {"content-security-policy", "x-frame-options", "x-content-type-options"}
    assert protected <= shown.headers.keys()
    without_nonce = [
        answer.headers["content-security-policy"].split("'nonce-")[0] for answer in (shown, ours)
    ]
    assert without_nonce[0] == without_nonce[1]
    assert shown.headers["cache-control"] == "no-store"
    assert page.ask(path).status == page.ask("/notes").status == 403
    assert page.get("/notes", host="example.invalid").status == 421
    form = {"cookie": page.cookie, "origin": f"http://127.0.0.1:{page.access.port}"}
    token = page.access.form_token
    assert page.ask(path, "POST", "a=b", **form).status == 403
    foreign = {**form, "origin": "http://example.invalid", "x_adjudge_token": token}
    assert page.ask(path, "POST", "a=b", **foreign).status == 403
    assert page.post("/notes").text == "kept"


def test_it_cannot_take_the_place_of_ours(started: Started) -> None:
    page = started.page
    assert page.get("/criteria").text != "kept"
    assert "another base" not in page.get("/").text
    assert "alert(" not in page.get("/static/page.js").text
    row = page.data(f"{page.run('one')}/row/1")["chosen"]
    assert (row["noted"], len(row["votes"])) == ("PASS", 1)


def test_it_adds_to_the_page_of_a_row(started: Started) -> None:
    shown = started.page.get(f"{started.page.run('one')}/row/1").text
    assert '<p class="noted">Noted: PASS, </p>' in shown


def test_what_is_broken_is_one_warning_and_not_a_broken_server(started: Started) -> None:
    page = started.page
    run = page.run("one")
    for path in (run, f"{run}/row/1", f"{run}/row/2", f"{run}/watch", f"{run}/label", "/"):
        assert page.get(path).status == 200, path
    assert page.get("/notes/fail").status == 500
    assert page.get("/notes").status == 200
    broken = "the template notes/broken.html.jinja is broken"
    deadline = time.monotonic() + 60  # templates are compiled while nobody waits for a page
    while broken not in started.log.read_text() and time.monotonic() < deadline:
        time.sleep(0.2)
    logged = started.log.read_text().splitlines()
    for line in (
        "plugin adjudge-notes 1.0 (adjudge.pages: missing): ModuleNotFoundError",
        "plugin adjudge-notes 1.0 (adjudge.pages: unbuilt): ",
        "plugin adjudge-notes 1.0 (adjudge.pages: late): '/late' is not a starlette Route",
        "plugin adjudge-notes 1.0 (adjudge.pages: wrong): notes.page:row_data is a function",
        "plugin adjudge-notes 1.0 (adjudge.pages: script): the package has no file static/none.js",
        "plugin adjudge-notes 1.0 (adjudge.pages: failing): ZeroDivisionError",
        broken,
    ):
        assert sum(line in one for one in logged) == 1, (line, logged)
    assert page.get("/notes").status == 200
