"""TCP connections whose other machine has vanished end, also where nothing is sent.

A machine that loses its power or its network sends nothing, so the other end of a connection does not learn
of it. The system asks an idle peer after IDLE_S whether it is there, and ends the connection when COUNT
questions had no answer. Data that nobody acknowledges ends it after UNACKNOWLEDGED_MS. A request that waits
for its answer has a deadline; this is for the other end, and for connections without a request.

The system's own times are two hours for idle connections and about fifteen minutes for data.
"""

import os
import socket
from typing import Final

IDLE_S: Final = 20
INTERVAL_S: Final = 5
COUNT: Final = 4
UNACKNOWLEDGED_MS: Final = 1_000 * (IDLE_S + INTERVAL_S * COUNT)

_OPTIONS: Final = (
    ("TCP_KEEPIDLE", IDLE_S),
    ("TCP_KEEPALIVE", IDLE_S),  # macOS's name of the same
    ("TCP_KEEPINTVL", INTERVAL_S),
    ("TCP_KEEPCNT", COUNT),
    ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS),  # only Linux has it
)


def keep_alive(descriptor: int) -> None:
    """Set this on a TCP socket; the connections that a listening socket accepts inherit it."""
    with socket.socket(fileno=os.dup(descriptor)) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, setting in _OPTIONS:
            option = getattr(socket, name, None)
            if option is not None:
                same.setsockopt(socket.IPPROTO_TCP, option, setting)
