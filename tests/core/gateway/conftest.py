"""The gateway's tests see no key, base URL or proxy of the machine they run on."""

from __future__ import annotations

import os

import pytest

from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.registry import KEY_ALIASES, our_providers

_VARIABLES = {
    *(spec.key_variable for spec in our_providers() if spec.key_variable),
    *(spec.base_url_variable for spec in our_providers() if spec.base_url_variable),
    *(alias for aliases in KEY_ALIASES.values() for alias in aliases),
    "WATSONX_PROJECT_ID",
    "WATSONX_SPACE_ID",
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in os.environ:
        if variable in _VARIABLES or variable.lower().endswith("_proxy"):
            monkeypatch.delenv(variable)
    proxy_for.cache_clear()
