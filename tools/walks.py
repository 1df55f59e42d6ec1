"""The five walks through the house, by a profile of the warm path: which function calls which, how
often, in how many modules.

    python tools/walks.py                      # calls and modules of each walk
    python tools/walks.py --stations           # and each module once, in the order they are
                                               entered: read them in that order
    python tools/walks.py --chain judgment     # and what calls what, as it is walked, of one walk

A call is a Python function of adjudge being entered; a coroutine that is resumed is not entered
again. A walk is done three times before it is counted, so that what is kept from one time to the
next has been made.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from asyncio import AbstractEventLoop
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType

import adjudge
from adjudge.core.aio import event_loop

HOME = str(Path(adjudge.__file__).parent)
CRITERIA = adjudge.Criteria(
    "clear",
    "Is the answer clear?",
    [adjudge.CriteriaOption("Yes", score=1.0), adjudge.CriteriaOption("No", score=0.0)],
)
RESPONSES = [
    {"response": ["Turn left.", "Turn left at the bakery."], "question": "How do I get there?"}
]
ROW = {"question": "When does it open?", "answer": "At nine.", "contexts": ["It opens at nine."]}
TWO_ROWS = (
    "data: rows.csv\nmodels: scripted\nrun: {run}\njudges:\n  - kind: direct\n    criteria: Is "
    "the answer clear?\n"
)

Job = Callable[[], object]


@dataclass
class Walk:
    """Functions that were entered, in order, each with how deep it was."""

    steps: list[tuple[int, str]] = field(default_factory=list)
    _entered: set[int] = field(default_factory=set)
    _alive: list[FrameType] = field(default_factory=list)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """For ``sys.setprofile``."""
        if (
            event != "call"
            or frame.f_code.co_name[0] == "<"
            or not frame.f_code.co_filename.startswith(HOME)
            or id(frame) in self._entered
        ):
            return
        self._entered.add(id(frame))
        self._alive.append(frame)  # an id is its own only while the frame lives
        self.steps.append((_depth(frame), _name(frame)))

    @property
    def modules(self) -> set[str]:
        return {name.rsplit(":", 1)[0] for _, name in self.steps}

    def stations(self) -> list[str]:
        """Each module by the function that it is first entered by, and how often it is entered."""
        first = {name.rpartition(":")[0]: name for _, name in reversed(self.steps)}
        entered = Counter(name.rpartition(":")[0] for _, name in self.steps)
        return [f"  {first[module]}  ×{entered[module]}" for module in dict.fromkeys(entered)]

    def chain(self) -> list[str]:
        """Each step indented by its depth; what one caller repeats stands there once, with how
        often.
        """
        lines: list[str] = []
        counts: list[int] = []
        for depth, name in self.steps:
            line = f"{'  ' * depth}{name}"
            if line in lines[-12:]:
                counts[len(lines) - 1 - lines[::-1].index(line)] += 1
                continue
            lines.append(line)
            counts.append(1)
        return [
            line if count == 1 else f"{line}  ×{count}"
            for line, count in zip(lines, counts, strict=True)
        ]


def _depth(frame: FrameType) -> int:
    depth, above = 0, frame.f_back
    while above is not None:
        depth += above.f_code.co_filename.startswith(HOME)
        above = above.f_back
    return depth


def _name(frame: FrameType) -> str:
    place = Path(frame.f_code.co_filename).relative_to(HOME).with_suffix("")
    return f"{place}:{frame.f_code.co_qualname}"


def walked(job: Job) -> Walk:
    """What ``job`` calls, on its own thread and on the loop where models live."""
    for _ in range(3):
        job()
    walk, loop = Walk(), event_loop.home_loop()
    _on_loop(loop, walk.profile)
    sys.setprofile(walk.profile)
    try:
        job()
    finally:
        sys.setprofile(None)
        _on_loop(loop, None)
    return walk


def _on_loop(
    loop: AbstractEventLoop, profile: Callable[[FrameType, str, object], None] | None
) -> None:
    done = threading.Event()

    def set_there() -> None:
        sys.setprofile(profile)
        done.set()

    loop.call_soon_threadsafe(set_there)
    done.wait()


def _judgment(_: Path) -> Job:
    judge = adjudge.DirectJudge(adjudge.ScriptedModel())
    return lambda: judge.evaluate(["Turn left at the bakery."], CRITERIA)


def _pairwise(_: Path) -> Job:
    judge = adjudge.PairwiseJudge(adjudge.ScriptedModel(), check_positional_bias=True)
    return lambda: judge.evaluate(RESPONSES, CRITERIA)


def _rag(_: Path) -> Job:
    judge = adjudge.RagEvaluator(adjudge.ScriptedModel())
    return lambda: judge.evaluate([ROW])


def _candidate(_: Path) -> Job:
    """One candidate, verified by one criterion, and run."""
    writer = adjudge.ScriptedModel(["```python\noutput = 4\n```"])
    verify = adjudge.QualitativeCriteria(
        "The code is short.", adjudge.ScriptedModel(["PASS"], name="judge")
    )
    strategy = adjudge.Strategy(verify, num_candidates=1)
    runtime, agent = (
        adjudge.Runtime(sandbox="none"),
        adjudge.Agent(output_schema=int, llm=writer, strategy=strategy),
    )
    return lambda: runtime.jit(agent, "Give four.")


def _run(folder: Path) -> Job:
    (folder / "rows.csv").write_text("response\nTurn left.\nTurn left at the bakery.\n")
    number = iter(range(1_000_000))

    def run() -> None:
        file = folder / "eval.yaml"
        file.write_text(TWO_ROWS.format(run=json.dumps(str(folder / f"run-{next(number)}"))))
        _command("run", str(file))

    return run


def _command(*words: str) -> None:
    from adjudge.runs.cli.main import main as command

    before, sys.argv = sys.argv, ["adjudge", *words]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        try:
            command()
        except SystemExit as end:
            if end.code not in (None, 0):
                raise SystemExit(
                    f"{' '.join(words)} ended with {end.code}: {said.getvalue()}"
                ) from None
        finally:
            sys.argv = before


WALKS: dict[str, Callable[[Path], Job]] = {
    "judgment": _judgment,
    "pairwise": _pairwise,
    "rag": _rag,
    "candidate": _candidate,
    "run": _run,
}
"""Each with what it does, on scripted models, given a folder to work in."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The five walks through the house: calls, modules and chains."
    )
    parser.add_argument("walks", nargs="*", help=f"{', '.join(WALKS)}; all when none is named")
    parser.add_argument(
        "--stations",
        action="store_true",
        help="print each module once, in the order they are entered",
    )
    parser.add_argument("--chain", action="store_true", help="print what calls what, in order")
    given = parser.parse_args()
    if unknown := [name for name in given.walks if name not in WALKS]:
        parser.error(f"there is no walk {unknown[0]!r}: there are {', '.join(WALKS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.walks or WALKS:
            show(
                name, walked(WALKS[name](Path(folder))), stations=given.stations, chain=given.chain
            )


def show(name: str, walk: Walk, *, stations: bool = False, chain: bool = False) -> None:
    """How long it is, and what is on the way."""
    print(f"{name}: {len(walk.steps)} calls in {len(walk.modules)} modules")
    for lines in ([walk.stations()] if stations else []) + ([walk.chain()] if chain else []):
        print("\n".join(lines), end="\n\n")


if __name__ == "__main__":
    main()
