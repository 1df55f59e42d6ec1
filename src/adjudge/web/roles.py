"""The users of the page, the rights of each role, and the role that a route needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from adjudge.messages import Message, term
from adjudge.web.server_access import SAFE

Role = Literal["read", "label", "spend"]
ROLES: tuple[Role, ...] = ("read", "label", "spend")
"""Each may do what the ones before it may."""
ROLE_TITLES = {
    "read": term("role", "may read"),
    "label": term("role", "may read and label"),
    "spend": term("role", "may read, label and spend"),
}
Endpoint = Callable[[Request], Response | Awaitable[Response]]


@dataclass(frozen=True)
class Person:
    """The sender of a request."""

    user: str
    """As the proxy names them; empty for the owner of a page that is not shared."""
    role: Role
    annotator: str = ""
    """The name that their labels carry; empty if the page is not shared."""

    def may(self, role: Role) -> bool:
        """Return True if this person has the role or a higher one."""
        return ROLES.index(role) <= ROLES.index(self.role)


OWNER = Person("", "spend")
PERSON: ContextVar[Person] = ContextVar("person", default=OWNER)
"""Who sent the request that is being answered, also in the threads that answer it."""


def person_of(request: Request) -> Person:
    """Return the sender of a request."""
    person: Person = request.state.person
    return person


class RoleRoute(Route):
    """A route that says which role it needs.

    ``changes``: False if it changes nothing that lasts, so that the audit log leaves it out.
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        role: Role,
        methods: Collection[str] = ("GET",),
        changes: bool = True,
    ) -> None:
        super().__init__(path, endpoint, methods=methods)
        self.role: Role = role
        self.changes = changes and not {*methods} <= {*SAFE}


def role_of(route: BaseRoute) -> Role:
    """Return the role that a route needs. A route without a declared role needs ``read`` if it only
    reads, else the highest role.
    """
    if isinstance(route, RoleRoute):
        return route.role
    methods = getattr(route, "methods", None)
    return "read" if methods and {*methods} <= {*SAFE} else "spend"


def changes_something(route: BaseRoute) -> bool:
    """Return True if requests to a route belong in the audit log."""
    if isinstance(route, RoleRoute):
        return route.changes
    return role_of(route) != "read"


def refusal(person: Person, role: Role) -> Message:
    """Return the reason for refusing a person who lacks this role."""
    return Message(
        "{user} {what} on this page. This needs someone who {needed}: ask the person who runs the "
        "page for that role.",
        user=person.user,
        what=ROLE_TITLES[person.role],
        needed=ROLE_TITLES[role],
    )
