"""How long to wait between attempts: doubling from a first wait up to a longest, with 20 % jitter (KIP-580).

Backoff(100, 1000, chance)   .after(0) about 100 ms, .after(1) about 200, .after(4) and later about 1000
"""

from dataclasses import dataclass
from typing import Final

from odradek.base.chance import Chance

_JITTER: Final = 0.2
_DOUBLINGS_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits of one kind of attempt."""

    first_ms: int
    longest_ms: int
    chance: Chance

    def after(self, failures: int) -> int:
        """The ms to wait after this many earlier failures in a row; at least 1, never above the longest."""
        whole_ms = min(self.longest_ms, self.first_ms << min(failures, _DOUBLINGS_MAX))
        jitter = 1 - _JITTER + 2 * _JITTER * self.chance.fraction()
        return max(1, min(self.longest_ms, int(whole_ms * jitter)))
