"""The settings of a cluster, spread over its brokers.

    given                                      broker 1                   broker 3
    -----------------------------------------  -------------------------  -------------------------
    log.dirs=/a,/b                             /a/broker-1,/b/broker-1    /a/broker-3,/b/broker-3
    listeners=PLAINTEXT://0.0.0.0:9092         PLAINTEXT://0.0.0.0:9092   PLAINTEXT://0.0.0.0:9094
    advertised.listeners=PLAINTEXT://kafka:9092  PLAINTEXT://kafka:9092   PLAINTEXT://kafka:9094
    odradek.admin.port=8080                    8080                       8082
    a port 0                                   a free one of the system, which the cluster keeps
    any other setting                          as given

What cannot be spread is refused in a sentence: a node id, a metadata file, an advertised port that is not
that of the listener, ports of which two brokers would need the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from odradek.base.errors import SettingError
from odradek.base.ids import BrokerId
from odradek.base.settings import SettingLayers
from odradek.base.values import value
from odradek.server.edge.addresses import ListenerAddress, listeners_for_clients, plan_listeners

ADMIN: Final = "admin"
"""The admin listener among the ports; names of other listeners have no small letters."""
PORT_MAX: Final = 65_535

Ports: TypeAlias = Mapping[str, int]
"""The ports of one broker, by listener."""

_OWN: Final = {
    "odradek.metadata.file": "the supervisor keeps the metadata store in the first of log.dirs",
    "odradek.cluster.directory": "the supervisor makes that directory",
    "odradek.cluster.brokers": "--brokers says how many there are",
    "zookeeper.connect": "the supervisor has the metadata store of its brokers; start each broker by itself",
}


@value
class ClusterSettings:
    """What was given for the whole cluster, checked to fit all its brokers."""

    count: int
    given: Mapping[str, str]
    """All settings, by Kafka's names."""
    log_dirs: tuple[str, ...]
    """As given: each has a directory for each broker."""
    listeners: tuple[ListenerAddress, ...]
    """As given for the first broker; a port 0 is chosen later."""
    advertised: tuple[ListenerAddress, ...]
    """The same; those that are not advertised as they are opened."""
    admin: ListenerAddress | None
    """The admin listener of the first broker, if there is to be one."""
    not_opened: tuple[str, ...]
    """Names of the listeners that only KRaft controllers use."""
    for_brokers: str | None
    """The name of the listener that only brokers use; None if they use Unix sockets."""
    session_timeout_ms: int
    """After how long without a sign of life a broker's session with the metadata store ends."""
    warnings: tuple[str, ...]
    """Sentences about given settings that have no effect on any of the brokers."""

    @property
    def broker_ids(self) -> range:
        """The ids of the brokers."""
        return range(1, self.count + 1)

    @property
    def opened(self) -> tuple[ListenerAddress, ...]:
        """All listeners of the first broker."""
        return (*self.listeners, *self.admins)

    @property
    def opened_to_clients(self) -> tuple[ListenerAddress, ...]:
        """The listeners of the first broker that clients use."""
        return listeners_for_clients(self.listeners, self.for_brokers)

    @property
    def admins(self) -> tuple[ListenerAddress, ...]:
        """The admin listener, or none."""
        return () if self.admin is None else (self.admin,)

    def wanted_ports(self, broker_id: BrokerId) -> dict[str, int]:
        """The ports that a broker is to have; 0 where any will do."""
        return {one.name: _spread(one.port, broker_id) for one in self.opened}

    def directories_of(self, broker_id: BrokerId) -> tuple[str, ...]:
        """The log directories of a broker."""
        return tuple(broker_directory(path, broker_id) for path in self.log_dirs)

    def settings_of(self, broker_id: BrokerId, ports: Ports, sockets: str) -> dict[str, str]:
        """All settings of a broker with these ports, in a cluster with this directory of sockets."""
        found = dict(self.given)
        found["node.id"] = str(broker_id)
        found["log.dirs"] = ",".join(self.directories_of(broker_id))
        found["listeners"] = _entries(replace(one, port=ports[one.name]) for one in self.listeners)
        if self.advertised:
            found["advertised.listeners"] = _entries(
                replace(one, port=self._advertised_port(one, ports)) for one in self.advertised
            )
        if self.admin is not None:
            found["odradek.admin.port"] = str(ports[ADMIN])
        found["odradek.cluster.directory"] = sockets
        found["odradek.cluster.brokers"] = str(self.count)
        return found

    def _advertised_port(self, address: ListenerAddress, ports: Ports) -> int:
        """The port that a broker advertises: that of its listener, unless a single broker has another one."""
        opened = {one.name: one.port for one in self.listeners}
        return ports[address.name] if address.port in (0, opened[address.name]) else address.port


