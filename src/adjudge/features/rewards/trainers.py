"""Rewards in the call signatures of trainers: TRL, verifiers and OpenRLHF.

None of them is imported here. A failed vote becomes each one's notion of "no reward", never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

from adjudge.core.aio import event_loop
from adjudge.errors import RunError, SetupError
from adjudge.features.rewards.reward import Reward
from adjudge.features.rewards.rollouts import Rollouts
from adjudge.features.rewards.texts import text_of
from adjudge.features.rewards.values import RewardValue
from adjudge.messages import Message

OnMissing = Literal["raise", "drop"]
ON_MISSING = ("raise", "drop")


class NoReward(BaseException):
    """A completion has no reward, and the trainer would count any Exception as 0.

    Not an Exception on purpose: verifiers before 0.4 logs every Exception of a reward function and
    goes on with 0.0.
    """


# -- TRL -------------------------------------------------------------------------


def trl_reward(reward: Reward) -> Callable[..., Coroutine[Any, Any, list[float | None]]]:
    """Return an async reward function for GRPOTrainer and RLOOTrainer.

    A completion without a reward is None, and leaves its group. That holds only if it is the only
    reward function: next to others TRL counts None as 0. Give rule rewards to ``Reward`` as parts
    instead, and check with ``check_trl``.

    >>> trainer = GRPOTrainer(model, reward_funcs=trl_reward(reward), args=args, train_dataset=rows)
    >>> check_trl(trainer)
    """

    async def score(
        prompts: Sequence[object],
        completions: Sequence[object],
        log_extra: Callable[[str, list[Any]], object] | None = None,
        log_metric: Callable[[str, float], object] | None = None,
        **columns: object,
    ) -> list[float | None]:
        values = await reward.ascore(prompts, completions, columns)
        if log_metric is not None:
            missing = sum(value.value is None for value in values)
            log_metric(f"{reward.name}/missing", float(missing))
            if reward.watch is not None:
                log_metric(f"{reward.name}/watch_evidence", reward.watch.report().evidence)
        if log_extra is not None:
            log_extra(f"{reward.name}/reason", [str(value.reason or "") for value in values])
        return [value.value for value in values]

    score.__name__ = score.__qualname__ = reward.name
    return score


def check_trl(trainer: object) -> None:
    """Raise a SetupError if a TRL trainer would count a failed vote as 0."""
    functions = getattr(trainer, "reward_funcs", None)
    if not isinstance(functions, list):
        raise SetupError("{name} has no reward functions", name=type(trainer).__name__)
    if len(functions) > 1:
        raise SetupError(
            "with {count} reward functions, TRL counts a failed vote of one of them as 0: pass "
            "them to a single Reward as parts",
            count=len(functions),
        )


# -- verifiers ---------------------------------------------------------------------


class TraceReward:
    """Scores a task and its trace for verifiers from 0.4 on.

    Call it in a method with ``@vf.reward``, or use its ``score`` as that of a plugged judge. It
    raises a RunError if there is no reward: verifiers then fails the episode and tries it again.

    >>> judged = verifiers_reward(reward)
    >>> class MyTask(vf.Task[MyData, vf.State, MyConfig]):
    ...     @vf.reward
    ...     async def answers(self, task, trace) -> float:
    ...         return await judged(task, trace)
    """

    def __init__(self, reward: Reward, view: Literal["last_reply", "transcript"]) -> None:
        self.reward, self.view = reward, view

    @property
    def reward_name(self) -> str:
        """The name of the reward in traces."""
        return self.reward.name

    async def score(self, task: object, trace: object) -> float:
        """Return a trace's reward; raise a RunError if there is none."""
        columns = _task_columns(task)
        prompt = getattr(task, "prompt_text", None) or text_of(getattr(task, "prompt", None))
        (value,) = await self.reward.ascore([prompt], [getattr(trace, self.view)], columns)
        return _number(value, self.reward.name)

    __call__ = score


def verifiers_reward(
    reward: Reward, view: Literal["last_reply", "transcript"] = "last_reply"
) -> TraceReward:
    """Return a reward for verifiers from 0.4 on. ``view``: the part of the trace to judge."""
    return TraceReward(reward, view)


