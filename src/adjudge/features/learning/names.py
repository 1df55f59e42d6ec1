"""The names that scripts import from ``adjudge``. They need numpy, which is loaded first."""

from __future__ import annotations

from adjudge.features.local.libraries import import_numpy

import_numpy()  # says how to install it if it is missing, and loads it with one thread

from adjudge.features.learning.learner import LearnedJudge, LearnSettings  # noqa: E402

__all__ = ["LearnSettings", "LearnedJudge"]
