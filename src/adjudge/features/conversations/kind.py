"""The kind ``conversation`` of judges in eval files: its simulated users, and how conversations
with the file's targets are held and judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from adjudge.core.data.dataset import OddRows
from adjudge.core.domain.instance import Instance
from adjudge.core.gateway.opener import ModelLike, OpenModel, open_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.reading.types import (
    Flag,
    Number,
    Record,
    Text,
    WholeNumber,
    Word,
    key,
)
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.features.conversations.judge import ConversationJudge
from adjudge.features.conversations.rows import conversation_rows
from adjudge.features.conversations.simulation import SharedTalks, simulated_first
from adjudge.features.conversations.talk import (
    SESSIONS,
    Session,
    Talker,
    TalkLimits,
    UserKind,
)
from adjudge.runs.builder import JudgeKind, Models, ready_judge
from adjudge.runs.eval_file import EvalFile, FieldsRead, JudgeEntry
from adjudge.runs.project import ModelEntry
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.targets import Variant
from adjudge.runs.variants import variants_of

WITHOUT_MODEL: Mapping[str, UserKind] = {"script": "script", "rules": "rules", "replay": "replay"}


_COUNT = WholeNumber(least=1)


@dataclass(frozen=True, kw_only=True)
class ConversationEntry(JudgeEntry):
    """Conversations of simulated users: how they came out, and whose fault that is."""

    user: ModelEntry | None = key(
        Record(ModelEntry, short="model"),
        "Who simulates the users: a model; rules, which tell facts when asked; script, the "
        "messages of each scenario; replay, the user's messages of a run or a cassette. Without "
        "it: the script of a scenario that has one, else rules.",
        None,
    )
    session: Session = key(
        Word[Session](SESSIONS),
        "What the application keeps. stateless: nothing, it gets all messages each time. "
        "idempotent: it repeats its answer to the same turn_key. reset: a broken conversation "
        "begins again in a new session. stateful: a broken conversation is lost.",
        "stateless",
    )
    max_turns: int = key(_COUNT, "Maximum number of user messages, unless set in the scenario.", 10)
    max_tokens: int | None = key(_COUNT, "Maximum tokens per conversation.", None)
    max_usd: float | None = key(Number(above=0), "Maximum cost per conversation.", None)
    max_seconds: float | None = key(
        Number(above=0), "Maximum time for the answers of one conversation.", None
    )
    stop_at_state: bool = key(
        Flag(), "End a conversation as soon as the expected state is reached.", False
    )
    parallel: int | None = key(_COUNT, "Maximum concurrent conversations.", None)
    from_turn: int | None = key(
        _COUNT,
        "Continue the conversations of the run in data from this user message, with the target "
        "of this file.",
        None,
    )
    role: str | None = key(
        Text(), "The role of the application, for criteria that read the field role.", None
    )
    judge_user: bool = key(
        Flag(), "Ask the models whether the user behaved as the scenario describes.", False
    )

    @property
    def talker_kind(self) -> UserKind:
        """The kind of simulated user; by default the script of a scenario that has one, else
        rules.
        """
        if self.user is None:
            return "script or rules"
        return WITHOUT_MODEL.get(self.user.model, "model")

    @property
    def own_models(self) -> tuple[ModelEntry, ...]:
        return tuple(entry for _, entries in self.named_models() for entry in entries)

    def named_models(self) -> Iterator[tuple[str, Sequence[ModelEntry]]]:
        yield from super().named_models()
        if self.user and self.talker_kind == "model":
            yield "user", (self.user,)

    @property
    def asks_no_model(self) -> bool:
        return not self.judge_user and not self.models

    @property
    def reads_traces(self) -> bool:
        return True

    @property
    def talks_to_target(self) -> bool:
        return True

    def read_traces(
        self, file: EvalFile, tell: Callable[[OddRows], None], limit: int | None
    ) -> Iterator[Instance]:
        return islice(conversation_rows(file, self, tell), limit)

    def fields_read(self, file: EvalFile) -> FieldsRead:  # noqa: ARG002
        return FieldsRead()

    def after_targets(
        self,
        file: EvalFile,
        made: Sequence[ReadyJudge],
        opened: Callable[[ModelEntry], ModelLike],
        prices: PriceTable,
    ) -> list[ReadyJudge]:
        """Make all judges in the file judge the conversations that are held with its targets.

        Without a target, the conversations come from the data.
        """
        reading_judge = next(judge for judge in file.judges if judge.reads_traces)
        if reading_judge is not self:
            place = Place(str(file.path), line=reading_judge.line)
            raise place.wrong(
                "the judge of kind conversation reads the rows, so it must come first"
            )
        if not file.target:
            if self.user is not None:
                raise Place(str(file.path), line=self.line).wrong(
                    "a simulated user needs an application to talk to: add a target"
                )
            if self.from_turn is not None:
                raise Place(str(file.path), field="from_turn", line=self.line).wrong(
                    "conversations are continued with an application: add a target"
                )
            return list(made)
        safe_file = file
        if self.session in ("stateful", "reset"):
            # what may have acted is never sent again
            target = tuple(replace(entry, max_retries=0) for entry in file.target)
            safe_file = replace(file, target=target)
        talks, talker = SharedTalks(), self._talker(opened, prices)
        try:
            variants = variants_of(safe_file, opened)
            simulated = [
                simulated_first(
                    ready,
                    variants,
                    talker,
                    talks,
                    is_counted=number == 0,
                    parallel=self.parallel,
                    role=self.role,
                )
                for number, ready in enumerate(made)
            ]
        except SetupError as error:
            raise Place(str(file.path), field="target").wrong("{error}", error=error) from error
        self._refuse_unpriced(talker, variants, Place(str(file.path), line=self.line))
        return simulated

    def _refuse_unpriced(self, talker: Talker, variants: Sequence[Variant], place: Place) -> None:
        """Raise a SetupError if max_usd is set and a price is unknown: nothing would be counted."""
        if self.max_usd is None:
            return
        models = [variant.model for variant in variants]
        asked = [*([talker.model] if talker.model else []), *models]
        unknown = dict.fromkeys(
            model.name for model in asked if talker.prices.of(model.name) is None
        )
        if unknown:
            raise place.wrong(
                "no price for model {unknown}, so max_usd of a conversation cannot be enforced: "
                "give the price in a file of prices (ADJUDGE_PRICES, or prices in adjudge.toml), "
                "or use max_tokens",
                unknown=", ".join(unknown),
            )

    def _talker(self, opened: Callable[[ModelEntry], ModelLike], prices: PriceTable) -> Talker:
        model: OpenModel | None = None
        if self.user is not None and self.talker_kind == "model":
            opened_model: Any = opened(self.user)
            model = (
                opened_model if isinstance(opened_model, OpenModel) else open_model(opened_model)
            )
        return Talker(
            self.talker_kind,
            model,
            self.session,
            TalkLimits(
                max_turns=self.max_turns,
                max_tokens=self.max_tokens,
                max_usd=self.max_usd,
                max_seconds=self.max_seconds,
            ),
            self.stop_at_state,
            self.seed,
            prices,
        )


def _make(file: EvalFile, entry: ConversationEntry, models: Models) -> list[ReadyJudge]:
    if entry.per not in ("row", "conversation"):
        raise SetupError("kind conversation judges whole conversations: leave per out")
    judge = ConversationJudge(
        models if entry.judge_user or entry.models else None,
        entry.votes,
        file.language,
        entry.temperature,
        entry.seed,
    )
    ready = ready_judge(file, replace(entry, per="row"), entry.name or "conversation", judge)
    return [replace(ready, criteria=judge.criteria, each_row=judge.rows, per="row")]


CONVERSATION = JudgeKind(ConversationEntry, _make)
