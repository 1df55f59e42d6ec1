"""The playground's form, sent as the page sends it, and a model whose verdicts a test knows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adjudge.web.guard import LANGUAGE_COOKIE
from support.fake_provider import KEY, FakeProvider
from support.page import Answer, Page, served

Form = list[tuple[str, str]]
MODEL, OTHER = "openai/gpt-4o-mini", "openai/gpt-4o"


@contextmanager
def judging() -> Iterator[FakeProvider]:
    """A server behind both models that judges by ``verdict``."""
    with FakeProvider() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("OPENAI_BASE_URL", running.base_url("openai"))
        running.answer = verdict
        yield running


@contextmanager
def playground(home: Path) -> Iterator[Page]:
    """A page that may ask both models."""
    (home / "runs").mkdir()
    with served(home / "runs", home=home, models=[MODEL, OTHER]) as page:
        yield page


@pytest.fixture(scope="package")
def model_server() -> Iterator[FakeProvider]:
    with judging() as running:
        yield running


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the playground was started."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="package")
def play(home: Path, model_server: FakeProvider) -> Iterator[Page]:
    """The page with its playground."""
    with playground(home) as page:
        yield page


def verdict(body: dict[str, Any]) -> str:
    """Yes where the judged text says so."""
    text = json.dumps(body)
    judged = text[text.rindex("The material:") :] if "The material:" in text else text
    if '"ranking"' in text or "Response A" in text:
        return json.dumps(
            {"explanation": "it is better", "selected_option": "B" if "better two" in text else "A"}
        )
    chosen = "Yes" if "1889" in judged else "No"
    return json.dumps(
        {"explanation": f"because {chosen}", "feedback": "name a year", "selected_option": chosen}
    )


def sent(
    page: Page, path: str, form: Form, *, wants: str = "application/json", language: str = "en"
) -> Answer:
    headers = {
        "origin": f"http://127.0.0.1:{page.access.port}",
        "x_adjudge_token": page.access.form_token,
    }
    return page.ask(
        page.access.place + path,
        "POST",
        urlencode(form),
        cookie=f"{page.cookie}; {LANGUAGE_COOKIE}={language}",
        accept=wants,
        **headers,
    )


def direct(rows: Sequence[tuple[str, str]], *more: tuple[str, str]) -> Form:
    """A yes or no question and these (text, expected)."""
    head = [
        ("kind", "direct"),
        ("name", "date"),
        ("description", "Does the response name a year?"),
        ("judged", "response"),
    ]
    options = [
        ("option.name", "Yes"),
        ("option.score", "1"),
        ("option.name", "No"),
        ("option.score", "0"),
    ]
    texts = [pair for text, expected in rows for pair in _row([text], expected)]
    return [
        *head,
        *options,
        *texts,
        ("votes", "1"),
        ("language", "en"),
        ("tie_enabled", "1"),
        *more,
    ]


def pairwise(rows: Sequence[tuple[list[str], str]], *more: tuple[str, str]) -> Form:
    head = [
        ("kind", "pairwise"),
        ("name", "better"),
        ("description", "Which response is better?"),
        ("judged", "response"),
    ]
    return [
        *head,
        *(pair for texts, expected in rows for pair in _row(texts, expected)),
        ("tie_enabled", "1"),
        *more,
    ]


def _row(texts: Sequence[str], expected: str) -> Form:
    return [
        ("row.id", ""),
        ("row.expected", expected),
        *(("row.text:response", text) for text in texts),
    ]


def judged(page: Page, form: Form) -> Any:
    """The trial of a form, at its end."""
    answer = sent(page, "/playground/judge", form)
    assert answer.status == 200, answer.text
    trial = answer.json()["trial"]["id"]
    events = page.get(f"/playground/trial/{trial}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    assert events.text.endswith("\n\n")
    assert "event: ended" in events.text
    return page.data(f"/playground/trial/{trial}")


ROWS = [("It was built in 1889.", "Yes"), ("It is tall.", "No"), ("In 1889, or so.", "No")]
