"""`./dev waves`: connection attempts in waves, more than anybody would make, some of them half-hearted.

Each attempt connects and then says nothing, asks one question, sends half a frame, or resets the connection.
All the while a client of the ordinary kind is served, and at the end the broker's memory, its open files and
its table of connections are what they were. With `max.connections` the surplus of each wave is turned away
and the next wave is let in again.
"""

import argparse
import json
import random
import selectors
import socket
import struct
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from campaigns.fuzz import resident_mb
from odradek import Admin
from odradek.testing.broker_process import BrokerProcess
from odradek.wire.headers import RequestHeader, encode_request_header

TOPIC = "standing"
WAVE = 250
ANSWER_TIMEOUT_S = 30.0
CHECK_EVERY = 10_000
GROWN_MB_MAX = 60
# With a limit: room for a part of each wave.
CONNECTIONS_MAX = 100

_ASK = encode_request_header(RequestHeader(18, 0, 1, "waves"))
QUESTION = struct.pack(">i", len(_ASK)) + _ASK


def wave(address: tuple[str, int], chance: random.Random) -> dict[str, int]:
    """Connect `WAVE` times at once; returns how many were answered, turned away, or left without asking."""
    counts = {"answered": 0, "turned_away": 0, "silent": 0}
    asking = selectors.DefaultSelector()
    others: list[socket.socket] = []
    for _ in range(WAVE):
        one = socket.create_connection(address, ANSWER_TIMEOUT_S)
        manner = chance.random()
        try:
            if manner < 0.5:
                one.sendall(QUESTION)
                asking.register(one, selectors.EVENT_READ)
                continue
            if manner < 0.7:
                one.sendall(QUESTION[: chance.randrange(len(QUESTION))])
            elif manner < 0.85:
                # When we close with unread or unsent data, or at once, the peer sees a reset.
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # Turned away while we were still sending.
        counts["silent"] += 1
        others.append(one)
    for one in others:
        one.close()
    while asking.get_map():
        ready = asking.select(ANSWER_TIMEOUT_S)
        if not ready:
            raise SystemExit(f"a connection was neither answered nor closed in {ANSWER_TIMEOUT_S} s")
        for key, _ in ready:
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            try:
                received = peer.recv(1 << 16)
            except OSError:
                received = b""
            counts["answered" if received else "turned_away"] += 1
            asking.unregister(peer)
            peer.close()
    return counts


def open_files(pid: int) -> int:
    """How many descriptors a process has."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def connections(broker: BrokerProcess) -> int:
    """How many connections the broker says it has."""
    with urllib.request.urlopen(f"http://{broker.admin_address}/describe/connections", timeout=30) as answer:
        return len(json.load(answer))


def run(attempts: int, seed: int, broker: BrokerProcess) -> dict[str, float]:
    """Make that many attempts; returns the counts. Raises SystemExit at the first fault."""
    chance = random.Random(seed)
    totals: dict[str, float] = {"answered": 0, "turned_away": 0, "silent": 0}
    with Admin(broker.bootstrap_servers) as standing:
        standing.create_topic(TOPIC, partitions=1)
        files, memory = open_files(broker.pid), resident_mb(broker.pid)
        for made in range(WAVE, attempts + WAVE, WAVE):
            for name, count in wave((broker.host, broker.port), chance).items():
                totals[name] += count
            if made % CHECK_EVERY < WAVE:
                standing.describe_topics([TOPIC])
                print(f"{made:>9,} attempts, {resident_mb(broker.pid):.0f} MB", flush=True)
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while connections(broker) > 1:
            if time.monotonic() > deadline:
                raise SystemExit(f"{connections(broker) - 1} connections are left over")
        left_over = open_files(broker.pid) - files
        totals["grown_mb"] = round(resident_mb(broker.pid) - memory)
        if left_over > 2:
            raise SystemExit(f"{left_over} files are left open")
        if totals["grown_mb"] > GROWN_MB_MAX:
            raise SystemExit(f"the broker grew by {totals['grown_mb']} MB")
    return totals


def main() -> int:
    """Exits with 1 when the broker dies, grows, forgets a connection or leaves an ordinary client waiting."""
    parser = argparse.ArgumentParser(prog="./dev waves", description=__doc__)
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for limit in (None, CONNECTIONS_MAX):
        settings = {} if limit is None else {"max.connections": str(limit)}
        with tempfile.TemporaryDirectory(prefix="odradek-waves-") as scratch:
            broker = BrokerProcess(
                Path(scratch) / "data", admin_port=0, settings=settings, log_path=Path(scratch) / "log"
            )
            broker.start()
            started = time.monotonic()
            try:
                totals = run(options.attempts, options.seed, broker)
            finally:
                code = broker.stop()
            seconds = round(time.monotonic() - started)
            log = broker.log_path.read_text()
        if code != 0 or "Traceback" in log:
            raise SystemExit(f"the broker ended with {code} and said: {log[-3000:]}")
        print(json.dumps({"seed": options.seed, "max.connections": limit, "seconds": seconds, **totals}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
