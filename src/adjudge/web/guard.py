"""Who may ask the page, and what a browser may do with the answer.

Every request passes here first: the Host must be ours (a foreign name that resolves to this machine
is refused), the token must be known, and whatever changes something must come from our own pages.
Every answer leaves with the headers that forbid scripts, frames and connections that are not ours.
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
from adjudge.web.server_access import (
    CLOSED,
    HARDENING,
    SAFE,
    ServerAccess,
    has_two_lengths,
    is_secret,
    is_too_long,
    sealed,
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
    """Where the page is served; with its token."""

    @property
    def origins(self) -> tuple[str, ...]:
        """What an Origin header may say."""
        return tuple(f"http://{host}" for host in self.hosts)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers do not keep the cookies of ports apart."""
        return f"adjudge_{self.port}"

    @property
    def place(self) -> str:
        """The path below which browsers find the pages. The cookie is sent there alone, so a server
        on another port, whose paths nobody asks for by this one, never gets it; and without this
        path the cookie opens nothing.
        """
        return f"/{self._made_for('place')[:32]}"

    @property
    def session(self) -> str:
        """What the cookie holds.

        It opens the pages below ``place`` of this server, while it runs, and nothing else.
        """
        return self._made_for("session")

    @property
    def form_token(self) -> str:
        """What our pages send along when they change something; the token
        itself stands in no page.
        """
        return self._made_for("form")

    def _made_for(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def is_below_place(self, path: str) -> bool:
        """Whether an address is one that browsers use."""
        begins, rest = path[: len(self.place)], path[len(self.place) :]
        return is_secret(begins, self.place) and rest[:1] in ("", "/")

    def knows_session(self, given: Iterable[str]) -> bool:
        """Whether one of these is what our cookie holds: other servers may have set cookies of its
        name.
        """
        return any(is_secret(one, self.session) for one in given)

    def knows_form(self, token: str | None) -> bool:
        """Whether a change may be made with it."""
        return self.knows(token) or is_secret(token, self.form_token)


def policy(nonce: str) -> str:
    """The Content-Security-Policy of a page."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; "
        f"style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types htmx"
    )


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        scope["root_path"] = (
            self._access.place if self._access.is_below_place(scope["path"]) else ""
        )
        answer = self._refusal(scope) or self._begun(scope)
        await (answer or self._app)(scope, receive, _sealed(send, nonce))

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is not answered, where it is not."""
        headers, access = Headers(scope=scope), self._access
        if has_two_lengths(headers):
            return PlainTextResponse(
                "the request says in two ways how long its body is", 400, CLOSED
            )
        if is_too_long(scope):
            return PlainTextResponse("the address is too long", 414)
        if headers.get("host", "").lower() not in access.hosts:
            return PlainTextResponse(
                "this name is not served here: use the address that adjudge view printed", 421
            )
        if scope["method"] not in SAFE and not self._is_ours(headers):
            return PlainTextResponse("only the page itself may change something: reload it", 403)
        if not self._is_known(scope, headers):
            return _stray(scope, headers)
        return None

    def _is_ours(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        same = (
            origin.lower() in self._access.origins
            if origin
            else headers.get("sec-fetch-site") == "same-origin"
        )
        return same and self._access.knows_form(headers.get(TOKEN_HEADER))

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        access = self._access
        if scope["root_path"] and access.knows_session(_cookies(headers, access.cookie)):
            return True
        return access.knows(headers.get(TOKEN_HEADER)) or (
            scope["path"] == "/" and access.knows(_given(scope))
        )

    def _begun(self, scope: Scope) -> Response | None:
        """From the address with the token to the one without it: a token in an address ends up in
        histories.
        """
        if scope["path"] != "/" or _given(scope) is None:
            return None
        rest = [
            (name, value)
            for name, value in parse_qsl(scope["query_string"].decode("latin-1"))
            if name != "token"
        ]
        address = f"{self._access.place}/{'?' if rest else ''}{urlencode(rest)}"
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


def _given(scope: Scope) -> str | None:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")


def _cookies(headers: Headers, name: str) -> list[str]:
    """Every cookie of that name.

    Whatever else is sent, other servers have set: it may be of any form.
    """
    pairs = (part.partition("=") for held in headers.getlist("cookie") for part in held.split(";"))
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _stray(scope: Scope, headers: Headers) -> Response:
    """For an address without ``Access.place``, or with that of an earlier server on this port: a
    browser that was here before finds the way by itself.
    """
    said = "open the address that adjudge view printed, with its token"
    if scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
        return PlainTextResponse(said, 403)
    language = "ru" if "ru" in _cookies(headers, LANGUAGE_COOKIE) else "en"
    texts = {
        "title": Message("This address does not open the page"),
        "said": Message("To get in, open the address that adjudge view printed, with its token."),
        "hint": Message(
            "The page was started again, or this browser was never let in. Where it was ended, "
            "start it with: adjudge view"
        ),
    }
    shown = {name: escape(render(text, language)) for name, text in texts.items()}
    page = Path(__file__).with_name("stray.html").read_text(encoding="utf-8")
    nonce = scope["state"]["nonce"]
    return HTMLResponse(page.format(**shown, language=language, nonce=nonce), 403)


def _sealed(send: Send, nonce: str) -> Send:
    return sealed(
        send, {**_FIXED, "content-security-policy": policy(nonce)}, {"cache-control": "no-store"}
    )
