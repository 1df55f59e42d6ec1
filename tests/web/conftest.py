"""Servers that the tests of the playground share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_provider import FakeProvider
from support.page import Page
from support.playground import judging, playground


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
