"""Write a benchmark of judges as a Markdown or HTML page, or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.bench.benchmark import Benchmark
from adjudge.features.bench.report import benchmark_html, benchmark_markdown
from adjudge.runs.exporters.page_files import envelope, write_page


def write_benchmark(path: Path, benchmark: Benchmark, language: str) -> None:
    """Write the ranking and its disagreements as .md, .html or .json."""
    pages = {
        ".md": lambda: benchmark_markdown(benchmark, language),
        ".html": lambda: benchmark_html(benchmark, language),
        ".json": lambda: benchmark_json(benchmark),
    }
    write_page(path, pages)


def benchmark_json(benchmark: Benchmark) -> str:
    """Return the document that ``--json`` prints."""
    counts = {
        "rankings": len(benchmark.rankings),
        "judges": len(benchmark.judges),
        "failed": sum(judge.failed for judge in benchmark.judges),
    }
    results = [ranking.to_dict() for ranking in benchmark.rankings]
    document = envelope("bench", counts, results, benchmark_facts(benchmark))
    return json.dumps(document, ensure_ascii=False, indent=2)


def benchmark_facts(benchmark: Benchmark) -> JsonDict:
    """Return the document's fields other than its rankings."""
    settings = benchmark.settings
    return {
        "data": benchmark.source,
        "missing": settings.agreement.missing,
        "level": settings.level,
        "notes": list(benchmark.notes),
    }
