"""Template files: declared variables first, then one section for each turn.

variables: definition, field
--- system
…
--- user
…
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2

from adjudge.domain.frozen import text_hash
from adjudge.domain.message import Message, Role
from adjudge.errors import SetupError

LIKELIHOOD = "likelihood"
"""How the names of the templates begin that are read by log-probability; their wording counts as one."""
LANGUAGES = ("en", "ru")
_SECTION = re.compile(r"^--- (system|user|assistant)\n", re.MULTILINE)
_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701 - prompts are no HTML; evaluated text is fenced before it comes here
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class Template:
    """One template file, compiled."""

    name: str
    variables: frozenset[str]
    sections: tuple[tuple[Role, jinja2.Template], ...]

    def render(self, role: Role, values: Mapping[str, object]) -> str:
        """The section for ``role``. A value that was not given stops here, before any call."""
        missing = self.variables - values.keys()
        if missing:
            raise SetupError(f"template {self.name!r} needs {', '.join(sorted(missing))}")
        template = next(template for section, template in self.sections if section == role)
        return template.render(values).strip()

    def messages(self, values: Mapping[str, object]) -> tuple[Message, ...]:
        """All sections, in the order of the file."""
        return tuple(Message(role, self.render(role, values)) for role, _ in self.sections)


@cache
def load(name: str, language: str) -> Template:
    """The template ``name`` in ``language``."""
    check_language(language)
    path = files(__package__) / "templates" / language / f"{name}.jinja"
    if not path.is_file():
        raise SetupError(f"there is no template {name!r} for language {language!r}")
    head, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    names = re.findall(r"\w+", head.partition("variables:")[2])
    sections = [(role, _ENVIRONMENT.from_string(text)) for role, text in zip(parts[::2], parts[1::2], strict=True)]
    return Template(name, frozenset(names), tuple(sections))  # type: ignore[arg-type]  # the pattern admits roles only


@cache
def wording(prefix: str, language: str) -> str:
    """The SHA-256 of the template files whose names begin with ``prefix``: what is asked changes when their words do."""
    folder = files(__package__) / "templates" / language
    found = sorted((file for file in folder.iterdir() if file.name.startswith(prefix)), key=lambda file: file.name)
    return text_hash(*((file.name, file.read_text(encoding="utf-8")) for file in found))


def wordings(language: str) -> dict[str, str]:
    """The wording of every template, for a run's provenance."""
    folder = files(__package__) / "templates" / language
    return {LIKELIHOOD: wording(LIKELIHOOD, language)} | {file.name: wording(file.name, language) for file in folder.iterdir()}


def check_language(language: str) -> None:
    """Say which languages there are when ``language`` is none of them."""
    if language not in LANGUAGES:
        raise SetupError(f"language {language!r} is not one of {', '.join(LANGUAGES)}")
