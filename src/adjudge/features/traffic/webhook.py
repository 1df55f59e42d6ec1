"""Alarms, sent to an address of the user's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from adjudge.errors import SetupError
from adjudge.features.traffic.intake import Intake
from adjudge.features.traffic.rates import Alarm
from adjudge.messages import Message, reason_of

_PATIENCE = 10.0
_TOLD = "told"


@dataclass(frozen=True)
class Webhook:
    """Is sent every alarm once, as JSON by POST; one that it did not take is sent again."""

    url: str

    def __post_init__(self) -> None:
        try:
            found = urlsplit(self.url)
            is_address = found.scheme in ("http", "https") and found.port != 0 and found.hostname
        except ValueError:
            is_address = False
        if not is_address or not self.url.isascii():
            raise SetupError(
                "--webhook takes an address that begins with http:// or https://, not {url!r}",
                url=self.url,
            )

    def tell(self, intake: Intake, alarms: tuple[Alarm, ...]) -> Message | None:
        """Send those that were raised since; why it could not be done, where it could not."""
        now = {f"{one.judge}\0{one.criterion}\0{one.bar}" for one in alarms}
        told = {name: True for name in intake.fact(_TOLD) if name in now}
        intake.keep_fact(_TOLD, told)
        for alarm in alarms:
            name = f"{alarm.judge}\0{alarm.criterion}\0{alarm.bar}"
            if name in told:
                continue
            try:
                self._send(alarm)
            except (OSError, HTTPException) as error:
                return Message(
                    "the alarm could not be sent to {host}, and is sent again: {reason}",
                    host=urlsplit(self.url).netloc.rpartition("@")[2],
                    reason=reason_of(error) if isinstance(error, OSError) else repr(error),
                )
            told[name] = True
            intake.keep_fact(_TOLD, told)
        return None

    def _send(self, alarm: Alarm) -> None:
        body = json.dumps({**alarm.to_dict(), "message": str(alarm.sentence())}).encode()
        request = Request(self.url, body, {"Content-Type": "application/json"})  # noqa: S310
        with urlopen(request, timeout=_PATIENCE):  # noqa: S310 - http or https, as checked above
            pass
