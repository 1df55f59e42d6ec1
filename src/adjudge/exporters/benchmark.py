"""A benchmark of judges as a file: a Markdown or HTML page, or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge.domain.json_types import JsonDict
from adjudge.errors import RunError, SetupError
from adjudge.exporters.files import text_file
from adjudge.exporters.json_version import SCHEMA
from adjudge.messages import reason_of
from adjudge.trust.benchmark import Benchmark
from adjudge.view.benchmark import ENDINGS, benchmark_html, benchmark_markdown

_PAGES = {".md": benchmark_markdown, ".html": benchmark_html}


def check_page(path: Path) -> None:
    """Refuse a file that no page can be written to, before anything is paid for."""
    if path.suffix.lower() not in ENDINGS:
        raise SetupError(
            "{path} cannot be written: let the name end in {endings} or {last}",
            path=path,
            endings=", ".join(ENDINGS[:-1]),
            last=ENDINGS[-1],
        )


def write_page(path: Path, found: Benchmark, language: str = "en") -> None:
    """The ranking with its disagreements."""
    page = _PAGES.get(path.suffix.lower())
    text = page(found, language) if page else benchmark_json(found)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with text_file(path, is_page=page is benchmark_html) as file:
            file.write(text)
    except OSError as error:
        raise RunError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error


def benchmark_json(found: Benchmark) -> str:
    """What ``--json`` prints, as a file."""
    counts = {
        "rankings": len(found.rankings),
        "judges": len(found.judges),
        "failed": sum(one.failed for one in found.judges),
    }
    return json.dumps(
        {
            "schema": SCHEMA,
            "kind": "bench",
            "summary": counts,
            "criteria": [],
            "gates": [],
            **benchmark_facts(found),
            "results": [one.to_dict() for one in found.rankings],
        },
        ensure_ascii=False,
        indent=2,
    )


def benchmark_facts(found: Benchmark) -> JsonDict:
    """What a document says beside its rankings."""
    settings = found.settings
    return {
        "data": found.source,
        "missing": settings.agreement.missing,
        "level": settings.level,
        "notes": list(found.notes),
    }
