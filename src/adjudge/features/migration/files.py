"""The files that ``adjudge init --from`` writes."""

from __future__ import annotations

import os
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.features.migration.conversion import Conversion
from adjudge.features.migration.deepeval import convert_deepeval
from adjudge.features.migration.promptfoo import convert_promptfoo
from adjudge.features.migration.python_source import imports, parse_python
from adjudge.features.migration.ragas import convert_ragas

_YAML = (".yaml", ".yml", ".json")


def convert(source: Path, folder: Path = Path()) -> Conversion:
    """Convert a promptfoo configuration, a DeepEval test file or a Ragas script.

    ``folder`` is where the eval file will be written; its paths are relative to that. Nothing in
    the source is executed. Raise a SetupError if nothing in it has a counterpart.
    """
    try:
        conversion = _read(source)
    except RecursionError as error:
        raise SetupError("{path}: is nested too deeply", path=source) from error
    path = conversion.data.get("path")
    if isinstance(path, str) and path:
        conversion.data["path"] = Path(os.path.relpath(path, folder.absolute())).as_posix()
    if not conversion.judges and not conversion.checks:
        lines = [str(remark.message) for remark in conversion.unmapped[:5]]
        raise SetupError(
            "{path}: nothing in it has a counterpart, so no file was written. {lines}",
            path=source,
            lines="; ".join(lines),
        )
    return conversion


def _read(source: Path) -> Conversion:
    if source.suffix.lower() in _YAML:
        return convert_promptfoo(source)
    if source.suffix.lower() == ".py":
        module = parse_python(source)
        if imports(module, "deepeval"):
            return convert_deepeval(source)
        if imports(module, "ragas"):
            return convert_ragas(source)
        raise SetupError("{path} imports neither deepeval nor ragas", path=source)
    raise SetupError(
        "{path}: --from takes a promptfooconfig.yaml, a test file of DeepEval or a script with "
        "Ragas (.py)",
        path=source,
    )
