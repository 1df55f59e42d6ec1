"""Write ``src/adjudge/features/bench/data/published.json``: how well judges agree with people
on public sets, from the verdicts that were published with them, and the embedded judge on the
same rows.

    python tools/published_results.py ../shared/data [--check]

Every figure is what ``adjudge bench`` says of the file. With ``--check`` nothing is written; what
differs from the file is printed. With ``--embedded`` the embedded judge is asked about all of them
(an hour on two cores that others use as well; ``--runs FOLDER`` keeps its answers, so that the same
command goes on where it was stopped); else its figures are kept as they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from adjudge import __version__
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.reading.typed_json import read_as
from adjudge.features.bench.published_results import (
    PublishedFigure,
    PublishedJudge,
    PublishedResults,
    PublishedSet,
    published_results,
)

OUT = (
    Path(__file__).parents[1] / "src" / "adjudge" / "features" / "bench" / "data" / "published.json"
)
EMBEDDED = "local/smollm2-135m"


@dataclass(frozen=True)
class PublicSet:
    """Where a set is from, and how it is asked about."""

    file: str
    name: str
    source: str
    licence: str
    recorded: str
    options: tuple[str, ...] = ()
    """Of the recorded verdicts."""
    asked: tuple[str, ...] = ()
    """Of the embedded judge."""
    note: str = ""
    asked_in: str = ""
    """The file with the rows alone, where the other has a row for each verdict."""
    unasked: bool = False
    """Whether the embedded judge has no business here; the note says why."""


SETS = (
    PublicSet(
        "pandalm",
        "PandaLM",
        "WeOpenML/PandaLM",
        "Apache-2.0",
        "2023",
        note="Replies that name no winner are left out. The embedded judge was trained on this "
        "set, so that it is not measured here.",
        unasked=True,
    ),
    PublicSet(
        "llmbar_recorded",
        "LLMBar",
        "princeton-nlp/LLMBar",
        "MIT",
        "2023",
        asked_in="llmbar",
        note="Both orders are pooled: where they disagree nobody wins, which is wrong here; the "
        "authors give the mean of the two orders.",
    ),
    PublicSet(
        "agent_cases",
        "agent cases",
        "benchclawio/harness",
        "Apache-2.0",
        "2025",
        asked=(
            *("--criterion", "Is the agent's output right?"),
            *("--map", "correct=Yes", "--map", "wrong=No"),
        ),
    ),
    PublicSet(
        "rag25",
        "RAG answers",
        "zarmaks/llmasajudge",
        "MIT",
        "2025",
        ("--question", "pass"),
        (
            *("--question", "pass", "--map", "PASS=Yes", "--map", "FAIL=No"),
            *("--criterion", "Does the response answer the question with what the context says?"),
        ),
        "Only 25 rows, so intervals are wide.",
    ),
    PublicSet(
        "hhh",
        "HHH",
        "prometheus-eval (BIG-bench HHH)",
        "Apache-2.0",
        "2023",
        note="No verdicts were published with the set.",
    ),
    PublicSet(
        "halueval400",
        "HaluEval",
        "RUCAIBox/HaluEval",
        "MIT",
        "2023",
        asked=("--criterion", "Does the answer contain anything that is made up or wrong?"),
        note="No verdicts were published with the set.",
    ),
    PublicSet(
        "qags_cnn",
        "QAGS CNN",
        "UniEval (QAGS)",
        "MIT",
        "2020",
        asked=("--criterion", "Does the summary say only what the source says?"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--runs", type=Path, help="where the embedded judge's runs are kept")
    wanted = parser.parse_args()
    before = {one.name: one for one in published_results().sets} if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        runs = wanted.runs or Path(scratch)
        sets = [
            found
            for one in SETS
            if (
                found := measured(one, wanted.data, runs, before.get(one.name), ask=wanted.embedded)
            )
        ]
    made = PublishedResults(f"adjudge {__version__}", tuple(sets))
    text = json.dumps(asdict(made), ensure_ascii=False, indent=1) + "\n"
    if not wanted.check:
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(text, encoding="utf-8")
        return 0
    same = OUT.read_text(encoding="utf-8") == text
    print("the figures are as they are in the package" if same else f"{OUT} differs: make it anew")
    return int(not same)


def measured(
    one: PublicSet, data: Path, runs: Path, before: PublishedSet | None, *, ask: bool
) -> PublishedSet | None:
    """The set with all its judges, the best first; None where no judge is known."""
    path = data / f"{one.file}.jsonl"
    found = [bench(path, runs / one.file, *one.options)]
    if ask and not one.unasked:
        rows = one.asked_in or one.file
        own = runs / f"emb-{rows}"
        found.append(bench(data / f"{rows}.jsonl", own, *one.asked, "-m", EMBEDDED))
    rankings = [ranking for ranking in found if ranking]
    judges = [judge_of(judge) for ranking in rankings for judge in ranking["judges"]]
    if not ask and before:
        judges += [judge for judge in before.judges if judge.embedded]
    if not judges:
        return None
    ranking = rankings[0] if rankings else None
    kept = ranking_of(ranking) if ranking else before
    if kept is None:
        return None
    return replace(
        kept,
        name=one.name,
        source=one.source,
        licence=one.licence,
        recorded=one.recorded,
        note=one.note,
        judges=tuple(sorted(judges, key=lambda judge: -(judge.agreement.value or 0))),
    )


def bench(path: Path, run: Path, *options: str) -> JsonDict | None:
    """What ``adjudge bench`` says of the set; None where it has no judge."""
    command = [sys.executable, "-m", "adjudge", "bench", str(path), "--run", str(run), *options]
    done = subprocess.run(
        [*command, "--json", "--quiet"], check=False, capture_output=True, text=True
    )
    if done.returncode not in (0, 3):
        print(done.stderr.strip(), file=sys.stderr)
        return None
    rankings = json.loads(done.stdout)["results"]
    ranking: JsonDict = rankings[0]
    return ranking


def ranking_of(ranking: JsonDict) -> PublishedSet:
    """What is known of the set itself."""
    ceiling = ranking["ceiling"]
    people = ceiling if isinstance(ceiling, dict) else {}
    labels = max(judge["agreement"]["n"] for judge in ranking["judges"])  # type: ignore[index, union-attr, call-overload]
    majority = ranking["baselines"].get("majority", {}).get("value")  # type: ignore[union-attr, call-overload]
    return PublishedSet(
        name="",
        question=str(ranking["question"] or "verdict"),
        source="",
        licence="",
        recorded="",
        labels=int(labels),
        people=int(people.get("people", 0)),  # type: ignore[arg-type]
        ceiling=people.get("agreement"),  # type: ignore[arg-type]
        majority=majority,
        note="",
        judges=(),
    )


def judge_of(judge: JsonDict) -> PublishedJudge:
    """A line of the ranking, as it is published."""
    embedded = EMBEDDED in str(judge["models"])
    name = EMBEDDED if embedded else str(judge["judge"])
    figures = {
        one: read_as(PublishedFigure, judge[one]) for one in ("agreement", "kappa", "order_effect")
    }
    return PublishedJudge(
        judge=name,
        figure=str(judge["figure"]),
        rows=int(judge["rows"]),  # type: ignore[arg-type]
        failed=int(judge["failed"]),  # type: ignore[arg-type]
        embedded=embedded,
        **figures,
    )


if __name__ == "__main__":
    sys.exit(main())