def broker_directory(path: str, broker_id: BrokerId) -> str:
    """The directory of a broker within one of the cluster's."""
    return f"{path.rstrip('/') or '/'}/broker-{broker_id}".replace("//", "/")


def cluster_settings(properties: Mapping[str, str], count: int) -> ClusterSettings:
    """Returns the settings of a cluster of `count` brokers. Raises SettingError."""
    layers, _ = SettingLayers.from_static(properties)
    given, settings = layers.static, layers.in_force
    _refuse_own(given, settings.node_id, count)
    plan = plan_listeners(settings, in_cluster=True)
    admin = None
    if settings.odradek_admin_port >= 0:
        admin = ListenerAddress(ADMIN, settings.odradek_admin_host, settings.odradek_admin_port)
    found = ClusterSettings(
        count,
        given,
        settings.log_dirs,
        plan.opened,
        plan.advertised,
        admin,
        plan.for_controllers,
        plan.for_brokers,
        settings.broker_session_timeout_ms,
        tuple(layers.warnings()),
    )
    _refuse_shared_ports(found)
    _refuse_one_advertised_port(found)
    return found


def _refuse_own(given: Mapping[str, str], node_id: BrokerId, count: int) -> None:
    for name, reason in _OWN.items():
        if name in given:
            raise SettingError(f"{name} cannot be given with --brokers: {reason}")
    if "node.id" in given and node_id != 1:
        raise SettingError(
            f"node.id={node_id} cannot be given with --brokers {count}: the ids are 1 to {count}"
        )


def _refuse_shared_ports(found: ClusterSettings) -> None:
    """Refuse ports of which two brokers would need the same, and those above PORT_MAX."""
    last = found.count - 1
    for place, one in enumerate(found.opened):
        if one.port and one.port + last > PORT_MAX:
            raise SettingError(
                f"{found.count} brokers cannot have the ports from {one.port} on: the last port is {PORT_MAX}"
            )
        for other in found.opened[:place]:
            distance = abs(one.port - other.port)
            if one.port and other.port and 0 < distance <= last:
                raise SettingError(
                    f"{found.count} brokers need {found.count} ports from {other.port} on for {_kind(other)},"
                    f" and from {one.port} on for {_kind(one)}: choose ports that are further apart"
                )


def _refuse_one_advertised_port(found: ClusterSettings) -> None:
    opened = {one.name: one.port for one in found.listeners}
    for one in found.advertised:
        if one.port not in (0, opened[one.name]) and found.count > 1:
            raise SettingError(
                f"advertised.listeners has port {one.port} for {found.count} brokers, and listeners has"
                f" {opened[one.name]}: give both the same port, from which the brokers' ports are counted"
            )


def _kind(address: ListenerAddress) -> str:
    return "the admin listeners" if address.name == ADMIN else address.name


def _entries(addresses: Iterable[ListenerAddress]) -> str:
    """Listeners as a setting has them: an empty host stays empty."""
    return ",".join(
        f"{one.name}://[{one.host}]:{one.port}" if ":" in one.host else f"{one.name}://{one.host}:{one.port}"
        for one in addresses
    )


def _spread(port: int, broker_id: BrokerId) -> int:
    return port + broker_id - 1 if port else 0
