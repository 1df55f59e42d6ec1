"""The priors that come with the package: what the embedded model says of neutral texts under the
RAG evaluator's criteria, in every language that it has.

    python tools/priors.py

To be made anew ("make priors") whenever the weights, their adapter or the prompts change; older
ones are then never used, and the first RAG evaluation on a machine takes twice as long. Some
minutes of work.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.core.aio.files import cache_folder
from adjudge.core.catalog.criteria import languages
from adjudge.features.local.weights.adapters import PRIORS, shipped_priors
from adjudge.features.local.weights.store import KNOWN, read_manifest
from adjudge.features.rag import RagEvaluator

EXAMPLE = Path(__file__).parent.parent / "examples" / "rag.csv"
NAME = "smollm2-135m"


def main() -> None:
    """Ask for all of them, and write them where the package keeps them."""
    manifest = read_manifest(NAME)
    if manifest is None or manifest.sha256 != KNOWN[NAME].sha256:
        sys.exit(
            f"{cache_folder()} holds other weights than are pulled today: set ADJUDGE_CACHE "
            "to an empty folder and pull them"
        )
    PRIORS.unlink(missing_ok=True)
    shipped_priors.cache_clear()
    with TemporaryDirectory() as made:
        (Path(made) / "weights").symlink_to(cache_folder() / "weights")
        os.environ["ADJUDGE_CACHE"] = made
        os.environ.pop("ADJUDGE_LOCAL_PRECISION", None)
        for language in languages():
            evaluator = RagEvaluator(language=language)
            evaluator.evaluate(evaluator.rows(EXAMPLE, limit=1).instances)
        files = sorted((Path(made) / "priors").rglob("*.json"))
        found = {
            file.stem: {
                option: round(value, 6) for option, value in json.loads(file.read_bytes()).items()
            }
            for file in files
        }
    PRIORS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} priors in {PRIORS}")


if __name__ == "__main__":
    main()
