"""The names of messages and structures as their modules, field tables and functions have them."""

import re
from typing import Final

_WORD_START: Final = re.compile(r"(?<!^)(?=[A-Z])")


def snake_case(name: str) -> str:
    """`OffsetForLeaderEpoch` as `offset_for_leader_epoch`."""
    return _WORD_START.sub("_", name).lower()
