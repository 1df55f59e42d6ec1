"""What ``adjudge rag`` costs besides the model: many rows with a model that answers at once, and
their reports.

python benchmarks/rag.py --rows 10000
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import tempfile
import time
from pathlib import Path

from adjudge.core.domain.message import Reply, Request
from adjudge.features.rag import RagEvaluator
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import judgments_of, report_of


class Digest:
    """A model that scores by a digest of the prompt, and remembers nothing."""

    name = "digest"

    def __init__(self) -> None:
        from adjudge import Capabilities

        self.capabilities = Capabilities(json_schema=True)

    async def complete(self, request: Request) -> Reply:
        """One of the offered scores."""
        properties: dict[str, dict[str, list[str]]] = (request.schema or {})["properties"]  # type: ignore[assignment]
        offered = properties["selected_option"]["enum"]
        digest = hashlib.sha256(request.prompt.text.encode()).digest()
        said = {
            "explanation": "The answer says what it says. " * 3,
            "selected_option": offered[digest[0] % len(offered)],
        }
        return Reply(json.dumps(said))


def write(path: Path, rows: int) -> None:
    """A file of rows of a usual length."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            text = f"Row {number}. " + "A sentence of the usual length stands here. " * 5
            row = {"question": text, "answer": text * 2, "contexts": [text, text], "history": text}
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Judge, report, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    wanted = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.jsonl"
        write(data, wanted)
        evaluator = RagEvaluator(Digest())
        started = time.perf_counter()
        rows = evaluator.rows(data)
        results = evaluator.evaluate(rows.instances)
        judged = time.perf_counter()
        paths = write_reports(
            report_of(evaluator, results, source=data.name),
            judgments_of(evaluator, results),
            folder,
        )
        reported = time.perf_counter()
        sizes = ", ".join(f"{path.suffix} {path.stat().st_size / 1e6:.1f} MB" for path in paths)
    print(f"rows {wanted}, judgments {6 * wanted}")
    print(
        f"judging {judged - started:.1f} s ({1000 * (judged - started) / (6 * wanted):.2f} "
        "ms a judgment)"
    )
    print(f"reports {reported - judged:.1f} s: {sizes}")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
