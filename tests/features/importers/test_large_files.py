"""Files larger than memory: what an import holds at once does not grow with the file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from adjudge.runs.folder import run_info

MEGABYTES = int(os.environ.get("ADJUDGE_IMPORT_MB", "8"))
MOST_MEMORY = 200
"""Megabytes that an import may take, Python itself included."""
PADDING = 'The quick brown fox \\ jumps " over the lazy dog. ' * 40

MEASURED = """
import pathlib, re, resource, sys
from adjudge.runs.cli.main import app
for source in sys.argv[1:]:
    app(["import", source, "--run", source + ".run"], standalone_mode=False)
    # the process's own: what getrusage says has the parent's peak in it
    status = pathlib.Path("/proc/self/status")
    own = re.search(r"VmHWM:\\s*(\\d+)", status.read_text()) if status.exists() else None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print("peak", int(own[1]) / 1024 if own else usage.ru_maxrss / 1024**2)
"""


def write_promptfoo(path: Path, size: int) -> int:
    """A results file of about ``size`` bytes, as one document; says how many results it holds."""
    head = {
        "version": 3,
        "timestamp": "2026-08-22T10:00:00Z",
        "prompts": [{"raw": "Answer: {{question}}"}],
    }
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"evalId": "eval-1", "results": ' + json.dumps(head)[:-1] + ', "results": [')
        while file.tell() < size:
            passed = count % 3 != 0
            part = {
                "pass": passed,
                "score": float(passed),
                "reason": f"{count} {PADDING}",
                "assertion": {"type": "llm-rubric", "value": "is polite"},
            }
            result = {
                "testIdx": count,
                "promptIdx": 0,
                "vars": {"question": f"{count}? {PADDING}"},
                "response": {"output": f"Answer {count}. {PADDING}"},
                "success": passed,
                "score": float(passed),
                "failureReason": int(not passed),
                "gradingResult": {
                    "pass": passed,
                    "score": float(passed),
                    "reason": "",
                    "componentResults": [part],
                },
            }
            file.write(("," if count else "") + json.dumps(result))
            count += 1
        file.write(
            '], "stats": {"successes": 1}}, "config": {"defaultTest": {"options": '
            '{"provider": "openai:gpt-5"}}}}'
        )
    return count


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    write_promptfoo(small, 1_000_000)
    results = write_promptfoo(large, MEGABYTES * 1_000_000)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, small, large], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    before, peak = map(float, re.findall(r"^peak (.+)$", done.stdout, re.MULTILINE))
    print(f"{MEGABYTES} MB read, {peak:.0f} MB of memory at most")
    assert 10 < peak < MOST_MEMORY
    assert peak - before < MEGABYTES / 2
    assert run_info(tmp_path / "large.json.run").judges == {
        "llm-rubric (openai:gpt-5)": {"scored": results}
    }
