"""One judge with one of its criteria, and its name."""

from __future__ import annotations

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import join


def of_system(name: str, system: str) -> str:
    """Append the system, if there is one, to a name, as reports do: ``name [system]``."""
    return join("", (name, f" [{system}]")) if system else name


@light_dataclass(frozen=True)
class JudgeCriterion:
    """Base of reports about one judge and one of its criteria."""

    judge: str
    criteria: str

    @property
    def name(self) -> str:
        """The judge's name, followed by the criterion's if that differs."""
        if self.criteria in ("", self.judge) or self.judge.startswith(f"{self.criteria} ["):
            return self.judge
        return join(": ", (self.judge, self.criteria))
