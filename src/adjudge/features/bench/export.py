"""A benchmark of judges as a file: a Markdown or HTML page, or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.bench.benchmark import Benchmark
from adjudge.features.bench.report import benchmark_html, benchmark_markdown
from adjudge.runs.exporters.page_files import envelope, write_page


def write_benchmark(path: Path, found: Benchmark, language: str) -> None:
    """The ranking with its disagreements."""
    pages = {
        ".md": lambda: benchmark_markdown(found, language),
        ".html": lambda: benchmark_html(found, language),
        ".json": lambda: benchmark_json(found),
    }
    write_page(path, pages)


def benchmark_json(found: Benchmark) -> str:
    """What ``--json`` prints, as a file."""
    counts = {
        "rankings": len(found.rankings),
        "judges": len(found.judges),
        "failed": sum(one.failed for one in found.judges),
    }
    results = [one.to_dict() for one in found.rankings]
    whole = envelope("bench", counts, results, benchmark_facts(found))
    return json.dumps(whole, ensure_ascii=False, indent=2)


def benchmark_facts(found: Benchmark) -> JsonDict:
    """What a document says beside its rankings."""
    settings = found.settings
    return {
        "data": found.source,
        "missing": settings.agreement.missing,
        "level": settings.level,
        "notes": list(found.notes),
    }
