"""The pages that are registered: ours, then those of installed packages."""

from __future__ import annotations

from functools import cache

from adjudge.plugins import Parts
from adjudge.web.page import NavigationLink, Page

PAGES: Parts[Page] = Parts("pages")


@cache
def pages() -> tuple[Page, ...]:
    """Return all pages that can be used. A package with a broken one is one warning."""
    return tuple(PAGES.load_all())


def links() -> list[NavigationLink]:
    """Return the entries of the top bar."""
    return [page.link for page in pages() if page.link]


def is_foreign(name: str) -> bool:
    """Return True if an installed package brings the page of this name."""
    return name in PAGES and name not in PAGES.ours
