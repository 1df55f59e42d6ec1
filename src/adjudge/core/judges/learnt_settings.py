"""Settings learned from human labels: thresholds of cascades, weights of panels and temperatures.

They are stored in one small file.

Each is bound to the identity of its judge, and refused for any other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of
from adjudge.stats.threshold import Threshold

if TYPE_CHECKING:
    pass

FORMAT = "adjudge calibration 1"
UNKNOWN_DAY = Message("an unknown date")
"""Stands for the date of labels without a time; files keep its English words."""


def day_of(date: object) -> object:
    """Return a stored date; the words for an unknown date become a translatable message."""
    return UNKNOWN_DAY if date == str(UNKNOWN_DAY) else date


@light_dataclass(frozen=True, kw_only=True)
class FromLabels:
    """A setting that was learned from human labels under one criterion."""

    criteria: str
    labels: int
    """Rows whose labels it was learned from."""
    date: str
    """The date of the last of these labels."""
    what: ClassVar[str]
    again: ClassVar[str]
    """Advice on how to learn it again."""

    @property
    def source(self) -> str:
        """Describe the labels that it comes from."""
        return Message("{labels} labels of {date}", labels=self.labels, date=day_of(self.date))


@light_dataclass(frozen=True, kw_only=True)
class CascadeThresholds(FromLabels):
    """The thresholds of a cascade under one criterion, with their guaranteed risk."""

    risk: float
    """The greatest share of errors among accepted verdicts."""
    delta: float
    """The chance that this promise fails."""
    steps: tuple[Threshold, ...]
    what: ClassVar[str] = Message("thresholds of a cascade")
    again: ClassVar[str] = Message(
        "calibrate it with 'adjudge calibrate RUN --cascade -o FILE', or with --probabilities if "
        "it has one step"
    )

    def check(self, identities: Mapping[str, str]) -> None:
        """Raise a SetupError if the steps are not those that this was learned for.

        ``identities``: step → identity.
        """
        learnt = [threshold.step for threshold in self.steps]
        if learnt != list(identities):
            raise SetupError(
                "the thresholds for {criteria!r} were learned for the steps {learnt}, but this "
                "cascade has {identities}: {again}",
                criteria=self.criteria,
                learnt=", ".join(learnt),
                identities=", ".join(identities),
                again=self.again,
            )
        for threshold in self.steps:
            if threshold.identity != identities[threshold.step]:
                what = Message(
                    "the threshold of {step} for {criteria!r}",
                    step=threshold.step,
                    criteria=self.criteria,
                )
                raise _identity_error(
                    what, threshold.identity, identities[threshold.step], self.again
                )


@light_dataclass(frozen=True, kw_only=True)
class LearntWeights(FromLabels):
    """The weight of each model of a panel, learned from human labels."""

    weights: Mapping[str, float]
    identity: str
    """The identity of the panel, without its weights."""
    what: ClassVar[str] = Message("weights of a panel")
    again: ClassVar[str] = Message("calibrate it with 'adjudge calibrate RUN -o FILE'")

    @property
    def source(self) -> str:
        """Describe the labels and the judge that they come from."""
        return Message(
            "{source}, judge identity {identity}", source=super().source, identity=self.identity
        )

    def check(self, identity: str) -> None:
        """Raise a SetupError if the panel is not the one that this was learned for."""
        if identity != self.identity:
            raise _identity_error(
                Message("the weights for {criteria!r}", criteria=self.criteria),
                self.identity,
                identity,
                self.again,
            )


@light_dataclass(frozen=True, kw_only=True)
class LearntTemperature(FromLabels):
    """The temperature that calibrates one model's probabilities, learned from human labels."""

    model: str
    temperature: float
    identity: str
    """The identity of the judge."""
    step_identity: str = ""
    """Its identity as a step of a cascade; empty in files of versions that had none."""
    what: ClassVar[str] = Message("temperature")
    again: ClassVar[str] = Message("learn it with 'adjudge calibrate RUN --probabilities -o FILE'")

    def check(self, identity: str) -> None:
        """Raise a SetupError for another judge: a calibration does not carry over."""
        if identity != self.identity:
            what = Message("the temperature for {criteria!r}", criteria=self.criteria)
            raise _identity_error(what, self.identity, identity, self.again)


def _identity_error(what: str, learnt: str, now: str, again: str) -> SetupError:
    return SetupError(
        "{what} cannot be used, because the judge has changed: its identity was {learnt} and is "
        "now {now} (another model, prompt, criterion or setting); {again}",
        what=what,
        learnt=learnt,
        now=now,
        again=again,
    )


T = TypeVar("T", CascadeThresholds, LearntWeights, LearntTemperature)


