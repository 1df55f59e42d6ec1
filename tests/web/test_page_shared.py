"""A page that a proxy shares: who gets in, what each role may do, and what the audit log says."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from starlette.routing import Route

from adjudge.errors import SetupError
from adjudge.trust.labels.store import LabelStore
from adjudge.web import audit
from adjudge.web.app import all_routes
from adjudge.web.audit import AuditLog
from adjudge.web.proxy import NotAdmitted, Users, make_sharing
from adjudge.web.roles import ROLES, Role, changes_something, role_of
from adjudge.web.server import PageServer
from support.commands import adjudge
from support.labels import judged

HEADER = "X-Forwarded-User"
ORIGIN = "https://judge.example.com"
HOST = "judge.example.com"
USERS: dict[str, Role] = {
    "rita@example.com": "read",
    "lars@example.com": "label",
    "sam@example.com": "spend",
    "Ёлка": "read",
}

ROUTES: dict[tuple[str, str], tuple[Role, bool]] = {
    ("GET", "/"): ("read", False),
    ("GET", "/language"): ("read", False),
    ("GET", "/theme"): ("read", False),
    ("GET", "/row-height"): ("read", False),
    ("GET", "/static/{name:path}"): ("read", False),
    ("GET", "/run/{run}"): ("read", False),
    ("GET", "/run/{run}/line"): ("read", False),
    ("GET", "/run/{run}/count"): ("read", False),
    ("GET", "/run/{run}/again"): ("spend", False),
    ("GET", "/run/{run}/figures"): ("read", False),
    ("GET", "/run/{run}/rows.{ending}"): ("read", False),
    ("GET", "/run/{run}/pictures"): ("read", False),
    ("GET", "/run/{run}/row/{row:int}"): ("read", False),
    ("GET", "/run/{run}/row/{row:int}/more"): ("read", False),
    ("GET", "/run/{run}/row/{row:int}/steps"): ("read", False),
    ("GET", "/run/{run}/row/{row:int}/step/{step:int}"): ("read", False),
    ("GET", "/run/{run}/row/{row:int}/beside"): ("read", False),
    ("GET", "/run/{run}/learn"): ("read", False),
    ("GET", "/run/{run}/rubric"): ("read", False),
    ("GET", "/run/{run}/trust"): ("read", False),
    ("GET", "/run/{run}/watch"): ("read", False),
    ("GET", "/run/{run}/label"): ("label", False),
    ("GET", "/run/{run}/label/steps"): ("label", False),
    ("POST", "/run/{run}/label"): ("label", True),
    ("POST", "/run/{run}/label/assign"): ("spend", True),
    ("POST", "/run/{run}/views"): ("label", True),
    ("POST", "/run/{run}/resume"): ("spend", True),
    ("GET", "/run/{run}/these/label"): ("label", False),
    ("GET", "/run/{run}/these/playground"): ("spend", False),
    ("POST", "/run/{run}/these/again"): ("spend", True),
    ("GET", "/start"): ("spend", False),
    ("POST", "/start"): ("spend", True),
    ("POST", "/start/example"): ("spend", True),
    ("POST", "/start/import"): ("spend", True),
    ("GET", "/jobs/{job}"): ("read", False),
    ("POST", "/jobs/{job}/stop"): ("spend", True),
    ("GET", "/compare"): ("read", False),
    ("GET", "/compare/row"): ("read", False),
    ("GET", "/compare/outputs"): ("read", False),
    ("GET", "/copy"): ("read", False),
    ("GET", "/copy.zip"): ("read", False),
    ("GET", "/benchmarks"): ("read", False),
    ("GET", "/benchmarks/{run}"): ("read", False),
    ("GET", "/criteria"): ("read", False),
    ("GET", "/criteria/{name}"): ("read", False),
    ("GET", "/criteria-file"): ("read", False),
    ("GET", "/rubrics"): ("read", False),
    ("GET", "/rubrics-file"): ("read", False),
    ("POST", "/rubrics-file"): ("label", True),
    ("GET", "/playground"): ("spend", False),
    ("POST", "/playground/edit"): ("spend", False),
    ("POST", "/playground/beside"): ("spend", False),
    ("POST", "/playground/check"): ("spend", False),
    ("POST", "/playground/judge"): ("spend", True),
    ("GET", "/playground/trial/{trial}"): ("spend", False),
    ("POST", "/playground/trial/{trial}"): ("spend", False),
    ("GET", "/playground/trial/{trial}/events"): ("spend", False),
    ("POST", "/playground/trial/{trial}/stop"): ("spend", True),
    ("POST", "/playground/trial/{trial}/improve"): ("spend", True),
    ("POST", "/playground/trial/{trial}/fix"): ("spend", True),
    ("POST", "/playground/save"): ("spend", True),
    ("POST", "/playground/save-criteria"): ("spend", True),
    ("POST", "/playground/export"): ("spend", False),
    ("POST", "/playground/import"): ("spend", False),
    ("GET", "/playground/case/{name}"): ("spend", False),
    ("POST", "/playground/case/{name}/delete"): ("spend", True),
    ("POST", "/playground/prompt"): ("spend", False),
    ("POST", "/playground/try"): ("spend", True),
    ("POST", "/playground/rewrite"): ("spend", True),
    ("POST", "/playground/data"): ("spend", True),
}
"""Method and path of every route, the role that it needs, and whether the log names it."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True)
class SharedPage:
    """A running page, and requests as the proxy sends them."""

    server: PageServer
    root: Path
    log: Path

    def send(
        self, path: str, *headers: tuple[str, str | bytes], method: str = "GET", body: str = ""
    ) -> Answer:
        """Send exactly these headers, a Host if none is among them."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.access.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True)
            if not any(name.lower() == "host" for name, _ in headers):
                connection.putheader("Host", HOST)
            for name, value in headers:
                connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body.encode() or None)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def get(self, path: str, user: str, **more: str) -> Answer:
        return self.send(path, (HEADER, user), *more.items())

    def data(self, path: str, user: str) -> Any:
        answer = self.get(path, user, Accept="application/json")
        assert answer.status == 200, answer.text
        return json.loads(answer.text)

    def token(self, user: str) -> str:
        """The token in the pages of this user."""
        found = re.search(r'X-Adjudge-Token": "([0-9a-f]+)"', self.get("/", user).text)
        assert found
        return found[1]

    def post(
        self, path: str, user: str, token: str = "", origin: str = ORIGIN, **form: str
    ) -> Answer:
        return self.send(
            path,
            (HEADER, user),
            ("Origin", origin),
            ("X-Adjudge-Token", token or self.token(user)),
            method="POST",
            body=urlencode(form) or "nothing=",
        )

    def run(self) -> str:
        return f"/run/{self.data('/', 'rita@example.com')['runs'][0]['id']}"

    def lines(self) -> list[dict[str, Any]]:
        """What the audit log says; written a moment after the answer."""
        time.sleep(0.05)
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def users_file(folder: Path, others: str = "refuse", **more: str) -> Path:
    path = folder / "users.yaml"
    path.write_text(json.dumps({"users": {**USERS, **more}, "others": others}), encoding="utf-8")
    return path


@contextmanager
def shared(
    root: Path,
    proxy: str = "127.0.0.1",
    secret: str = "",
    address: str = "127.0.0.1",
    read_only: bool = False,
) -> Iterator[SharedPage]:
    users = root.parent / "users.yaml"
    sharing = make_sharing(HEADER, [proxy], ORIGIN, users, secret)
    log = root.parent / "audit.jsonl"
    server = PageServer(
        root,
        home=root,
        sharing=sharing,
        address=address,
        audit=AuditLog(log),
        read_only=read_only,
    )
    ready = threading.Event()
    thread = threading.Thread(target=server.serve, args=(lambda _: ready.set(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield SharedPage(server, root, log)
    finally:
        server.stop()
        thread.join(20)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    judged(
        folder / "runs" / "dates",
        [f"text {number}" for number in range(6)],
        lambda text: "PASS" if "text 1" in text else "FAIL",
    )
    users_file(folder)
    return folder / "runs"


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[SharedPage]:
    with shared(root) as found:
        yield found


def test_every_route_is_listed_with_its_role() -> None:
    listed = {
        (method, route.path): (role_of(route), changes_something(route))
        for route in all_routes()
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert len(all_routes()) == len(listed)
    assert listed == ROUTES
    # nothing that is sent with POST is open to somebody who may only read
    assert not [key for key, (role, _) in listed.items() if key[0] != "GET" and role == "read"]


@pytest.mark.parametrize("user", [*USERS][:3])
def test_every_route_refuses_a_lower_role(page: SharedPage, user: str) -> None:
    rank, token = ROLES.index(USERS[user]), page.token(user)
    for (method, pattern), (role, _) in ROUTES.items():
        path = re.sub(r"\{[a-z]+(:int)?\}", "1", pattern.replace("{ending}", "csv"))
        if ROLES.index(role) > rank:
            for verb in {"GET": ("GET", "HEAD")}.get(method, (method,)):
                answer = page.send(
                    path,
                    (HEADER, user),
                    ("Origin", ORIGIN),
                    ("X-Adjudge-Token", token),
                    method=verb,
                    body="" if verb in ("GET", "HEAD") else "a=1",
                )
                assert answer.status == 403, (verb, path)
                assert verb == "HEAD" or "This needs someone who" in answer.text


def test_who_is_signed_in_is_shown_and_only_what_they_may_do(page: SharedPage) -> None:
    run = page.run()
    reader, labeller, spender = (
        page.get(run, user).text
        for user in ("rita@example.com", "lars@example.com", "sam@example.com")
    )
    assert "rita@example.com" in reader and "may read" in reader
    for absent in ("/start", f"{run}/label", "/these/label", "/playground", "/views"):
        assert absent not in reader.lower(), absent
    assert f"{run}/label" in labeller and "/start" not in labeller
    assert f"{run}/label" in spender and "/start" in spender and "/playground" in spender


def test_a_name_outside_ascii_is_read_as_utf_8(page: SharedPage) -> None:
    assert "Ёлка" in page.send("/", (HEADER, "Ёлка".encode())).text
    assert page.send("/", (HEADER, "Ёлка".encode("cp1251"))).status == 400


USER = (HEADER, "sam@example.com")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 401),
        ([(HEADER, "")], 401),
        ([(HEADER, "  ")], 401),
        ([USER, USER], 400),
        ([USER, (HEADER, "rita@example.com")], 400),
        ([(HEADER, "rita@example.com"), (HEADER.lower(), "sam@example.com")], 400),
        ([USER, ("X_Forwarded_User", "sam@example.com")], 400),
        ([(HEADER, "rita@example.com"), ("X-Forwarded_User", "sam@example.com")], 400),
        ([("X_Forwarded_User", "sam@example.com")], 400),
        ([("X-Forwarded-Email", "sam@example.com")], 401),
        ([(HEADER, "rita@example.com, sam@example.com")], 400),
        ([(HEADER, "rita@example.com,sam@example.com")], 400),
        ([(HEADER, "s" * 101)], 400),
        ([(HEADER, "s" * 60_000)], 400),
        ([(HEADER, "sam@example.com\x01")], 400),
        ([(HEADER, "sam@example.com\x7f")], 400),
        ([(HEADER, "sam@example.com\u202e".encode())], 400),
        ([(HEADER, "sam@example.com\u200b".encode())], 400),
        ([(HEADER, "ｓam@example.com".encode())], 400),
        ([(HEADER, "ѕam@example.com".encode())], 403),
        ([(HEADER, "SAM@example.com")], 403),
        ([(HEADER, "stranger@example.com")], 403),
        ([(HEADER, "<b>sam</b>")], 400),
        ([(HEADER, "*")], 403),
        ([("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1")], 401),
        ([USER, ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-For", "6.6.6.6")], 200),
        ([USER, ("Host", "evil.example")], 421),
        ([USER, ("Host", "127.0.0.1")], 421),
        ([USER, ("Host", f"{HOST}.evil.example")], 421),
        ([USER, ("Host", f"{HOST}:80")], 421),
        ([USER, ("Host", f"{HOST.upper()}:443")], 200),
        ([USER, ("Host", HOST), ("Host", "evil.example")], 400),
    ],
)
def test_a_header_that_can_be_read_in_two_ways_is_refused(
    page: SharedPage, headers: list[tuple[str, str | bytes]], status: int
) -> None:
    with suppress(ConnectionError, http.client.RemoteDisconnected):
        answer = page.send("/", *headers)
        assert (answer.status, "dates" in answer.text) == (status, status == 200)


def test_case_and_order_of_the_header_do_not_matter(page: SharedPage) -> None:
    assert page.send("/", ("x-FORWARDED-user", "rita@example.com")).status == 200


@pytest.mark.parametrize("path", ["/static/page.css", "/copy.zip", "/playground/trial/x/events"])
def test_nothing_is_open_to_somebody_without_a_name(page: SharedPage, path: str) -> None:
    assert page.send(path).status == 401


def test_a_web_socket_is_an_ordinary_request(page: SharedPage) -> None:
    answer = page.send(
        "/playground/trial/x/events",
        (HEADER, "rita@example.com"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Version", "13"),
    )
    assert answer.status == 403


def test_the_start_token_opens_nothing(page: SharedPage) -> None:
    token = page.server.access.token
    assert page.send(f"/?token={token}").status == 401
    assert page.send("/", ("X-Adjudge-Token", token)).status == 401
    # nor does the cookie of a page that is not shared
    access = page.server.access
    cookie = ("Cookie", f"{access.cookie}={access.session}")
    assert page.send(f"{access.place}/", cookie).status == 401
    answer = page.post(f"{page.run()}/views", "lars@example.com", token, do="save", name="v")
    assert answer.status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("http://judge.example.com", 403),
        (f"{ORIGIN}.evil.example", 403),
        ("null", 403),
        (ORIGIN, 200),
    ],
)
def test_a_change_comes_from_the_public_origin(page: SharedPage, origin: str, status: int) -> None:
    path = f"{page.run()}/views"
    form = {"do": "save", "name": "fails", "verdict": "FAIL"}
    assert page.post(path, "lars@example.com", origin=origin, **form).status == status


def test_the_token_of_one_user_is_no_use_to_another(page: SharedPage) -> None:
    path, token = f"{page.run()}/views", page.token("sam@example.com")
    assert page.post(path, "lars@example.com", token, do="save", name="v").status == 403


def label_as(page: SharedPage, user: str, annotator: str, choice: str = "PASS") -> Answer:
    address = f"{page.run()}/label?annotator={quote(annotator)}"
    row = page.get(address, user, Accept="application/json")
    work = json.loads(row.text)["work"] if row.status == 200 else None
    identity = work["row"]["identity"] if work else "r"
    return page.post(address, user, do="answer", row=identity, choice=choice)


def test_labels_carry_the_name_of_who_is_signed_in(page: SharedPage) -> None:
    assert label_as(page, "lars@example.com", "lars@example.com").status == 200
    for name in ("sam@example.com", "lars@example.com ", "LARS@example.com", ""):
        answer = label_as(page, "lars@example.com", name)
        assert answer.status in (400, 403) or name.strip() == "lars@example.com", name
    stored = [*LabelStore(page.root / "dates").current()]
    assert {label.annotator for label in stored} == {"lars@example.com"}
    form = page.get(f"{page.run()}/label", "lars@example.com").text
    assert 'type="hidden" name="annotator" value="lars@example.com"' in form
    assert "Assign rows" not in form


def test_the_log_names_who_labelled_what(page: SharedPage) -> None:
    label_as(page, "sam@example.com", "sam@example.com", "FAIL")
    line = page.lines()[-1]
    assert line["who"], line["role"] == ("sam@example.com", "spend")
    assert (line["what"], line["run"], line["answer"]) == ("a row was labelled", "dates", "FAIL")
    assert line["annotator"] == "sam@example.com" and line["status"] == 200
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["at"])


def test_a_verdict_that_one_person_saw_does_not_spoil_the_label_of_another(
    page: SharedPage,
) -> None:
    run, user = page.run(), "lars@example.com"
    address = f"{run}/label?annotator={user}"
    number = int(page.data(address, user)["work"]["row"]["number"])
    page.get(f"{run}/row/{number}", "sam@example.com")
    assert page.data(address, user)["work"]["seen"] is False
    page.get(f"{run}/row/{number}", user)
    assert page.data(address, user)["work"]["seen"] is True


def test_downloads_and_money_are_in_the_log(page: SharedPage) -> None:
    run = page.run()
    assert page.get(f"{run}/rows.csv", "rita@example.com").status == 200
    assert page.lines()[-1]["what"] == "rows were downloaded"
    assert page.get("/copy.zip", "rita@example.com").status == 200
    assert page.lines()[-1]["runs"] == ["dates"]
    # the copy is the same for everybody, and names nobody
    assert "rita" not in page.get("/copy", "rita@example.com").text.split("</header>")[1]
    before = len(page.lines())
    page.get(run, "rita@example.com")
    assert len(page.lines()) == before


def test_money_is_counted_for_who_asked_for_it(root: Path, tmp_path: Path) -> None:
    from adjudge.web.guard import Access
    from adjudge.web.library import Library
    from adjudge.web.roles import PERSON, Person
    from adjudge.web.site import Site

    log = AuditLog(tmp_path / "log.jsonl")
    site = Site(Access(1), Library(root), audit=log)
    PERSON.set(Person("sam@example.com", "spend", "sam"))
    share = site.spending.set_aside(0.5, "dates")
    settled = threading.Thread(target=share.settle, args=(0.25,))
    settled.start()
    settled.join()
    share.settle(0.25)  # a second time counts nothing
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert [(line["who"], line["usd"], line["for"]) for line in lines[1:]] == [
        ("sam@example.com", 0.25, "dates")
    ]


def test_a_connection_from_elsewhere_is_refused(root: Path) -> None:
    with shared(root, proxy="10.0.0.0/24") as page:
        answer = page.get("/", "sam@example.com")
        assert answer.status == 403 and "not one of the proxies" in answer.text
        spoofed = page.send(
            "/", USER, ("X-Forwarded-For", "10.0.0.1"), ("Forwarded", "for=10.0.0.1")
        )
        assert spoofed.status == 403


def test_an_ipv4_address_written_as_ipv6_is_the_same_address(root: Path) -> None:
    users = root.parent / "users.yaml"
    for text in ("10.0.0.5", "::ffff:10.0.0.5", "::ffff:10.0.0.0/120", "10.0.0.0/24"):
        sharing = make_sharing(HEADER, [text], ORIGIN, users)
        assert sharing.is_proxy(("10.0.0.5", 1)) and sharing.is_proxy(("::ffff:10.0.0.5", 1))
        assert sharing.is_proxy(("::FFFF:0a00:0005", 1))
        assert not sharing.is_proxy(("10.0.1.5", 1)) and not sharing.is_proxy(("::10.0.0.5", 1))
    sharing = make_sharing(HEADER, ["fe80::/64"], ORIGIN, users)
    assert sharing.is_proxy(("fe80::1%eth0", 1)) and not sharing.is_proxy(("fe81::1", 1))
    for client in (None, ("", 0), ("unix:/x", 0), ("10.0.0.5, 10.0.0.6", 1)):
        assert not sharing.is_proxy(client)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_page_on_ipv6_knows_its_proxy(root: Path) -> None:
    try:
        context = shared(root, address="::")
        with context as page:
            # over IPv4, the server sees ::ffff:127.0.0.1
            assert page.get("/", "sam@example.com").status == 200
    except SetupError:
        pytest.skip("IPv6 is off")


def test_the_secret_of_the_proxy_is_demanded(root: Path) -> None:
    with shared(root, secret="a secret of the proxy") as page:
        header = "X-Adjudge-Proxy-Secret"
        for more in ((), ((header, "wrong"),), ((header, "a secret of the proxy"),) * 2):
            assert page.send("/", USER, *more).status == 403
        assert page.send("/", USER, (header, "a secret of the proxy")).status == 200
        assert "a secret of the proxy" not in repr(page.server.access)


def test_a_read_only_page_lets_nobody_label(root: Path) -> None:
    with shared(root, read_only=True) as page:
        text = page.get(page.run(), "sam@example.com").text
        assert "/start" not in text and f"{page.run()}/label" not in text
        assert page.get(f"{page.run()}/label", "sam@example.com").status == 403


def test_the_file_of_users_is_read_again(tmp_path: Path) -> None:
    path = users_file(tmp_path)
    users = Users(path)
    assert users.find("lars@example.com").role == "label"
    with pytest.raises(NotAdmitted):
        users.find("new@example.com")
    users_file(tmp_path, **{"new@example.com": "read", "lars@example.com": "read"})
    assert (users.find("new@example.com").role, users.find("lars@example.com").role) == (
        "read",
    ) * 2
    path.write_text("users: [")
    for _ in range(2):
        with pytest.raises(NotAdmitted) as caught:
            users.find("rita@example.com")
        assert caught.value.status == 503
    path.unlink()
    with pytest.raises(NotAdmitted):
        users.find("rita@example.com")
    users_file(tmp_path)
    assert users.find("rita@example.com").role == "read"


def test_others_get_the_role_of_the_file_but_nobody_who_looks_like_a_user(tmp_path: Path) -> None:
    path = tmp_path / "users.yaml"
    path.write_text(
        "users:\n  sam@example.com: spend\n  eva@example.com: {role: label, annotator: Eva}\n"
        "others: read\n"
    )
    users = Users(path)
    assert users.find("new@example.com").role == "read"
    assert users.find("eva@example.com").annotator == "Eva"
    for name in ("Sam@example.com", "eva", "EVA", "еva@example.com"):
        with pytest.raises(NotAdmitted):
            users.find(name)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "a mapping"),
        ("users:\n", "lists no users"),
        ("users:\n  sam: admin\n", "must be read or label or spend"),
        ("users:\n  sam: {annotator: x}\n", "users.sam.role"),
        ("users:\n  sam: read\n  SAM: spend\n", "spelt almost like sam"),
        ("users:\n  sam: {role: read, annotator: Eva}\n  eva: read\n", "spelt almost like sam"),
        ("users:\n  'a, b': read\n", "cannot name a user"),
        ("users:\n  sam: read\n  sam: spend\n", "sam"),
        ("users:\n  sam: read\nothers: admin\n", "others"),
        ("user:\n  sam: read\n", "is not a valid key here"),
        ("users: [sam]\n", "a mapping"),
    ],
)
def test_a_wrong_file_of_users_names_the_place(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "users.yaml"
    path.write_text(text)
    with pytest.raises(SetupError) as caught:
        Users(path)
    assert part in str(caught.value) and "users.yaml" in str(caught.value)


GOOD = {
    "--trust-header": HEADER,
    "--trusted-proxy": "127.0.0.1",
    "--public-origin": ORIGIN,
    "--users": "users.yaml",
}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"--trusted-proxy": None}, "--trusted-proxy"),
        ({"--public-origin": None}, "--public-origin"),
        ({"--users": None}, "--users"),
        ({"--trust-header": None}, "--trust-header"),
        ({"--trust-header": "Host"}, "cannot be the header"),
        ({"--trust-header": "X-Forwarded-For"}, "cannot be the header"),
        ({"--trust-header": "X_Forwarded_User"}, "cannot be the header"),
        ({"--trust-header": "X-User: sam"}, "cannot be the header"),
        ({"--trust-header": ""}, "cannot be the header"),
        ({"--trusted-proxy": "0.0.0.0/0"}, "too wide"),
        ({"--trusted-proxy": "::/0"}, "too wide"),
        ({"--trusted-proxy": "::ffff:0:0/96"}, "too wide"),
        ({"--trusted-proxy": "10.0.0.5/24"}, "10.0.0.0/24"),
        ({"--trusted-proxy": "proxy.local"}, "takes an address"),
        ({"--public-origin": "judge.example.com"}, "--public-origin is"),
        ({"--public-origin": "https://judge.example.com/page"}, "--public-origin is"),
        ({"--public-origin": "https://*.example.com"}, "--public-origin is"),
        ({"--public-origin": "https://user@judge.example.com"}, "--public-origin is"),
        ({"--public-origin": "https://судья.рф"}, "--public-origin is"),
        ({"--public-origin": "https://judge.example.com:99999"}, "--public-origin is"),
        ({"--users": "none.yaml"}, "none.yaml"),
        ({"--audit-log": "no/such/folder/log.jsonl"}, "cannot be written"),
        ({"--export": "copy"}, "leave --trust-header out"),
        ({"--listen": "203.0.113.1"}, "203.0.113.1, port"),
    ],
)
def test_options_that_would_let_strangers_in_are_refused(
    root: Path, tmp_path: Path, change: dict[str, str | None], part: str
) -> None:
    users_file(tmp_path)
    typed = {**GOOD, **change}
    words = [word for name, value in typed.items() if value is not None for word in (name, value)]
    result = adjudge("view", str(root), *words, cwd=tmp_path)
    assert result.returncode in (1, 2) and part in result.stderr


def test_the_secret_must_be_long(root: Path) -> None:
    with pytest.raises(SetupError, match="at least 16"):
        make_sharing(HEADER, ["127.0.0.1"], ORIGIN, root.parent / "users.yaml", "short")


def test_the_log_is_private_rotated_and_survives_a_cut_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log [1].jsonl"
    path.write_text('{"cut')
    log = AuditLog(path)
    assert path.read_text().splitlines()[0] == '{"cut'
    assert json.loads(path.read_text().splitlines()[1])["what"] == "the page was started"
    monkeypatch.setattr(audit, "LARGEST", 300)
    monkeypatch.setattr(audit, "MOST_FILES", 3)
    for number in range(40):
        log.write("x" * 50, {"number": number, "text": "\x1b]\u202e\n" + "y" * 5000})
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4 and path in files
    assert path.stat().st_mode & 0o077 == 0
    log.write("a copy was downloaded", {"runs": [f"run {number}" for number in range(9_000)]})
    last = json.loads(path.read_text().splitlines()[-1])
    assert len(last["runs"]) == 51 and last["runs"][-1] == "… 9000"
    log.write("x", {"number": 39, "text": "y" * 5000})
    last = json.loads(path.read_text().splitlines()[-1])
    assert last["number"] == 39 and len(last["text"]) == 1001
    assert all(line.isprintable() for line in path.read_text().splitlines())


def test_a_log_that_cannot_be_written_stops_changes_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(tmp_path / "log.jsonl")
    log.check()
    (tmp_path / "log.jsonl").unlink()
    (tmp_path / "log.jsonl").mkdir()
    log.write("a row was labelled", {"row": "r1"})
    assert "r1" in caplog.text  # the line is not lost
    with pytest.raises(Exception, match="nothing can be changed"):
        log.check()
    (tmp_path / "log.jsonl").rmdir()
    log.check()
    assert "the log is written again" in (tmp_path / "log.jsonl").read_text()
    (tmp_path / "linked.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="cannot be written"):
        AuditLog(tmp_path / "linked.jsonl")
    assert not (tmp_path / "elsewhere").exists()
