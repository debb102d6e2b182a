"""What is checked before a cluster starts, in an order in which a refusal has changed nothing on disk.

lock          of an existing cluster: another supervisor of it is refused first
directories   whose they are
processes     those that an earlier supervisor has started and that live, with the same settings; none else
ports         all are held: one that is in use refuses the start
changes       a new cluster's directory and lock, the directory of the sockets, `cluster.json`
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from odradek.base.errors import SettingError
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.server.process.log_lines import LogOptions
from odradek.server.process.process_contract import READY
from odradek.server.process.stop_signs import STANDARD_INPUT, check_input
from odradek.server.supervisor.broker_settings import ClusterSettings, Ports
from odradek.server.supervisor.cluster_file import KeptCluster, write_cluster_file
from odradek.server.supervisor.directories import (
    SocketDirectory,
    check_directories,
    is_private,
    lock_cluster,
    socket_directory,
    temporary_directories,
)
from odradek.server.supervisor.lost_brokers import refuse_lost_brokers
from odradek.server.supervisor.ports import HeldPorts
from odradek.server.supervisor.processes import FoundProcess, find_processes, refuse_other_settings
from odradek.storage import file_names
from odradek.storage.files import DirectoryLock
from odradek.storage.os_files import OsFileSystem

_log = logging.getLogger(__name__)


@value
class BrokerOptions:
    """The options of the command line that every broker gets."""

    log: LogOptions
    test_faults: bool = False
    until_eof: bool = False

    def arguments(self, *, until_eof: bool) -> list[str]:
        """The arguments of a broker's process."""
        found = ["--log-format", self.log.format]
        for logger, level in self.log.levels:
            found += ["--log-level", f"{logger}={logging.getLevelName(level).lower()}"]
        if self.test_faults:
            found.append("--test-faults")
        if until_eof:
            found.append("--until-eof")
        return found


@value
class PreparedCluster:
    """A cluster that may be started: nothing about it is refused, and its ports are held."""

    settings: ClusterSettings
    kept: KeptCluster
    sockets: SocketDirectory
    lock: DirectoryLock
    ports: HeldPorts
    found: Mapping[BrokerId, FoundProcess]
    arguments: Sequence[str]
    inherits_input: bool

    def settings_of(self, broker_id: BrokerId) -> dict[str, str]:
        """All settings of a broker."""
        return self.settings.settings_of(broker_id, self.kept.ports[broker_id], self.sockets.path)

    def line_of(self, broker_id: BrokerId) -> str:
        """What a broker says when it serves, as far as the settings tell."""
        ports = self.kept.ports[broker_id]
        opened, admin = (
            [str(replace(one, port=ports[one.name])) for one in addresses]
            for addresses in (self.settings.opened_to_clients, self.settings.admins)
        )
        return f"{READY}on {' and '.join(opened)}" + "".join(f", admin on {one}" for one in admin)

    def hold_ports(self, broker_id: BrokerId) -> None:
        """Hold the ports of a broker that has just ended; one that is in use is the broker's to report."""
        for address in self.settings.opened:
            try:
                self.ports.hold(broker_id, replace(address, port=self.kept.ports[broker_id][address.name]))
            except SettingError as error:
                _log.warning("the port of broker %d is not held: %s", broker_id, error)


def prepare(settings: ClusterSettings, options: BrokerOptions) -> PreparedCluster:
    """Check everything, hold the ports, and write down what the cluster is."""
    if options.until_eof:
        check_input()
    files = OsFileSystem()
    first = settings.log_dirs[0]
    lock = None
    if files.exists(f"{first}/{file_names.LOCK}"):
        lock = lock_cluster(files, first)
    kept = check_directories(files, settings)
    inherits_input = options.until_eof and not os.isatty(STANDARD_INPUT)
    arguments = options.arguments(until_eof=inherits_input)
    former = Path(kept.sockets) if kept is not None and is_private(kept.sockets) else None
    alive = find_processes(Path(first), settings.broker_ids, former=former)
    refuse_lost_brokers(files, settings, alive)
    ports = HeldPorts()
    chosen = _hold_ports(settings, kept, alive, ports)
    if kept is not None:
        for broker_id, one in alive.items():
            refuse_other_settings(
                broker_id,
                one,
                arguments,
                settings.settings_of(broker_id, chosen[broker_id], kept.sockets),
            )
    lock = lock or lock_cluster(files, first)
    sockets = socket_directory(kept, temporary_directories, is_in_use=bool(alive))
    cluster = KeptCluster(settings.count, sockets.path, chosen)
    if cluster != kept:
        write_cluster_file(files, first, cluster)
    found = {broker_id: process for broker_id, (process, _) in alive.items()}
    return PreparedCluster(settings, cluster, sockets, lock, ports, found, arguments, inherits_input)


def _hold_ports(
    settings: ClusterSettings, kept: KeptCluster | None, alive: Iterable[BrokerId], ports: HeldPorts
) -> dict[BrokerId, Ports]:
    """Returns the ports of all brokers; those of brokers that live are not held, as they listen."""
    had = {} if kept is None else kept.ports
    living = set(alive)
    chosen: dict[BrokerId, Ports] = {}
    for broker_id in settings.broker_ids:
        wanted = settings.wanted_ports(broker_id)
        mine: dict[str, int] = {}
        for address in settings.opened:
            last = had.get(broker_id, {}).get(address.name, 0)
            port = wanted[address.name] or last
            if broker_id not in living:
                try:
                    port = ports.hold(broker_id, replace(address, port=port))
                except SettingError as error:
                    if wanted[address.name] or not last:
                        raise
                    raise SettingError(
                        f"{error} (the port that broker {broker_id} had: name others)"
                    ) from None
            mine[address.name] = port
        chosen[broker_id] = mine
    return chosen
