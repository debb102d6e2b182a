"""What may stand between a connection and its transport: nothing, or what a test puts there."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

Guard: TypeAlias = Callable[[asyncio.BufferedProtocol], asyncio.BufferedProtocol]
"""Returns the protocol that the transport gets instead of this one."""


def unguarded(protocol: asyncio.BufferedProtocol) -> asyncio.BufferedProtocol:
    """Returns the protocol itself."""
    return protocol
