"""Which APIs a broker says it serves, so that tests of an API are skipped until it is served."""

import functools
import socket
import struct

from peers.process import API_VERSIONS_REQUEST
from peers.waiting import WAIT_S_MAX

from odradek.wire.apis import APIS

# The answer in version 0: length, correlation id, error, count; then key, lowest and highest version.
HEAD = struct.Struct(">iihi")
ENTRY = struct.Struct(">hhh")


@functools.cache
def served_apis(bootstrap: str) -> frozenset[str]:
    """The names of the APIs in the broker's answer to ApiVersions."""
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S_MAX) as connection:
        connection.sendall(API_VERSIONS_REQUEST)
        with connection.makefile("rb") as answer:
            _, _, error, count = HEAD.unpack(answer.read(HEAD.size))
            assert error == 0, f"ApiVersions was answered with error {error}"
            keys = [key for key, _, _ in ENTRY.iter_unpack(answer.read(count * ENTRY.size))]
    return frozenset(APIS[key].name for key in keys if key in APIS)
