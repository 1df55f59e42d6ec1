"""Where a product has the same bits whatever else is multiplied beside it."""

from pathlib import Path
from platform import machine

_CPU = Path("/proc/cpuinfo")
SAME_BITS = machine() in ("aarch64", "arm64") or (
    _CPU.is_file() and "avx512_vnni" in _CPU.read_text(encoding="utf-8")
)
"""Compared on ARM and on x86 with AVX-512 and VNNI; elsewhere a bound is held."""
