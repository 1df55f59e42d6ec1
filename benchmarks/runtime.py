"""What a verdict of the embedded model costs, on onnxruntime and on xllamacpp: CPU seconds, tokens
a second, memory.

    PYTHONPATH=. python benchmarks/runtime.py [--rows 1000] [--old-rows 20] [--busy]

Short texts, one criterion. Both runtimes are measured in turn in this one run, each in a process of
its own; CPU seconds are those of the process, so that other work on the machine does not count.
"cold" is a fresh process from its start to its first verdict, the prior on disk for onnxruntime;
"beside" is the time on the clock, beside a process that keeps every core busy, over that without.
xllamacpp is asked for fewer rows, since it takes longer; figures are a verdict. It reads the
weights as F16, as when it was the embedded judge: on the CPUs measured that takes it less time than
the four-bit file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from training.f16 import rewrite

from adjudge.features.local.weights.store import find

WORK = """
import json, resource, sys, time
runtime, rows, f16 = sys.argv[1], int(sys.argv[2]), sys.argv[3]
from adjudge import AspectCritic
if runtime == "xllamacpp":
    from dataclasses import replace
    from adjudge import open_model
    from adjudge.features.local.weights.adapters import adapter_for, calibration_for
    model = open_model(f"local/{f16}+{adapter_for('smollm2-135m')}")
    calibration = calibration_for("smollm2-135m")
    model.provider.capabilities = replace(model.provider.capabilities, calibration=calibration)
else:
    model = "local/smollm2-135m"
critic = AspectCritic("The text names a price.", model)
critic.evaluate("The blue lamp costs 40 euros.")
cold = time.process_time()
found = {"cold": cold}
for name, count in (("one", 1), ("many", rows)):
    wall, cpu = time.monotonic(), time.process_time()
    results = critic.evaluate(
        [f"The lamp number {number} stands beside the sofa, {name}." for number in range(count)]
    )
    spent, clock = time.process_time() - cpu, time.monotonic() - wall
    usages = [vote.usage for result in results for vote in result.votes]
    read = sum(usage.prompt_tokens - usage.cached_tokens for usage in usages)
    assert all(result.status == "scored" for result in results)
    found[name] = {"cpu": spent / count, "clock": clock / count, "tokens": read / spent}
found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--old-rows", type=int, default=20)
    parser.add_argument(
        "--busy", action="store_true", help="also beside processes that keep every core busy"
    )
    args = parser.parse_args()
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("onnxruntime", "xllamacpp", "numpy")
    )
    print(
        f"{platform.machine()}, {_cpu()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {libraries}\n"
    )
    counts = {"onnxruntime": args.rows, "xllamacpp": args.old_rows}
    with TemporaryDirectory() as folder:
        f16 = Path(folder) / "smollm2-135m.F16.gguf"
        rewrite(find("smollm2-135m"), f16)
        _compare(counts, f16, args.busy)


def _compare(counts: dict[str, int], f16: Path, busy: bool) -> None:
    _measured("onnxruntime", 1, f16)  # keeps the prior on disk
    quiet = {runtime: _measured(runtime, count, f16) for runtime, count in counts.items()}
    print("| a verdict | " + " | ".join(quiet) + " | ratio |\n|---|--:|--:|--:|")
    _row(
        "first of a cold process, CPU s",
        {runtime: found["cold"] for runtime, found in quiet.items()},
    )
    _row("one row, CPU s", {runtime: found["one"]["cpu"] for runtime, found in quiet.items()})
    _row("many rows, CPU s", {runtime: found["many"]["cpu"] for runtime, found in quiet.items()})
    _row(
        "many rows, prompt tokens per CPU s",
        {runtime: found["many"]["tokens"] for runtime, found in quiet.items()},
    )
    _row("memory, MB", {runtime: found["memory"] for runtime, found in quiet.items()})
    print(f"\nmany rows: {counts}")
    if busy:
        _beside(counts, f16, quiet)


def _beside(counts: dict[str, int], f16: Path, quiet: dict[str, dict]) -> None:
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        found = {runtime: _measured(runtime, count, f16) for runtime, count in counts.items()}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for runtime, beside in found.items():
        clock = beside["many"]["clock"] / quiet[runtime]["many"]["clock"]
        print(
            f"{runtime} beside busy processes: {clock:.2f} times as long on the clock, "
            f"{beside['many']['cpu']:.3f} s CPU"
        )


def _measured(runtime: str, rows: int, f16: Path) -> dict:
    command = [sys.executable, "-c", WORK, runtime, str(rows), str(f16)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _row(name: str, values: dict[str, float]) -> None:
    new, old = values.values()
    print(f"| {name} | {new:.3g} | {old:.3g} | {max(new, old) / min(new, old):.1f} |")


def _cpu() -> str:
    lines = subprocess.run(
        ["lscpu"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("Model name")]
    return names[0] if names else platform.processor() or "unknown CPU"


if __name__ == "__main__":
    main()
