"""Another name of a module of ``features``: EvalAssist's scripts import from here."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

from adjudge.plugins import ALIASES, resolve

sys.modules[__name__] = cast(ModuleType, resolve(ALIASES[__name__]))
