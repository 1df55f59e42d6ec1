"""What a judgment costs beside a bare loop over HTTP and beside two other frameworks, in one run.

    python benchmarks/ratios.py [--records 1000] [--rounds 5] [--peers FOLDER] [--record]

``--peers``: a folder of environments, one for each of them ("make bench" makes it). ``--record``
writes the ratios down for this version: benchmarks/ratios.json, and the table of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import line
import start
from server import running

import adjudge

PEERS = ("autoevals", "phoenix")
AIMS = {"in memory": 1.5, "with ledger": 2.0, "wall": 1.1, "wall with ledger": 1.1, "check": 0.3}
"""The most that each may be."""
_BUSY = 1.2
"""Times the limit that the bare loop takes on a machine that has no time."""
RECORD = Path(__file__).with_name("ratios.json")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
_TABLE = re.compile(r"(?<=<!-- ratios -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    found = _ratios(args.records, args.rounds, args.peers)
    for name, value in found.items():
        aim = AIMS.get(name)
        print(f"{name:18} {_shown(value)}" + (f"  aim {aim}: {_said(value, aim)}" if aim else ""))
    if args.record:
        kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        kept[adjudge.__version__] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "ratios": found}
        RECORD.write_text(json.dumps(kept, indent=2) + "\n")
        PAGE.write_text(_TABLE.sub(lambda _: table(kept), PAGE.read_text()))


def _ratios(records: int, rounds: int, peers: Path | None) -> dict[str, float | None]:
    instances = line.records(records)
    with running(line.LATENCY) as url:
        cost = line.cpu(url, instances, rounds)
        for name in PEERS if peers else ():
            cost[name] = _peer(peers / name / "bin" / "python", name, url, records, rounds)
    took = line.wall(instances, rounds)
    floor, is_busy = cost["floor aiohttp"], took["floor aiohttp"] > _BUSY
    command = start.COMMANDS["adjudge check"]
    started = [start.command_cpu(command) for _ in range(rounds + 2)]
    return {
        "in memory": round(cost["line aiohttp"] / floor, 2),
        "with ledger": round(cost["ledger aiohttp"] / floor, 2),
        **{name: round(cost[name] / floor, 2) for name in PEERS if name in cost},
        "wall": None if is_busy else round(took["line aiohttp"], 2),
        "wall with ledger": None if is_busy else round(took["ledger aiohttp"], 2),
        "wall of bare loop": round(took["floor aiohttp"], 2),
        "check": round(statistics.median(started), 2),
    }


def _peer(python: Path, name: str, url: str, records: int, rounds: int) -> float:
    script = str(Path(__file__).with_name("peer.py"))
    words = [str(python), script, name, url, str(records), str(rounds)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    middle = statistics.median(map(float, done.stdout.split()))
    print(f"{name:16} {middle:6.3f} ms CPU a judgment")
    return middle


def _shown(value: float | None) -> str:
    return "cannot tell" if value is None else f"{value:.2f}"


def _said(value: float | None, aim: float) -> str:
    if value is None:
        return "the machine is busy, the bare loop itself is slow"
    return "reached" if value <= aim else "missed"


def table(kept: dict[str, dict[str, dict[str, float | None]]]) -> str:
    """The rows of the page, the last version first."""
    names = list(dict.fromkeys(name for one in kept.values() for name in one["ratios"]))
    head = ["version", "date", *names]
    aims = ["aim", "", *(f"≤ {AIMS[name]}" if name in AIMS else "" for name in names)]
    rows = [
        [version, one["date"], *(_shown(one["ratios"].get(name)) for name in names)]
        for version, one in reversed(kept.items())
    ]
    lines = [head, ["---"] * len(head), *rows, aims]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


if __name__ == "__main__":
    main()
