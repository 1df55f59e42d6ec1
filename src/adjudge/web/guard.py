"""The guard before the pages: it decides which requests are answered, and what a browser may do
with the answer.

The Host must be ours (a foreign name that resolves to this machine is refused), the token must be
known, and requests that change something must come from our own pages. Every answer leaves with
headers that forbid scripts, frames and connections that are not ours.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from adjudge.messages import Message, render
from adjudge.web.opener import page_leading_to
from adjudge.web.proxy import NotAdmitted, Sharing
from adjudge.web.roles import OWNER, PERSON, Person
from adjudge.web.server_access import (
    CLOSED,
    HARDENING,
    SAFE,
    ServerAccess,
    has_two_lengths,
    is_secret,
    is_too_long,
    with_headers,
)

LANGUAGE_COOKIE = "adjudge_language"
TOKEN_HEADER = "x-adjudge-token"  # noqa: S105 - a name
_FIXED = {
    **HARDENING,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Access(ServerAccess):
    """The address and secrets of the server for pages."""

    sharing: Sharing | None = None
    """How a proxy lets several people in; None if the page is its owner's alone."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The Host headers that are accepted."""
        return self.sharing.hosts if self.sharing else super().hosts

    @property
    def origins(self) -> tuple[str, ...]:
        """The Origin headers of our own pages."""
        if self.sharing:
            return (self.sharing.origin,)
        return tuple(f"http://{host}" for host in self.hosts)

    @property
    def url(self) -> str:
        if self.sharing:
            return f"{self.sharing.origin}/"
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name. It includes the port, since browsers share cookies between ports."""
        return f"adjudge_{self.port}"

    @property
    def place(self) -> str:
        """The path under which browsers reach the pages.

        The cookie is limited to this path, so servers on other ports, with other paths, never get
        it. Conversely, the cookie is useless without the path.
        """
        return f"/{self._made_for('place')[:32]}"

    @property
    def session(self) -> str:
        """The cookie's value.

        It only opens the pages under ``place`` of this server, while it runs.
        """
        return self._made_for("session")

    @property
    def form_token(self) -> str:
        """The secret that our pages send with changes. The token itself is not in any page."""
        return self.form_token_of(OWNER)

    def form_token_of(self, person: Person) -> str:
        """Return a person's form token; it is different for everyone."""
        return self._made_for(f"form {person.user}" if person.user else "form")

    def _made_for(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def is_below_place(self, path: str) -> bool:
        """Return True if a path is ``place`` or below it."""
        start, remainder = path[: len(self.place)], path[len(self.place) :]
        return is_secret(start, self.place) and remainder[:1] in ("", "/")

    def knows_session(self, values: Iterable[str]) -> bool:
        """Return True if one of these cookie values opens the pages.

        There may be several, since other servers on this machine can set cookies of the same name.
        """
        return any(is_secret(candidate, self.session) for candidate in values)

    def knows_form(self, token: str | None, person: Person) -> bool:
        """Return True if this token allows a person's change."""
        is_owners = self.sharing is None and self.knows(token)
        return is_owners or is_secret(token, self.form_token_of(person))


def policy(nonce: str) -> str:
    """Return a page's Content-Security-Policy."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types htmx"
    )


class Guard:
    """Checks every request before the application sees it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with the reason for refusing it."""
        # no web sockets are served
        if scope["type"] != "http":
            return
        # allows the page's own inline scripts, for this answer only
        nonce = secrets.token_urlsafe(16)
        state = scope.setdefault("state", {})
        state |= {"nonce": nonce, "person": OWNER}
        is_shared = self._access.sharing is not None
        is_below = not is_shared and self._access.is_below_place(scope["path"])
        scope["root_path"] = self._access.place if is_below else ""
        answer = self._refusal(scope)
        if answer is None and not is_shared:
            answer = self._start_session(scope)
        PERSON.set(state["person"])
        await (answer or self._app)(
            scope,
            receive,
            with_headers(
                send,
                {**_FIXED, "content-security-policy": policy(nonce)},
                {"cache-control": "no-store"},
            ),
        )

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request; None if it may pass."""
        headers, access = Headers(scope=scope), self._access
        # first, before anything in the request is trusted
        if answer := _malformed(scope, headers) or self._set_person(scope, headers):
            return answer
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in access.hosts:
            return PlainTextResponse(
                "this name is not served here: use the address that adjudge view printed", 421
            )
        if scope["method"] not in SAFE and not self._is_ours(headers, scope["state"]["person"]):
            return PlainTextResponse("only the page itself may change something: reload it", 403)
        if not access.sharing and not self._is_known(scope, headers):
            return _stray(scope, headers)
        return None

    def _set_person(self, scope: Scope, headers: Headers) -> Response | None:
        """Set the sender of the request as named by the proxy of a shared page, or refuse the
        request.
        """
        if self._access.sharing:
            try:
                scope["state"]["person"] = self._access.sharing.identify(scope)
            except NotAdmitted as refused:
                text = render(refused.message, _language(headers))
                return PlainTextResponse(text, refused.status)
        return None

    def _is_ours(self, headers: Headers, person: Person) -> bool:
        origin = headers.get("origin")
        same = (
            origin.lower() in self._access.origins
            if origin
            else headers.get("sec-fetch-site") == "same-origin"
        )
        return same and self._access.knows_form(headers.get(TOKEN_HEADER), person)

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        access = self._access
        if scope["root_path"] and access.knows_session(_cookies(headers, access.cookie)):
            return True
        return access.knows(headers.get(TOKEN_HEADER)) or (
            scope["path"] == "/" and access.knows(_token_in(scope))
        )

    def _start_session(self, scope: Scope) -> Response | None:
        """Redirect from the address with the token to one without, because addresses end up in
        histories.

        None for other addresses.
        """
        if scope["path"] != "/" or _token_in(scope) is None:
            return None
        query = [
            (name, value)
            for name, value in parse_qsl(scope["query_string"].decode("latin-1"))
            if name != "token"
        ]
        address = f"{self._access.place}/{'?' if query else ''}{urlencode(query)}"
        # a redirect that began in another page, such as the file that opens the browser, goes
        # without a strict cookie
        is_foreign = Headers(scope=scope).get("sec-fetch-site") == "cross-site"
        answer = (
            HTMLResponse(page_leading_to(address)) if is_foreign else RedirectResponse(address, 303)
        )
        answer.set_cookie(
            self._access.cookie,
            self._access.session,
            httponly=True,
            samesite="strict",
            path=self._access.place,
        )
        return answer


def _token_in(scope: Scope) -> str | None:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return all values of the cookies with this name. Other servers may have set cookies in any
    format.
    """
    pairs = (
        part.partition("=") for header in headers.getlist("cookie") for part in header.split(";")
    )
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _malformed(scope: Scope, headers: Headers) -> Response | None:
    if has_two_lengths(headers):
        return PlainTextResponse("the request says in two ways how long its body is", 400, CLOSED)
    if is_too_long(scope):
        return PlainTextResponse("the address is too long", 414)
    return None


def _language(headers: Headers) -> str:
    return "ru" if "ru" in _cookies(headers, LANGUAGE_COOKIE) else "en"


def _stray(scope: Scope, headers: Headers) -> Response:
    """Answer an address outside of ``Access.place``, or one of an earlier server on this port.

    A browser gets a page that finds the way back if it was here before.
    """
    text = "open the address that adjudge view printed, with its token"
    if scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
        return PlainTextResponse(text, 403)
    language = _language(headers)
    texts = {
        "title": Message("This address does not give access"),
        "said": Message("To get in, open the address that adjudge view printed, with its token."),
        "hint": Message(
            "The page was restarted, or this browser never had access. If it is not running, "
            "start it with: adjudge view"
        ),
    }
    escaped = {name: escape(render(message, language)) for name, message in texts.items()}
    page = Path(__file__).with_name("stray.html").read_text(encoding="utf-8")
    nonce = scope["state"]["nonce"]
    return HTMLResponse(page.format(**escaped, language=language, nonce=nonce), 403)
