"""A process with a session: makes an ephemeral node, and writes another node for each line that it reads.

    python -m tests.integration.store_holder SOCKET TIMEOUT_MS

It prints `open` when the node `/held` is made, and then the result of each write.
"""

import asyncio
import sys
from pathlib import Path

from odradek.base.clock import SystemClock, machine_short_clock
from odradek.base.execution import TurnTime
from odradek.metadata.service.client import SessionWish
from odradek.metadata.store import Create, Failed, SessionEnded, SessionOpened, StoreEvent, StoreReplied
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.store_client import StoreClient


def tell(word: str) -> None:
    """Print a line for the test."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def hold(path: Path, timeout_ms: int) -> None:
    """Hold a session until the standard input ends."""
    loop = asyncio.get_running_loop()
    clock = machine_short_clock()
    stalls = LoopStalls(clock, SystemClock())
    client = StoreClient(path, lambda: SessionWish(timeout_ms, 1), TurnTime(clock), stalls)
    session = client.session()
    # The number of the last write; the numbers of writes are never those of `/held`.
    written = 0

    def on_event(event: StoreEvent) -> None:
        match event:
            case SessionOpened():
                session.submit(Create("/held", ephemeral=True))
            case StoreReplied(0, _):
                tell("open")
            case StoreReplied(_, result):
                tell(result.fault.name if isinstance(result, Failed) else "done")
            case SessionEnded():
                tell("ended")

    def on_line() -> None:
        nonlocal written
        if not sys.stdin.readline():
            ended.set_result(None)
            return
        written += 1
        session.submit(Create(f"/written-{written}"))

    ended: asyncio.Future[None] = loop.create_future()
    loop.add_reader(sys.stdin, on_line)
    session.open(on_event)
    await ended
    session.close()
    await client.drain()


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1]), int(sys.argv[2])))
