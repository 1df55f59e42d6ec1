"""A real browser. A module that imports this is skipped where playwright is not installed."""

from __future__ import annotations

import os
import shutil

import pytest

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: make test-browser"
)
expect = playwright.expect
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(
    not CHROMIUM, reason="there is no Chromium: install it, or name it in $CHROMIUM"
)
