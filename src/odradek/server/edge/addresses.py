"""Addresses of listeners: which ones are opened, which ones are advertised, and which one brokers use.

listeners                advertised.listeners       opened           advertised
PLAINTEXT://127.0.0.1:0                             127.0.0.1:40123  127.0.0.1:40123
PLAINTEXT://0.0.0.0:9092                            0.0.0.0:9092     this machine's name or address, 9092
PLAINTEXT://0.0.0.0:0    PLAINTEXT://kafka:443      0.0.0.0:40123    kafka:443
PLAINTEXT://0.0.0.0:9092 PLAINTEXT://0.0.0.0:9092   refused: no client can connect to 0.0.0.0
A://:9092,B://:9092                                 refused: one port cannot belong to two listeners
CONTROLLER://:9093       (controller.listener.names=CONTROLLER)      not opened, not advertised

Where the brokers of a cluster reach each other, with inter.broker.listener.name=BROKERS:

a broker alone in its cluster                BROKERS is a listener for clients like the others
odradek.cluster.directory                    BROKERS is for brokers alone; without the setting: Unix sockets
zookeeper.connect                            BROKERS is for brokers alone; without the setting: refused
BROKERS is the only listener of a cluster    refused: clients could not connect
"""

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings
from odradek.base.values import value

PLAINTEXT: Final = "PLAINTEXT"
_WITHOUT: Final = ", or remove the setting: brokers of one machine then use Unix sockets"
BROKERS: Final = "BROKERS"
"""The name of the listener between brokers, in descriptions."""

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
    # The name of the listener, one of both, that only brokers use; None if there is none.
    for_brokers: str | None = None

    @property
    def opened_to_clients(self) -> tuple[ListenerAddress, ...]:
        """The listeners that clients use; never empty."""
        return listeners_for_clients(self.opened, self.for_brokers)


def listeners_for_clients(
    addresses: Iterable[ListenerAddress], for_brokers: str | None
) -> tuple[ListenerAddress, ...]:
    """Returns the addresses without that of the listener for brokers alone; `for_brokers` is its name."""
    return tuple(address for address in addresses if address.name != for_brokers)


def parse_listener(text: str) -> ListenerAddress:
    """Parse `PLAINTEXT://host:port`. Raises SettingError if `text` has another form."""
    name, separator, address = text.strip().partition("://")
    host, colon, port = address.rpartition(":")
    if not (name and separator and colon and port.isdecimal() and int(port) <= 65535):
        raise SettingError(f"a listener is written NAME://host:port, not '{text}'")
    return ListenerAddress(name.upper(), host.strip("[]"), int(port))


def is_clustered(settings: BrokerSettings) -> bool:
    """Whether a broker with these settings shares a metadata store with others."""
    return settings.odradek_cluster_directory is not None or bool(settings.zookeeper_connect)


def listener_of_brokers(settings: BrokerSettings, *, in_cluster: bool = False) -> str | None:
    """Returns the name of the listener that only brokers use; None if they have Unix sockets or are alone.

    `in_cluster` is for settings that do not say yet where the cluster's metadata store is.
    """
    name = settings.inter_broker_listener_name
    return name.upper() if name is not None and (in_cluster or is_clustered(settings)) else None


def plan_listeners(settings: BrokerSettings, *, in_cluster: bool = False) -> ListenerPlan:
    """Returns the listeners to open and to advertise; see `listener_of_brokers` for `in_cluster`.

    Raises SettingError if Kafka would refuse to start, or if brokers and clients would share the only
    listener; it names everything that is wrong with the listeners.
    """
    for_brokers = listener_of_brokers(settings, in_cluster=in_cluster)
    faults: list[str] = []
    given = _parsed("listeners", settings.listeners, faults)
    advertised = _parsed("advertised.listeners", settings.advertised_listeners, faults)
    controllers = {name.upper() for name in settings.controller_listener_names}
    opened = tuple(address for address in given if address.name not in controllers)
    if len(given) == len(settings.listeners):  # Else a name or port may be in a text that was not understood.
        faults += _faults_of_opened(settings, given, opened)
        faults += _faults_of_names(advertised, opened, controllers)
        if len(advertised) == len(settings.advertised_listeners):
            for_opened = [address for address in advertised if address.name not in controllers]
            faults += _faults_of_brokers(settings, for_brokers, for_opened, opened)
    faults += _shared_ports(settings, given)
    faults += _wildcards(advertised)
    if len(faults) > 1:
        listed = "; ".join(f"({number}) {fault}" for number, fault in enumerate(faults, 1))
        raise SettingError(f"the listeners have {len(faults)} faults: {listed}")
    if faults:
        raise SettingError(faults[0])
    names = {address.name for address in opened}
    return ListenerPlan(
        opened,
        tuple(address for address in advertised if address.name in names),
        tuple(address.name for address in given if address.name in controllers),
        for_brokers,
    )


