"""A supervisor of stand-ins, as a program with the arguments ORDERS (a directory), DATA and how many.

Its store answers at once and holds nothing. Processes that are found come back to it, but for those that the
file `lost` among the orders names; the file `controller` names the controller.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId
from odradek.server.process.log_lines import LogOptions
from odradek.server.supervisor import processes, supervise
from odradek.server.supervisor.preparation import BrokerOptions
from odradek.server.supervisor.processes import FoundProcess
from odradek.server.supervisor.store_port import OnSession, ServedStore
from tests.server.supervisor import stand_ins


def words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


class Store:
    def __init__(self, orders: Path) -> None:
        self._orders = orders

    async def controller_id(self) -> BrokerId | None:
        return next((int(word) for word in words(self._orders / "controller")), None)

    async def stop(self) -> None:
        sys.stderr.write("the store has stopped\n")


def main(orders: Path, data: Path, count: int) -> int:
    def alive(sockets: str) -> dict[BrokerId, FoundProcess]:
        found = processes.find_processes(data, range(1, count + 1), former=Path(sockets))
        return {one: process for one, (process, _) in found.items()}

    async def serve_store(directory: str, file: Path, on_session: OnSession) -> ServedStore:
        lost = words(orders / "lost")
        for broker_id, found in alive(directory).items():
            if str(broker_id) not in lost:
                asyncio.get_running_loop().call_later(0.05, on_session, broker_id, found.pid)
        return Store(orders)

    def command_of(settings: Path, arguments: Sequence[str]) -> list[str]:
        return stand_ins.command(orders, settings)

    processes.command_of = command_of
    setattr(supervise, "RETURN_GRACE_MS", 0)  # noqa: B010 - it is Final
    properties = {
        "log.dirs": str(data),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "broker.session.timeout.ms": "300",
    }
    try:
        return supervise.supervise(properties, count, BrokerOptions(LogOptions()), serve_store)
    except OdradekError as error:
        sys.stderr.write(f"odradek: {error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
