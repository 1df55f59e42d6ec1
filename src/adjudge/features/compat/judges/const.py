"""Settings for ``open_model`` under EvalAssist's path."""

from typing import TypedDict


class InferenceParams(TypedDict):
    """Parameters of ``open_model(…, **params)``."""

    temperature: float
    seed: int


DEFAULT_JUDGE_INFERENCE_PARAMS: InferenceParams = {"temperature": 0.0, "seed": 42}