def _parsed(setting: str, texts: Iterable[str], faults: list[str]) -> list[ListenerAddress]:
    """The addresses of a setting; what is no address, or has a name again, is added to `faults`."""
    found = []
    for text in texts:
        try:
            found.append(parse_listener(text))
        except SettingError as error:
            faults.append(f"{setting}: {error}")
    times = Counter(address.name for address in found)
    faults += [f"{setting} names {name} more than once" for name in times if times[name] > 1]
    return found


def _faults_of_opened(
    settings: BrokerSettings, given: Sequence[ListenerAddress], opened: Sequence[ListenerAddress]
) -> Iterator[str]:
    if not opened:
        reason = "controller.listener.names names all of listeners" if given else "listeners is empty"
        yield f"there is no listener for clients: {reason}"
    entries = (entry.partition(":") for entry in settings.listener_security_protocol_map)
    protocols = {name.strip().upper(): protocol.strip().upper() for name, _, protocol in entries}
    for name in dict.fromkeys(address.name for address in opened):
        protocol = protocols.get(name)
        if protocol is None:
            yield f"listener.security.protocol.map does not name the listener {name}"
        elif protocol != PLAINTEXT:
            yield f"the listener {name} uses {protocol}; only {PLAINTEXT} is supported yet"


def _faults_of_names(
    advertised: Sequence[ListenerAddress], opened: Sequence[ListenerAddress], controllers: set[str]
) -> Iterator[str]:
    names = {address.name for address in opened}
    for name in dict.fromkeys(address.name for address in advertised):
        if name not in names | controllers:
            yield f"advertised.listeners names {name}, which listeners does not"
    if advertised and opened and all(address.name in controllers for address in advertised):
        yield "advertised.listeners names no listener for clients"


def _faults_of_brokers(
    settings: BrokerSettings,
    for_brokers: str | None,
    advertised: Sequence[ListenerAddress],
    opened: Sequence[ListenerAddress],
) -> Iterator[str]:
    """What is wrong with inter.broker.listener.name: as in Kafka, also for a broker that is alone."""
    if settings.inter_broker_listener_name is None:
        if settings.zookeeper_connect:
            yield (
                "zookeeper.connect needs inter.broker.listener.name: "
                "name a listener that only the brokers of the cluster use"
            )
        return
    name = settings.inter_broker_listener_name.upper()
    setting, known = ("advertised.listeners", advertised) if advertised else ("listeners", opened)
    if all(address.name != name for address in known):
        yield f"inter.broker.listener.name names '{name}', which {setting} does not"
    elif for_brokers is not None and all(address.name == name for address in known):
        yield (
            f"inter.broker.listener.name names {name}, the only one of {setting}, and serves no clients: "
            f"give clients another one{'' if settings.zookeeper_connect else _WITHOUT}"
        )


def _wildcards(advertised: Iterable[ListenerAddress]) -> Iterator[str]:
    for address in advertised:
        if address.host and address.is_wildcard:
            yield (
                f"advertised.listeners cannot hold {address.host}: clients cannot connect to it; "
                "name an address or a host that they can reach"
            )


def _shared_ports(settings: BrokerSettings, given: Sequence[ListenerAddress]) -> Iterator[str]:
    """Listeners share no port, unless one is IPv4 and the other IPv6, as in Kafka.

    The admin listener is on loopback; listeners of other addresses may have the same port.
    """
    for place, one in enumerate(given):
        for other in given[:place]:
            if one.port == other.port != 0 and {_family(one), _family(other)} != {4, 16}:
                yield (
                    f"the listeners {other.name} and {one.name} both use port {one.port}: "
                    "each needs a port of its own, unless one is an IPv4 and the other an IPv6 address"
                )
    controllers = {name.upper() for name in settings.controller_listener_names}
    admin = ListenerAddress("admin", settings.odradek_admin_host.strip("[]"), settings.odradek_admin_port)
    for one in given:
        if one.name not in controllers and admin.port == one.port > 0 and _overlap(admin, one):
            yield (
                f"the admin listener and the listener {one.name} both use port {one.port}: "
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
