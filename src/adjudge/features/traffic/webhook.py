"""Send alarms to an address of the user."""

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
    """Sends each alarm as JSON by POST, once for as long as it lasts. If sending fails, the next
    call tries again.
    """

    url: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and parts.port != 0 and parts.hostname
        except ValueError:
            is_address = False
        if not is_address or not self.url.isascii():
            raise SetupError(
                "--webhook takes an address that begins with http:// or https://, not {url!r}",
                url=self.url,
            )

    def tell(self, intake: Intake, alarms: tuple[Alarm, ...]) -> Message | None:
        """Send alarms that were not sent yet; return a message if that fails."""
        now = {f"{raised.judge}\0{raised.criterion}\0{raised.bar}" for raised in alarms}
        sent = {name: True for name in intake.fact(_TOLD) if name in now}
        intake.keep_fact(_TOLD, sent)
        for alarm in alarms:
            name = f"{alarm.judge}\0{alarm.criterion}\0{alarm.bar}"
            if name in sent:
                continue
            try:
                self._send(alarm)
            except (OSError, HTTPException) as error:
                return Message(
                    "the alarm could not be sent to {host}, and will be sent again: {reason}",
                    host=urlsplit(self.url).netloc.rpartition("@")[2],
                    reason=reason_of(error) if isinstance(error, OSError) else repr(error),
                )
            sent[name] = True
            intake.keep_fact(_TOLD, sent)
        return None

    def _send(self, alarm: Alarm) -> None:
        body = json.dumps({**alarm.to_dict(), "message": str(alarm.sentence())}).encode()
        request = Request(self.url, body, {"Content-Type": "application/json"})  # noqa: S310
        with urlopen(request, timeout=_PATIENCE):  # noqa: S310 - http or https, as checked above
            pass
