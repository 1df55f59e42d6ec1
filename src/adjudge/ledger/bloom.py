"""Whether a key may be in the ledger, in constant memory: a "no" is certain, and spares a question to the file."""

from __future__ import annotations

_BITS = 1 << 26
_MASK = _BITS - 1


class BloomFilter:
    """A Bloom filter of eight megabytes: of two million keys, about one in two hundred unknown ones is taken for known."""

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, key: bytes) -> None:
        """From now on ``key`` may be known. Keys are hashes, so their own bits are as good as any."""
        number = int.from_bytes(key[:8], "little")
        for bit in (number & _MASK, (number >> 32) & _MASK):
            self._bits[bit >> 3] |= 1 << (bit & 7)

    def __contains__(self, key: bytes) -> bool:
        number = int.from_bytes(key[:8], "little")
        one, two = number & _MASK, (number >> 32) & _MASK
        return bool(self._bits[one >> 3] >> (one & 7) & self._bits[two >> 3] >> (two & 7) & 1)
