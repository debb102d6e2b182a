"""How long to wait between attempts: doubling from a first wait up to a longest, with 20 % jitter (KIP-580).

Backoff(100, 1000, chance)   .after(0) about 100 ms, .after(1) about 200, .after(4) and later about 1000
                             .after_refusal(CONCURRENT_TRANSACTIONS, 0) 20 ms, then 40, 80, ...
"""

from dataclasses import dataclass
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode

_JITTER: Final = 0.2
_DOUBLINGS_MAX: Final = 30
# The markers of a producer's last transaction are written within milliseconds.
_CONCURRENT_MS: Final = 20
_CONCURRENT_DOUBLINGS_MAX: Final = 10


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

    def after_refusal(self, code: ErrorCode, failures: int) -> int:
        """`after`, for a refusal with this code: shorter where the reason passes within milliseconds."""
        wait_ms = self.after(failures)
        if code is ErrorCode.CONCURRENT_TRANSACTIONS:
            return min(wait_ms, _CONCURRENT_MS << min(failures, _CONCURRENT_DOUBLINGS_MAX))
        return wait_ms