@light_dataclass(frozen=True)
class Learnt:
    """The content of a calibration file, by kind.

    Example: ``Learnt.read("calibration.json").weights_for("concise")``
    """

    cascades: tuple[CascadeThresholds, ...] = ()
    weights: tuple[LearntWeights, ...] = ()
    temperatures: tuple[LearntTemperature, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Learnt:
        """Read a calibration file; raise a SetupError if it is not one."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(Message("another format"))
            return cls(
                tuple(map(_cascade, content["cascades"])),
                tuple(map(_weights, content["weights"])),
                tuple(map(_temperature, content.get("temperatures", ()))),
            )
        except OSError as error:
            raise SetupError(
                "the calibration {path} cannot be read: {reason}",
                path=path,
                reason=reason_of(error),
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(
                "{path} is not a calibration written by adjudge; create one with 'adjudge "
                "calibrate RUN -o FILE'",
                path=path,
            ) from error

    def write(self, path: str | Path) -> None:
        """Write the file atomically: readers never see half of it."""
        content = {
            "format": FORMAT,
            "cascades": plain(self.cascades),
            "weights": plain(self.weights),
        }
        if self.temperatures:
            content["temperatures"] = plain(self.temperatures)
        with written_whole(Path(path)) as file:
            file.write((json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode())

    def cascade_for(self, criteria: str) -> CascadeThresholds:
        """Return the thresholds for one criterion; raise a SetupError if there are none."""
        has_temperature = any(fitted.criteria == criteria for fitted in self.temperatures)
        if has_temperature and all(learnt.criteria != criteria for learnt in self.cascades):
            raise SetupError(
                "the calibration has a temperature for {criteria!r}, but no threshold: its labels "
                "did not support one. Label more rows, or accept a higher risk, and run 'adjudge "
                "calibrate RUN --probabilities -o FILE' again",
                criteria=criteria,
            )
        return _find(self.cascades, criteria, CascadeThresholds)

    def weights_for(self, criteria: str) -> LearntWeights:
        """Return the weights for one criterion; raise a SetupError if there are none."""
        return _find(self.weights, criteria, LearntWeights)

    def temperature_for(self, criteria: str) -> LearntTemperature:
        """Return the temperature for one criterion; raise a SetupError if there is none."""
        return _find(self.temperatures, criteria, LearntTemperature)

    def own_temperature(self, criteria: str, identity: str) -> dict[str, float]:
        """Return the temperature of a judge under the name ""; empty if none was learned for it."""
        fitting = (
            ("", fitted.temperature)
            for fitted in self.temperatures
            if (fitted.criteria, fitted.identity) == (criteria, identity)
        )
        return dict(fitting)

    def step_temperatures(self, criteria: str, identities: Mapping[str, str]) -> dict[str, float]:
        """Return step → temperature, for those steps of a cascade that one was learned for.

        ``identities``: step → identity.
        """
        return {
            step: fitted.temperature
            for step, identity in identities.items()
            for fitted in self.temperatures
            if (fitted.criteria, fitted.step_identity) == (criteria, identity)
        }


def _find(settings: Sequence[T], criteria: str, kind: type[T]) -> T:
    for setting in settings:
        if setting.criteria == criteria:
            return setting
    has = ", ".join(repr(setting.criteria) for setting in settings) or Message("none")
    raise SetupError(
        "the calibration contains no {what} for {criteria!r}; it has {has}: {again}",
        what=kind.what,
        criteria=criteria,
        has=has,
        again=kind.again,
    )


def _cascade(content: JsonObject) -> CascadeThresholds:
    match content:
        case {
            "criteria": str(criteria),
            "risk": float(risk),
            "delta": float(delta),
            "labels": int(labels),
            "date": str(date),
            "steps": list(steps),
        }:
            thresholds = tuple(map(_step, steps))
            return CascadeThresholds(
                criteria=criteria,
                risk=risk,
                delta=delta,
                labels=labels,
                date=date,
                steps=thresholds,
            )
    raise ValueError(Message("no thresholds of a cascade"))


def _step(content: JsonObject) -> Threshold:
    match content:
        case {
            "step": str(),
            "identity": str(),
            "confidence": float() | int() | None,
            "rows": int(),
        }:
            return Threshold(**content)  # type: ignore[arg-type]
    raise ValueError(Message("no threshold of a step"))


def _temperature(content: JsonObject) -> LearntTemperature:
    match content:
        case {
            "criteria": str(criteria),
            "labels": int(labels),
            "date": str(date),
            "model": str(model),
            "temperature": float() | int() as temperature,
            "identity": str(identity),
        } if 0 < temperature < math.inf:
            return LearntTemperature(
                criteria=criteria,
                labels=labels,
                date=date,
                model=model,
                temperature=float(temperature),
                identity=identity,
                step_identity=str(content.get("step_identity", "")),
            )
    raise ValueError(Message("no temperature"))


def _weights(content: JsonObject) -> LearntWeights:
    match content:
        case {
            "criteria": str(criteria),
            "weights": dict(weights),
            "labels": int(labels),
            "date": str(date),
            "identity": str(identity),
        }:
            shares = FrozenDict({str(name): float(weight) for name, weight in weights.items()})
            return LearntWeights(
                criteria=criteria, weights=shares, labels=labels, date=date, identity=identity
            )
    raise ValueError(Message("no weights of a panel"))
