"""adjudge: judge the answers of language models, and know how sure the judgment is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME_OF = {
    "AdjudgeError": "errors",
    "AspectCritic": "judges.aspect",
    "AspectResult": "domain.results",
    "Ballot": "domain.ballot",
    "BudgetSpent": "errors",
    "Capabilities": "domain.message",
    "Criteria": "domain.criteria",
    "CriteriaOption": "domain.criteria",
    "DirectInstance": "domain.instance",
    "Instance": "domain.instance",
    "Model": "gateway.model",
    "ModelError": "errors",
    "Outcome": "domain.vote",
    "PairwiseInstance": "domain.instance",
    "RateLimited": "errors",
    "Refused": "errors",
    "Reply": "domain.message",
    "Request": "domain.message",
    "RunError": "errors",
    "ScriptedModel": "gateway.providers.scripted",
    "SetupError": "errors",
    "Status": "domain.results",
    "Unavailable": "errors",
    "Usage": "domain.message",
    "Verdict": "domain.vote",
    "Vote": "domain.vote",
    "open_model": "gateway.open",
}
__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605

if TYPE_CHECKING:
    from adjudge.domain.ballot import Ballot as Ballot
    from adjudge.domain.criteria import Criteria as Criteria
    from adjudge.domain.criteria import CriteriaOption as CriteriaOption
    from adjudge.domain.instance import DirectInstance as DirectInstance
    from adjudge.domain.instance import Instance as Instance
    from adjudge.domain.instance import PairwiseInstance as PairwiseInstance
    from adjudge.domain.message import Capabilities as Capabilities
    from adjudge.domain.message import Reply as Reply
    from adjudge.domain.message import Request as Request
    from adjudge.domain.message import Usage as Usage
    from adjudge.domain.results import AspectResult as AspectResult
    from adjudge.domain.results import Status as Status
    from adjudge.domain.vote import Outcome as Outcome
    from adjudge.domain.vote import Verdict as Verdict
    from adjudge.domain.vote import Vote as Vote
    from adjudge.errors import AdjudgeError as AdjudgeError
    from adjudge.errors import BudgetSpent as BudgetSpent
    from adjudge.errors import ModelError as ModelError
    from adjudge.errors import RateLimited as RateLimited
    from adjudge.errors import Refused as Refused
    from adjudge.errors import RunError as RunError
    from adjudge.errors import SetupError as SetupError
    from adjudge.errors import Unavailable as Unavailable
    from adjudge.gateway.model import Model as Model
    from adjudge.gateway.open import open_model as open_model
    from adjudge.gateway.providers.scripted import ScriptedModel as ScriptedModel
    from adjudge.judges.aspect import AspectCritic as AspectCritic


def __getattr__(name: str) -> object:
    """Load a public name when it is first used, so that ``import adjudge`` stays light."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'adjudge' has no attribute {name!r}")
    value: object = getattr(import_module(f"adjudge.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