def verifiers_function(
    reward: Reward, retries: int = 2
) -> Callable[..., Coroutine[Any, Any, list[float]]]:
    """Return a group reward function for ``Rubric`` of verifiers before 0.4.

    There, None and any Exception count as 0.0. So completions without a reward are asked again
    ``retries`` times; then NoReward ends the training.

    >>> rubric = vf.Rubric(funcs=[verifiers_function(reward)])
    """

    async def score(
        prompts: Sequence[object],
        completions: Sequence[object],
        answers: Sequence[object] = (),
        infos: Sequence[object] = (),
    ) -> list[float]:
        columns = _info_columns(infos, len(completions))
        if any(answer not in (None, "") for answer in answers):
            columns.setdefault("reference", list(answers))
        try:
            values = await _score_with_retries(
                reward, Rollouts.of(prompts, completions, columns), retries
            )
            return [_number(value, reward.name) for value in values]
        except Exception as error:  # the caller would make it 0.0
            raise NoReward(str(error)) from error

    score.__name__ = score.__qualname__ = reward.name
    return score


# -- OpenRLHF ------------------------------------------------------------------------


def openrlhf_reward(
    reward: Reward, retries: int = 2, on_missing: OnMissing = "raise"
) -> Callable[[Sequence[str], Sequence[str], Sequence[object]], dict[str, Any]]:
    """Return ``reward_func(queries, prompts, labels)`` for the Python file that OpenRLHF loads.

    Completions without a reward are asked again ``retries`` times. Then ``on_missing="raise"`` ends
    the step, and "drop" returns NaN: only dynamic filtering drops the group of such a completion,
    without it NaN would be trained on. Labels are the field ``reference``.

    >>> reward_func = openrlhf_reward(reward)
    """
    if on_missing not in ON_MISSING:
        raise SetupError("on_missing must be 'raise' or 'drop', not {value!r}", value=on_missing)

    async def score(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object]
    ) -> dict[str, Any]:
        completions = [
            _after(query, prompt) for query, prompt in zip(queries, prompts, strict=True)
        ]
        columns = {"reference": list(labels)} if any(labels) else {}
        values = await _score_with_retries(
            reward, Rollouts.of(prompts, completions, columns), retries
        )
        if on_missing == "raise":
            numbers = [_number(value, reward.name) for value in values]
        else:
            numbers = [math.nan if value.value is None else value.value for value in values]
        return {
            "rewards": numbers,
            "scores": numbers,
            "extra_logs": {"missing": [float(value.value is None) for value in values]},
        }

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object]
    ) -> dict[str, Any]:
        return event_loop.run(score(queries, prompts, labels))

    return reward_func


def _after(query: str, prompt: str) -> str:
    """Return the answer that follows the prompt in a query.

    Raise a SetupError if the query does not begin with the prompt.
    """
    if not query.startswith(prompt):
        raise SetupError("the query does not begin with its prompt: {query!r}", query=query[:80])
    return query[len(prompt) :]


# -- all of them -----------------------------------------------------------------------


async def _score_with_retries(
    reward: Reward, rollouts: Rollouts, retries: int
) -> list[RewardValue]:
    """Return the values; ask again, up to `retries` times, for those without a reward."""
    values = await reward.ascore(rollouts.prompts, rollouts.completions, rollouts.columns)
    for _ in range(retries):
        missing = [place for place, value in enumerate(values) if value.value is None]
        if not missing:
            break
        # a ranking needs the whole group; the memory answers what has a verdict
        again = await reward.score_rollouts(rollouts)
        for place in missing:
            values[place] = again[place]
    return values


def _number(value: RewardValue, name: str) -> float:
    if value.value is None:
        raise RunError(
            "{name}: no reward: {reason}",
            name=name,
            reason=value.reason or Message("no verdict"),
        )
    return value.value


def _task_columns(task: object) -> dict[str, object]:
    """Return the task's data, without its prompt, as columns of one entry each."""
    dump = getattr(task, "model_dump", None)
    data = dump() if callable(dump) else vars(task) if hasattr(task, "__dict__") else {}
    return {name: [value] for name, value in data.items() if name != "prompt" and value is not None}


def _info_columns(infos: Sequence[object], count: int) -> dict[str, object]:
    """Return the entries of `infos` as columns; rows without one have None.

    Return nothing unless there is one info per completion.
    """
    rows = [info if isinstance(info, Mapping) else {} for info in infos]
    if len(rows) != count:
        return {}
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}
