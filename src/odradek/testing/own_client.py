"""The client of the tests' own verbs, such as `broker.records`; faults for all clients do not affect it."""

from odradek.client.configuration import ClientConfig
from odradek.server.faults.rules import HELPERS_CLIENT_ID


def own_client(bootstrap_servers: str) -> ClientConfig:
    """The configuration of a client that only a fault which names it applies to."""
    return ClientConfig(bootstrap_servers, client_id=HELPERS_CLIENT_ID)
