"""Addresses of listeners: which ones are opened, and which ones are advertised to clients.

listeners                advertised.listeners       opened           advertised
PLAINTEXT://127.0.0.1:0                             127.0.0.1:40123  127.0.0.1:40123
PLAINTEXT://0.0.0.0:9092                            0.0.0.0:9092     this machine's name or address, 9092
PLAINTEXT://0.0.0.0:0    PLAINTEXT://kafka:443      0.0.0.0:40123    kafka:443
PLAINTEXT://0.0.0.0:9092 PLAINTEXT://0.0.0.0:9092   refused: no client can connect to 0.0.0.0
A://:9092,B://:9092                                 refused: one port cannot belong to two listeners
CONTROLLER://:9093       (controller.listener.names=CONTROLLER)      not opened, not advertised
"""

import socket
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings
from odradek.base.values import value

PLAINTEXT: Final = "PLAINTEXT"

# An address of a network reserved for documentation (RFC 5737): the route to it shows which of our addresses
# others see, and connecting a datagram socket sends nothing.
_ELSEWHERE: Final = ("192.0.2.1", 9)


@value
class ListenerAddress:
    """One entry of `listeners` or `advertised.listeners`."""

    name: str
    host: str
    port: int

    @property
    def is_wildcard(self) -> bool:
        """Whether it means every address of this machine, so that others cannot connect to it."""
        return not self.host or _packed(self.host) in (bytes(4), bytes(16))

    def __str__(self) -> str:
        """host:port as people write it; an empty host is shown as 0.0.0.0."""
        host = self.host or "0.0.0.0"
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


class ListenerPlan(NamedTuple):
    """The listeners to open and to advertise, by the settings."""

    opened: tuple[ListenerAddress, ...]
    # Empty: advertised as opened.
    advertised: tuple[ListenerAddress, ...]
    # Names of the listeners that only KRaft controllers use.
    for_controllers: tuple[str, ...]


def parse_listener(text: str) -> ListenerAddress:
    """Parse `PLAINTEXT://host:port`. Raises SettingError if `text` has another form."""
    name, separator, address = text.strip().partition("://")
    host, colon, port = address.rpartition(":")
    if not (name and separator and colon and port.isdecimal() and int(port) <= 65535):
        raise SettingError(f"a listener is written NAME://host:port, not '{text}'")
    return ListenerAddress(name.upper(), host.strip("[]"), int(port))


def plan_listeners(settings: BrokerSettings) -> ListenerPlan:
    """Returns the listeners to open and to advertise. Raises SettingError if Kafka would refuse to start."""
    given = [parse_listener(text) for text in settings.listeners]
    _refuse_repeated("listeners", given)
    _refuse_shared_ports(settings, given)
    controllers = {name.upper() for name in settings.controller_listener_names}
    opened = tuple(address for address in given if address.name not in controllers)
    if not opened:
        reason = "controller.listener.names names all of listeners" if given else "listeners is empty"
        raise SettingError(f"there is no listener for clients: {reason}")
    for address in opened:
        _refuse_other_protocols(settings, address)
    return ListenerPlan(
        opened,
        _advertised(settings, opened, controllers),
        tuple(address.name for address in given if address.name in controllers),
    )


def _advertised(
    settings: BrokerSettings, opened: tuple[ListenerAddress, ...], controllers: set[str]
) -> tuple[ListenerAddress, ...]:
    given = [parse_listener(text) for text in settings.advertised_listeners]
    _refuse_repeated("advertised.listeners", given)
    names = {address.name for address in opened}
    for address in given:
        if address.name not in names | controllers:
            raise SettingError(f"advertised.listeners names {address.name}, which listeners does not")
        if address.host and address.is_wildcard:
            raise SettingError(
                f"advertised.listeners cannot hold {address.host}: clients cannot connect to it; "
                f"name an address or a host that they can reach"
            )
    advertised = tuple(address for address in given if address.name in names)
    if given and not advertised:
        raise SettingError("advertised.listeners names no listener for clients")
    return advertised


def _refuse_repeated(setting: str, addresses: Iterable[ListenerAddress]) -> None:
    for name, times in Counter(address.name for address in addresses).items():
        if times > 1:
            raise SettingError(f"{setting} names {name} more than once")


def _refuse_shared_ports(settings: BrokerSettings, given: list[ListenerAddress]) -> None:
    """Raises SettingError if listeners share a port, unless one is IPv4 and the other IPv6, as in Kafka.

    The admin listener is on loopback; listeners of other addresses may have the same port.
    """
    for place, one in enumerate(given):
        for other in given[:place]:
            if one.port == other.port != 0 and {_family(one), _family(other)} != {4, 16}:
                raise SettingError(
                    f"the listeners {other.name} and {one.name} both want port {one.port}: "
                    "each needs a port of its own, unless one is an IPv4 and the other an IPv6 address"
                )
    controllers = {name.upper() for name in settings.controller_listener_names}
    admin = ListenerAddress("admin", settings.odradek_admin_host.strip("[]"), settings.odradek_admin_port)
    for one in given:
        if one.name not in controllers and admin.port == one.port > 0 and _overlap(admin, one):
            raise SettingError(
                f"the admin listener and the listener {one.name} both want port {one.port}: "
                "give odradek.admin.port (--admin-port) another one"
            )


def _family(address: ListenerAddress) -> int:
    """Returns 4 for an IPv4 address, 16 for an IPv6 address, 0 for a name."""
    return len(_packed(address.host) or b"")


def _overlap(one: ListenerAddress, other: ListenerAddress) -> bool:
    names = [address.host.lower().replace("localhost", "127.0.0.1") for address in (one, other)]
    if one.is_wildcard or other.is_wildcard:
        return {_family(one), _family(other)} != {4, 16}
    return names[0] == names[1]


def _refuse_other_protocols(settings: BrokerSettings, address: ListenerAddress) -> None:
    entries = (entry.partition(":") for entry in settings.listener_security_protocol_map)
    protocols = {name.strip().upper(): protocol.strip().upper() for name, _, protocol in entries}
    protocol = protocols.get(address.name)
    if protocol is None:
        raise SettingError(f"listener.security.protocol.map does not name the listener {address.name}")
    if protocol != PLAINTEXT:
        raise SettingError(f"the listener {address.name} wants {protocol}; only {PLAINTEXT} is served yet")


def own_host(
    name: Callable[[], str] = socket.getfqdn,
    resolve: Callable[[str], list[str]] | None = None,
    outward: Callable[[], str | None] | None = None,
) -> str:
    """Returns this machine's name, or its outward address if the name resolves to loopback only.

    Returns "localhost" on a machine without a network.
    """
    found = name()
    if any(not _is_loopback(address) for address in (resolve or _addresses_of)(found)):
        return found
    return (outward or _outward_address)() or "localhost"


def _addresses_of(name: str) -> list[str]:
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None)]
    except OSError:
        return []


def _outward_address() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if _is_loopback(address) else address


def _is_loopback(address: str) -> bool:
    packed = _packed(address)
    return packed is not None and (packed[:1] == b"\x7f" if len(packed) == 4 else packed == bytes(15) + b"\1")


def _packed(host: str) -> bytes | None:
    """Returns the bytes of an address in network order; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, host)
        except OSError:
            continue
    return None
