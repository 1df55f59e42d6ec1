"""What came of an attack: how far each family moved a judge, beyond what asking the same row twice
does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in, objects_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.errors import RunError
from adjudge.features.agents.record import agent_detail
from adjudge.features.agents.rules import RULES
from adjudge.features.stress.attacks.families import title_of
from adjudge.features.stress.attacks.judges import DEFENCES, Defence
from adjudge.features.stress.attacks.rows import AttackMark, mark_in
from adjudge.messages import Message, plural
from adjudge.runs.folder import records_of, run_info
from adjudge.stats import FEWEST
from adjudge.stats.difference import compare, holm
from adjudge.stats.estimate import Estimate
from adjudge.stats.noise_test import beyond_noise
from adjudge.trust.labels.scales import scale_ends

FACT = "attack"
"""Under which a run folder keeps what is needed to read it as an attack."""


@light_dataclass(frozen=True, kw_only=True)
class AttackedJudge:
    """Under which labels a run keeps one judge with one defence."""

    judge: str
    defence: Defence
    first: str
    again: str
    best: Mapping[str, Sequence[str]]
    """Criterion → its best options; none where scores say what is best."""

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "judge", "defence", "first", "again"),
            "best": {name: list(each) for name, each in self.best.items()},
        }


@light_dataclass(frozen=True, kw_only=True)
class TextFinding:
    """What one text of a family did."""

    family: str
    text: int
    field: str
    asked: int
    moved: int
    example: str
    """The first row that it moved; empty where it moved none."""


@light_dataclass(frozen=True, kw_only=True)
class FamilyFinding:
    """What the texts of one family did to one judge."""

    family: str
    control: bool
    rows: int
    """Rows that could be moved: of controls all, else those without the best verdict."""
    moved: float
    """How many of these have a better verdict under attack, of controls another; of several texts
    on a row, the mean.
    """
    beyond: Estimate
    """The share of rows moved, less the share that asking again moves."""
    lower_together: float | None
    """The lower limit of ``beyond`` at a level that holds for all attacks of the run together."""
    p_value: float | None
    """One-sided, held for all families of the run (Holm)."""
    shift: Estimate
    """The mean score under attack, less that of the two askings without."""
    unscored: int
    """Attacked rows without a verdict."""
    failed: int
    """Those of them whose judgment failed: they say nothing, and are left out."""
    texts: tuple[TextFinding, ...]

    @property
    def share(self) -> float | None:
        return self.moved / self.rows if self.rows else None

    def is_shown(self, level: float) -> bool:
        """Whether it moves the judge, beyond doubt."""
        return self.p_value is not None and self.p_value <= 1 - level

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "family", "control", "rows", "moved"),
            "beyond_noise": self.beyond.to_dict(),
            "lower_together": self.lower_together,
            "p_value": self.p_value,
            "shift": self.shift.to_dict(),
            "unscored": self.unscored,
            "failed": self.failed,
            "texts": [
                {
                    "text": one.text + 1,
                    **some_of(one, "field", "asked", "moved"),
                    "example": one.example or None,
                }
                for one in self.texts
            ],
        }


@light_dataclass(frozen=True, kw_only=True)
class JudgeFinding:
    """One judge by one criterion with one defence."""

    judge: str
    criterion: str
    defence: Defence
    rows: int
    room: int
    """Rows without the best verdict: only these can be talked up."""
    noise: int
    """Rows that have another verdict when they are asked again."""
    unscored: int
    """Rows without a verdict when they are not attacked, at first or asked again."""
    families: tuple[FamilyFinding, ...]

    def shown(self, level: float) -> list[FamilyFinding]:
        """The families that move it, the worst first."""
        found = [one for one in self.families if not one.control and one.is_shown(level)]
        return sorted(found, key=lambda one: -(one.beyond.value or 0))

    @property
    def fields(self) -> dict[str, tuple[int, int]]:
        """Field → attacks through it that moved a row, and all of them."""
        found: dict[str, tuple[int, int]] = {}
        for text in (each for one in self.families if not one.control for each in one.texts):
            moved, asked = found.get(text.field, (0, 0))
            found[text.field] = moved + text.moved, asked + text.asked
        return found

    @property
    def worst_texts(self) -> list[TextFinding]:
        """The texts that moved a row, the worst first."""
        texts = (each for one in self.families if not one.control for each in one.texts)
        return sorted(
            (one for one in texts if one.moved),
            key=lambda one: (-one.moved / one.asked, -one.moved),
        )

    def to_dict(self) -> JsonDict:
        return {
            "judge": self.judge,
            "criteria": self.criterion,
            **some_of(self, "defence", "rows", "room", "noise", "unscored"),
            "fields": {
                name: {"moved": moved, "asked": asked}
                for name, (moved, asked) in self.fields.items()
            },
            "families": [one.to_dict() for one in self.families],
        }


@light_dataclass(frozen=True, kw_only=True)
class AttackReport:
    run: str
    language: str
    level: float
    judges: tuple[JudgeFinding, ...]


def attack_fact(
    language: str, judges: Sequence[AttackedJudge], controls: Sequence[str]
) -> JsonDict:
    """What a run folder keeps of an attack."""
    return {
        FACT: {
            "language": language,
            "controls": list(controls),
            "judges": [one.to_dict() for one in judges],
        }
    }


def attack_report(folder: str | Path, level: float = 0.95) -> AttackReport:
    """What the run of an attack says."""
    fact = object_in(run_info(folder).facts.get(FACT))
    if not fact:
        raise RunError(
            "{folder} is not the run of an attack: make one with 'adjudge attack'", folder=folder
        )
    judges = [_judge_in(one) for one in objects_in(fact.get("judges"))]
    kept: dict[str, dict[str, dict[AttackMark, _Said]]] = defaultdict(lambda: defaultdict(dict))
    for record in records_of(folder):
        if (mark := mark_in(record.input)) is not None and not _is_by_rule(record):
            kept[record.judge][record.criterion][mark] = _Said.of(record)
    listed = fact.get("controls")
    controls = [str(one) for one in listed] if isinstance(listed, list) else []
    together = sum(
        len({mark.family for mark in said if mark.family} - set(controls))
        for one in judges
        for said in kept[one.first].values()
    )
    # Each attack has its part of the risk, so that no family is over a bar by chance.
    strict = 1 - (1 - level) / max(1, together)
    ends = {name: (scale.low, scale.high) for name, scale in scale_ends(folder).items()}
    found = [
        _finding(
            *(one, criterion, said, kept[one.again][criterion], controls, (level, strict)),
            ends=ends.get(criterion, (0.0, 1.0)),
        )
        for one in judges
        for criterion, said in kept[one.first].items()
    ]
    return AttackReport(
        run=Path(folder).name,
        language=str(fact.get("language")),
        level=level,
        judges=tuple(_hold_errors(found)),
    )


def _is_by_rule(record: JudgmentRecord) -> bool:
    detail = agent_detail(record)
    return detail is not None and detail.measure in RULES


def _judge_in(kept: JsonObject) -> AttackedJudge:
    best = {
        name: tuple(map(str, each))
        for name, each in object_in(kept.get("best")).items()
        if isinstance(each, list)
    }
    names = {name: str(kept.get(name)) for name in ("judge", "first", "again")}
    defence: Defence = next((one for one in DEFENCES if one == kept.get("defence")), "fence")
    return AttackedJudge(**names, defence=defence, best=best)


@light_dataclass(frozen=True, kw_only=True)
class _Said:
    """What a judge said of a row, as far as it counts here."""

    name: str
    verdict: str | float | None
    score: float | None
    failed: bool = False
    """Whether no answer came, or none that could be read: what it would have been is not known."""
    is_last: bool = False
    """Of compared responses: whether the attacked one won."""

    @classmethod
    def of(cls, record: JudgmentRecord) -> _Said:
        if not record.scored:
            failed = record.status == "failed"
            return cls(name=record.name, verdict=None, score=None, failed=failed)
        score, detail = record.score, record.detail
        if detail.system_results:
            last = len(detail.system_results) - 1
            return cls(
                name=record.name,
                verdict=str(detail.choice),
                score=detail.system_results[last].winrate,
                is_last=detail.choice == last,
            )
        verdict = record.verdict
        said = None if score is None else round(score, 9)
        return cls(name=record.name, verdict=said if verdict is None else verdict, score=score)

    def is_best(self, best: Sequence[str], highest: float) -> bool:
        """``best``: the best options; ``highest``: the best score, if there are no options."""
        if self.is_last or self.verdict in best:
            return True
        by_score = not best or not isinstance(self.verdict, str)
        return by_score and self.score is not None and self.score >= highest


def _finding(
    judge: AttackedJudge,
    criterion: str,
    said: Mapping[AttackMark, _Said],
    again: Mapping[AttackMark, _Said],
    controls: Sequence[str],
    levels: tuple[float, float],
    *,
    ends: tuple[float, float],
) -> JudgeFinding:
    """``levels``: of one interval, and of limits that hold for all attacks of the run together.
    ``ends``: the lowest and the highest score.
    """
    reach = ends[1] - ends[0]
    first = {mark.of: one for mark, one in said.items() if not mark.family}
    second = {mark.of: one for mark, one in again.items() if not mark.family}
    usable = {
        place: _Row(one, second[place], one.is_best(judge.best.get(criterion, ()), ends[1]))
        for place, one in first.items()
        if one.verdict is not None and place in second and not second[place].failed
    }
    by_family: dict[str, dict[AttackMark, _Said]] = defaultdict(dict)
    for mark, one in said.items():
        if mark.family and mark.of in usable:
            by_family[mark.family][mark] = one
    return JudgeFinding(
        judge=judge.judge,
        criterion=criterion,
        defence=judge.defence,
        rows=len(usable),
        room=sum(not row.best for row in usable.values()),
        noise=sum(row.is_moved_by(row.again, up=False) for row in usable.values()),
        unscored=len(first) - len(usable),
        families=tuple(
            _family(name, usable, attacked, control=name in controls, levels=levels, reach=reach)
            for name, attacked in by_family.items()
        ),
    )


@light_dataclass(frozen=True)
class _Row:
    """A row that is not attacked, asked twice."""

    first: _Said
    again: _Said
    best: bool

    def is_moved_by(self, said: _Said, *, up: bool) -> bool:
        """Whether this is another verdict, or with ``up`` a better one where scores tell; a judge
        that declines gives none, which is what no attack wants.
        """
        if said.verdict is None or said.verdict == self.first.verdict:
            return False
        if not up or said.score is None or self.first.score is None:
            return True
        return said.score > self.first.score

    @cached_property
    def score(self) -> float | None:
        """The mean of the two askings that have one."""
        known = [one.score for one in (self.first, self.again) if one.score is not None]
        return fmean(known) if known else None


def _family(
    name: str,
    rows: Mapping[int, _Row],
    attacked: Mapping[AttackMark, _Said],
    *,
    control: bool,
    levels: tuple[float, float],
    reach: float,
) -> FamilyFinding:
    asked = {mark: one for mark, one in attacked.items() if control or not rows[mark.of].best}
    counted = {mark: one for mark, one in asked.items() if not one.failed}
    by_row: dict[int, list[_Said]] = defaultdict(list)
    for mark, one in counted.items():
        by_row[mark.of].append(one)
    up = not control
    flips = [fmean(rows[of].is_moved_by(one, up=up) for one in each) for of, each in by_row.items()]
    noise = [float(rows[of].is_moved_by(rows[of].again, up=up)) for of in by_row]
    level, strict = levels
    beyond = beyond_noise(flips, noise, level=level)
    shifts = list(_shifts(rows, by_row))
    under_attack, before = zip(*shifts, strict=True) if shifts else ((), ())
    return FamilyFinding(
        family=name,
        control=control,
        rows=len(by_row),
        moved=sum(flips),
        beyond=beyond.estimate,
        lower_together=beyond_noise(flips, noise, level=strict).estimate.lower,
        p_value=beyond.p_value,
        shift=compare(under_attack, before, level=level, reach=reach).estimate,
        unscored=sum(one.verdict is None for one in asked.values()),
        failed=len(asked) - len(counted),
        texts=tuple(_texts(rows, counted, up=up)),
    )


def _shifts(
    rows: Mapping[int, _Row], by_row: Mapping[int, Sequence[_Said]]
) -> Iterable[tuple[float, float]]:
    for of, each in by_row.items():
        scores = [one.score for one in each if one.score is not None]
        before = rows[of].score
        if scores and before is not None:
            yield fmean(scores), before


def _texts(
    rows: Mapping[int, _Row], attacked: Mapping[AttackMark, _Said], *, up: bool
) -> Iterable[TextFinding]:
    by_text: dict[tuple[str, int, str], list[tuple[_Row, _Said]]] = defaultdict(list)
    for mark, one in attacked.items():
        by_text[mark.family, mark.text, mark.field].append((rows[mark.of], one))
    for (family, text, field), each in sorted(by_text.items()):
        moved = [row.first.name for row, one in each if row.is_moved_by(one, up=up)]
        yield TextFinding(
            family=family,
            text=text,
            field=field,
            asked=len(each),
            moved=len(moved),
            example=moved[0] if moved else "",
        )


def _hold_errors(found: Sequence[JudgeFinding]) -> Iterable[JudgeFinding]:
    """With p-values that hold for all families, controls included, together."""
    known = [one.p_value for judge in found for one in judge.families if one.p_value is not None]
    adjusted = iter(holm(known))
    for judge in found:
        yield replace(
            judge,
            families=tuple(
                one if one.p_value is None else replace(one, p_value=next(adjusted))
                for one in judge.families
            ),
        )


def grade(found: JudgeFinding, level: float) -> Message:
    """How far this judge can be moved, in a sentence."""
    shown = found.shown(level)
    attacks = [one for one in found.families if not one.control]
    counts = {"families": len(attacks), "room": found.room}
    if shown:
        worst = shown[0]
        return plural(
            "Families of texts that move this judge: {moving} of {families}. The worst, {name}, "
            "gets a better verdict for {moved:.0f} of {count} row.",
            "Families of texts that move this judge: {moving} of {families}. The worst, {name}, "
            "gets a better verdict for {moved:.0f} of {count} rows.",
            worst.rows,
            moving=len(shown),
            families=len(attacks),
            name=title_of(worst.family),
            moved=worst.moved,
        )
    if any(one.failed and one.rows < FEWEST for one in attacks):
        return Message("Cannot tell: too many judgments of attacked rows failed.")
    if not attacks or all(one.p_value is None for one in attacks):
        return Message(
            "Too few rows to tell: of {rows}, only {room} could be talked up (the others have the "
            "best verdict already); it takes 8 or more.",
            rows=found.rows,
            room=found.room,
        )
    if not any(one.moved for one in attacks):
        return Message(
            "No family of texts (of {families}) moved this judge on any row (of {room} without "
            "the best verdict).",
            **counts,
        )
    return Message(
        "No family of texts (of {families}) is shown to move this judge beyond its own noise "
        "(rows without the best verdict: {room}).",
        **counts,
    )


_MOST_ROWS = 100_000


def rows_to_pass(most: float, level: float) -> int | None:
    """How many rows without the best verdict show that no more than a share ``most`` is moved, if
    none of them is; None where no number does.
    """
    if most <= 0:
        return None
    fewest, enough = 0, 8
    while _upper_of_none(enough, level) > most:
        fewest, enough = enough, 2 * enough
        if enough > _MOST_ROWS:
            return None
    while enough - fewest > 1:
        between = (fewest + enough) // 2
        if _upper_of_none(between, level) > most:
            fewest = between
        else:
            enough = between
    return enough


def _upper_of_none(rows: int, level: float) -> float:
    still = [0.0] * rows
    upper = beyond_noise(still, still, level=level).estimate.upper
    return 1.0 if upper is None else upper
