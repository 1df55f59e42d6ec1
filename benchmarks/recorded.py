"""Published figures of recorded judges, made again: the records become runs with labels, which
``calibrate`` reads.

python benchmarks/recorded.py --data ../shared/data
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from adjudge import (
    AspectCritic,
    Criteria,
    Instance,
    PairwiseInstance,
    PairwiseJudge,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.label import Label
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run

_MARK = re.compile(r"\[\[(.+?)\]\]")


def read(path: Path) -> list[dict[str, object]]:
    """The records of a file."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def says(verdict: Callable[[str], str | None]) -> ScriptedModel:
    """A model that answers what was recorded of the marked record; None is an answer that cannot be
    read.
    """

    def script(request: Request) -> str:
        found = _MARK.search(request.prompt.text)
        option = verdict(found[1]) if found else None
        return (
            "garbage"
            if option is None
            else json.dumps({"explanation": "recorded", "selected_option": option})
        )

    return ScriptedModel(script)


def settings(missing: str) -> CalibrationSettings:
    """Few draws: the figures themselves are wanted here."""
    return CalibrationSettings(agreement=AgreementSettings(missing=missing, draws=Draws(200)))  # type: ignore[arg-type]


def shown(found: Calibration, *names: str) -> str:
    """Figures in per cent."""
    figures = found.agreement.figures if found.agreement else {}
    return " / ".join(f"{100 * (figures[name].value or 0):.2f}" for name in names)


def pandalm(data: Path, scratch: Path) -> None:
    """Accuracy, precision, recall and F1 of two judges; kappa of the people among themselves."""
    records = {str(one["id"]): one for one in read(data / "pandalm.jsonl")}
    letters, places = {"1": "A", "2": "B", "tie": "tie", "0": "tie"}, {0: "tie", 1: 0, 2: 1}
    rows = [
        PairwiseInstance(
            {"mark": f"[[{name}]]", "response": [str(one["response_1"]), str(one["response_2"])]},
            name,
        )
        for name, one in records.items()
    ]
    labels = [
        Label(
            row=row.identity,
            criteria="better",
            annotator=f"person {place}",
            winner=places[vote],
            design="random",
        )  # type: ignore[arg-type]
        for row, one in zip(rows, records.values(), strict=True)
        for place, vote in enumerate(one["human_votes"], 1)  # type: ignore[arg-type, var-annotated]
    ]
    for judge, missing in (
        ("pandalm-7b", "drop"),
        ("gpt-3.5-turbo", "tie"),
        ("gpt-3.5-turbo", "wrong"),
        ("gpt-3.5-turbo", "drop"),
    ):
        folder = scratch / judge
        recorded = {name: one["judges"][judge]["verdict"] for name, one in records.items()}  # type: ignore[index]
        model = says(lambda name, recorded=recorded: letters.get(recorded[name].casefold()))  # type: ignore[misc]
        PairwiseJudge(model, max_repairs=0).evaluate(
            rows, Criteria("better", "Which is better?"), run=folder
        )
        (found,) = calibrate_run(folder, labels, settings=settings(missing))
        print(
            f"PandaLM {judge}, unreadable = {missing}: "
            + shown(found, "accuracy", "macro precision", "macro recall", "macro F1")
        )
    people = found.agreement.people if found.agreement else {}
    print(
        "PandaLM, people among themselves: "
        + " ".join(f"{one.kappa.value or 0:.3f}" for one in people.values())
    )


def agent_cases(data: Path, scratch: Path) -> None:
    """False passes and false fails of four evaluators, by the majority of three repeats."""
    records = {str(one["case_id"]): one for one in read(data / "agent_cases.jsonl")}
    rows = [
        Instance({"mark": f"[[{name}]]", "response": json.dumps(one["agent_output"])}, name)
        for name, one in records.items()
    ]
    labels = [
        Label(row=row.identity, criteria="right", annotator="verified", design="random",
              option="PASS" if one["label"] == "correct" else "FAIL")
        for row, one in zip(rows, records.values(), strict=True)
    ]  # fmt: skip
    for judge in ("naive", "phoenix", "deepeval", "opik"):
        asked: Counter[str] = Counter()

        def verdict(name: str, judge: str = judge, asked: Counter[str] = asked) -> str | None:
            repeats: Sequence[dict[str, object]] = records[name]["judges"][judge]  # type: ignore[index]
            one = repeats[asked[name]]
            asked[name] += 1
            return None if one["error"] else "PASS" if one["verdict_pass"] else "FAIL"

        critic = AspectCritic(
            "Is it right?", says(verdict), strictness=3, name="right", max_repairs=0
        )
        critic.evaluate(rows, run=scratch / judge)
        (found,) = calibrate_run(scratch / judge, labels, settings=settings("drop"))
        table = found.confusion.table
        print(
            f"agent cases {judge}: {table['FAIL'].get('PASS', 0)} false passes, "
            f"{table['PASS'].get('FAIL', 0)} false fails"
        )


def llmbar(data: Path) -> None:
    """Accuracy over both orders, and how often the orders agree, on the natural pairs."""
    records = [
        one
        for one in read(data / "llmbar_recorded.jsonl")
        if "Natural" in str(one["id"]) and one["judge"] == "GPT-4"
    ]
    for strategy in sorted({str(one["strategy"]) for one in records}):
        own = [one for one in records if one["strategy"] == strategy]
        orders = [
            (str(one["winner_swap_False"]), str(one["winner_swap_True"]), str(one["label"]))
            for one in own
        ]
        right = fmean(fmean((one == true, other == true)) for one, other, true in orders)
        print(
            f"LLMBar GPT-4 {strategy}: {100 * right:.1f} / "
            f"{100 * fmean(one == other for one, other, _ in orders):.0f}"
        )


def rag25(data: Path, scratch: Path) -> None:
    """A recorded judge of RAG answers: what it calls anything but correct against what is not."""
    records = {str(one["id"]): one for one in read(data / "rag25.jsonl")}
    rows = [
        Instance({"mark": f"[[{name}]]", "response": str(one["response"])}, name)
        for name, one in records.items()
    ]
    labels = [
        Label(row=row.identity, criteria="right", annotator="author", design="random",
              option="PASS" if one["label"] == "Correct" else "FAIL")
        for row, one in zip(rows, records.values(), strict=True)
    ]  # fmt: skip
    dual = {
        name: one["judges"]["zarmaks_mistral_dual"]["core_passed"] == "True"
        for name, one in records.items()
    }  # type: ignore[index]
    critic = AspectCritic(
        "Is it right?", says(lambda name: "PASS" if dual[name] else "FAIL"), name="right"
    )
    critic.evaluate(rows, run=scratch / "rag25")
    (found,) = calibrate_run(scratch / "rag25", labels, settings=settings("drop"))
    scores = found.agreement.classes["FAIL"] if found.agreement else {}
    more = " / ".join(
        f"{100 * (scores[name].value or 0):.1f}" for name in ("precision", "recall", "F1")
    )
    kept = found.confusion.sensitivity
    print(
        f"rag25, of wrong answers: {shown(found, 'accuracy')} / {more} / specificity "
        f"{100 * ((kept and kept.value) or 0):.1f}"
    )


def main() -> None:
    """All that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data: Path = parser.parse_args().data
    with tempfile.TemporaryDirectory() as made:
        pandalm(data, Path(made))
        agent_cases(data, Path(made))
        rag25(data, Path(made))
    llmbar(data)


if __name__ == "__main__":
    main()
