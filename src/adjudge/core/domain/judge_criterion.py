"""What one judge says by one criterion, whatever is said of it."""

from __future__ import annotations

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import join


def of_system(name: str, system: str) -> str:
    """A name, with the system that it is about, as rows are named."""
    return join("", (name, f" [{system}]")) if system else name


@light_dataclass(frozen=True)
class JudgeCriterion:
    """Something about one judge and one of its criteria."""

    judge: str
    criteria: str

    @property
    def name(self) -> str:
        """The judge, and the criteria where that is not what the judge is called."""
        if self.criteria in ("", self.judge) or self.judge.startswith(f"{self.criteria} ["):
            return self.judge
        return join(": ", (self.judge, self.criteria))
