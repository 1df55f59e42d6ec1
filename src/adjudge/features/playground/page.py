"""``/playground``: criteria tried on a few texts before a run is made of them."""

from __future__ import annotations

from adjudge.features.playground import (
    files_page,
    form_page,
    prompt_page,
    runs_page,
)
from adjudge.features.playground import (
    writer_page as writing_page,
)
from adjudge.messages import Message
from adjudge.web.page import NavigationLink, Page

PAGE = Page(
    name="playground",
    routes=(
        *form_page.ROUTES,
        *files_page.ROUTES,
        *prompt_page.ROUTES,
        *runs_page.ROUTES,
        *writing_page.ROUTES,
    ),
    link=NavigationLink("/playground", Message("Playground"), writes=True),
    package="adjudge.features.playground",
    keys=(
        ("Ctrl+Enter", Message("judge, in the playground")),
        ("Ctrl+S", Message("save the test case, in the playground")),
    ),
)
