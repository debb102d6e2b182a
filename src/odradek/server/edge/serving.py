"""The declaration of a handler: its API, the versions that it serves, and the KIPs that brought them.

ApiVersions, the registry and docs/compat.md derive from these declarations. Versions beyond them that `wire`
can decode are neither advertised nor served.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Serves(NamedTuple):
    """One API as its handler serves it; a module's `SERVES`."""

    key: int
    """The API key."""
    lowest: int
    highest: int
    """The versions that are handled, both included."""
    kips: Mapping[int, int]
    """The KIP that brought a version; versions that only came with a release of Kafka's are left out."""
    listed_from: int | None = None
    """The lowest version in ApiVersions answers, if that is not `lowest`."""
    by_controller: bool = False
    """Whether the controller decides it: another broker forwards it (R17), see `registry`."""
    by_brokers: bool = False
    """Whether brokers send it to each other, beside clients; `wire.apis` has what only brokers send."""
