"""The languages of prompts, apart from the renderer, which loads the template engine."""

from __future__ import annotations

LANGUAGES = ("en", "ru")
