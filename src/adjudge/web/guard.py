"""Who may ask the page, and what a browser may do with the answer.

Every request passes here first: the Host must be ours (a foreign name that resolves to this machine is refused), the token must
be known, and whatever changes something must come from our own pages. Every answer leaves with the headers that forbid scripts,
frames and connections that are not ours.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from adjudge.web.door import CLOSED, HARDENING, SAFE, Door, has_two_lengths, is_too_long, sealed

TOKEN_HEADER = "x-adjudge-token"  # noqa: S105 - a name
_FIXED = {
    **HARDENING,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Access(Door):
    """Where the page is served; with its token."""

    @property
    def origins(self) -> tuple[str, ...]:
        """What an Origin header may say."""
        return tuple(f"http://{host}" for host in self.hosts)

    @property
    def url(self) -> str:
        """What opens the page."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers do not keep the cookies of ports apart."""
        return f"adjudge_{self.port}"

    @property
    def form_token(self) -> str:
        """What our pages send along when they change something; the token itself stands in no page."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()

    def knows(self, token: str | None) -> bool:
        """Whether it is the token."""
        return token is not None and self.opens(token)

    def knows_form(self, token: str | None) -> bool:
        """Whether a change may be made with it."""
        known = token is not None and secrets.compare_digest(token.encode(), self.form_token.encode())
        return known or self.knows(token)


def policy(nonce: str) -> str:
    """The Content-Security-Policy of a page."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types htmx"
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
        answer = self._refusal(scope) or self._begun(scope)
        await (answer or self._app)(scope, receive, _sealed(send, nonce))

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is not answered, where it is not."""
        headers, access = Headers(scope=scope), self._access
        if has_two_lengths(headers):
            return PlainTextResponse("the request says in two ways how long its body is", 400, CLOSED)
        if is_too_long(scope):
            return PlainTextResponse("the address is too long", 414)
        if headers.get("host", "").lower() not in access.hosts:
            return PlainTextResponse("this name is not served here: use the address that adjudge view printed", 421)
        if scope["method"] not in SAFE and not self._is_ours(headers):
            return PlainTextResponse("only the page itself may change something: reload it", 403)
        if not self._is_known(scope, headers):
            return PlainTextResponse("open the address that adjudge view printed, with its token", 403)
        return None

    def _is_ours(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        same = origin.lower() in self._access.origins if origin else headers.get("sec-fetch-site") == "same-origin"
        return same and self._access.knows_form(headers.get(TOKEN_HEADER))

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        access = self._access
        held = (_cookie(headers, access.cookie), headers.get(TOKEN_HEADER), _given(scope) if scope["path"] == "/" else None)
        return any(access.knows(token) for token in held)

    def _begun(self, scope: Scope) -> Response | None:
        """From the address with the token to the one without it: a token in an address ends up in histories."""
        if scope["path"] != "/" or _given(scope) is None:
            return None
        rest = [(name, value) for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name != "token"]
        answer = RedirectResponse(f"/?{urlencode(rest)}" if rest else "/", 303)
        answer.set_cookie(self._access.cookie, self._access.token, httponly=True, samesite="strict", path="/")
        return answer


def _given(scope: Scope) -> str | None:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        held = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    return held[name].value if name in held else None


def _sealed(send: Send, nonce: str) -> Send:
    return sealed(send, {**_FIXED, "content-security-policy": policy(nonce)}, {"cache-control": "no-store"})
