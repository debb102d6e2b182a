"""`./dev fuzz`: mutated requests against a broker, each on a connection of its own.

After a damaged request its connection is half closed, and the broker must end it: with an answer, an error
or nothing, but not with silence for ever. Among them are sound requests that are made to cost much
(`campaigns.hostile`), beside connections that hold memory. All the while a client of the ordinary kind is
served, the process lives, its memory stays bounded, its loop never stands still for long, and at the end it
stops cleanly.
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

from campaigns.corpus import TOPIC, WRITTEN_TOPIC, lying_batch, produce, seeds
from campaigns.hostile import hold_memory, hostile_requests
from campaigns.mutations import mutated
from odradek import Admin
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.records.framing import iter_records
from odradek.records.header import iter_headers
from odradek.testing.broker_process import BrokerProcess

# The topic that an ordinary client uses throughout; no mutated request names it.
STANDING_TOPIC = "standing"
# The share of requests that are valid except for their records.
LYING_BATCHES = 0.15
# The share of sound requests that are made to cost much, and how many different ones there are.
HOSTILE = 0.005
HOSTILE_REQUESTS = 120
# Connections that hold the broker's memory throughout; they are replaced from time to time.
HELD_CONNECTIONS = 300
# How long the loop may stand still. More on a machine that is shared with other work.
STALL_MAX_MS = 100.0
CONNECTIONS_AT_ONCE = 64
ANSWER_TIMEOUT_S = 30.0
# The memory that the broker may take while it checks no records, and what HELD_CONNECTIONS may take besides:
# 8 MB are usual, and 256 KB for each that announces a frame would be 40 MB.
RESIDENT_MAX_MB = 100
HELD_MAX_MB = 25
# A broker has read what was sent when its memory grows by less than SETTLED_MB in SETTLED_S.
SETTLED_MB = 0.5
SETTLED_S = 1.0
CHECK_EVERY = 20_000
# How often in a row nothing is found to be checked; a call on another thread is not counted as waiting.
IDLE_LOOKS = 5


def resident_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def settled_mb(pid: int, standing: Admin) -> float:
    """Resident memory of a broker that has read what its connections have sent, in MB."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    resident = resident_mb(pid)
    while True:
        time.sleep(SETTLED_S)
        standing.describe_topics([STANDING_TOPIC])
        before, resident = resident, resident_mb(pid)
        if resident - before < SETTLED_MB or time.monotonic() > deadline:
            return resident


def volley(address: tuple[str, int], frames: list[bytes]) -> tuple[int, int]:
    """Send each frame on a connection of its own; returns how many were answered and how many just closed."""
    selector = selectors.DefaultSelector()
    answered: dict[socket.socket, int] = {}
    for frame in frames:
        one = socket.create_connection(address)
        one.settimeout(ANSWER_TIMEOUT_S)
        try:
            one.sendall(frame)
            one.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # The broker closed it while we were still sending, as it may.
        selector.register(one, selectors.EVENT_READ, frame)
        answered[one] = 0
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while selector.get_map():
        ready = selector.select(max(0.0, deadline - time.monotonic()))
        if not ready:
            stuck = next(iter(selector.get_map().values())).data
            raise SystemExit(
                f"a connection was not ended after {ANSWER_TIMEOUT_S} s; its request: {stuck.hex()}"
            )
        for key, _ in ready:
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            try:
                received = peer.recv(1 << 16)
            except OSError:
                received = b""
            answered[peer] += len(received)
            if not received:
                selector.unregister(peer)
                peer.close()
    with_answer = sum(1 for size in answered.values() if size)
    return with_answer, len(frames) - with_answer


def run(count: int, seed: int, broker: BrokerProcess) -> dict[str, float]:
    """Send `count` mutated requests; returns the counts. Raises SystemExit at the first fault."""
    assert broker.admin_address is not None
    chance = random.Random(seed)
    corpus, hostile = seeds(chance), hostile_requests(chance, HOSTILE_REQUESTS)
    held: list[socket.socket] = []
    address = (broker.host, broker.port)
    counts = {"requests": 0, "answered": 0, "closed": 0, "resident_mb_max": 0.0, "held_mb_max": 0.0}
    # The first request of an API loads its code: that stall is not what this campaign measures.
    for start in range(0, len(corpus), CONNECTIONS_AT_ONCE):
        volley(address, corpus[start : start + CONNECTIONS_AT_ONCE])
    counts["stall_ms_while_loading"] = longest_stall_ms(broker.admin_address)
    with Admin(broker.bootstrap_servers) as standing:
        while counts["requests"] < count:
            frames = [_frame(corpus, hostile, chance) for _ in range(CONNECTIONS_AT_ONCE)]
            for name in (TOPIC, WRITTEN_TOPIC):
                _ensure_topic(standing, name)
            answered, closed = volley(address, frames)
            counts["answered"] += answered
            counts["closed"] += closed
            counts["requests"] += len(frames)
            if counts["requests"] % CHECK_EVERY < CONNECTIONS_AT_ONCE:
                standing.describe_topics([STANDING_TOPIC])
                for one in held:
                    one.close()
                standing.describe_topics([STANDING_TOPIC])
                await_no_checks(broker.admin_address)
                at_rest = resident_mb(broker.pid)
                held = hold_memory(address, chance, HELD_CONNECTIONS)
                held_mb = settled_mb(broker.pid, standing) - at_rest
                counts["resident_mb_max"] = max(counts["resident_mb_max"], round(at_rest))
                counts["held_mb_max"] = max(counts["held_mb_max"], round(held_mb))
                print(f"{counts['requests']:>9,} requests, {at_rest:.0f} MB + {held_mb:.0f} MB", flush=True)
                if at_rest > RESIDENT_MAX_MB or held_mb > HELD_MAX_MB:
                    raise SystemExit(f"the broker grew to {at_rest:.0f} MB, and by {held_mb:.0f} MB")
    for one in held:
        one.close()
    return counts


def _frame(corpus: list[bytes], hostile: list[bytes], chance: random.Random) -> bytes:
    if chance.random() < HOSTILE:
        return chance.choice(hostile)
    if chance.random() < LYING_BATCHES:
        return produce(lying_batch(chance), chance)
    return mutated(chance.choice(corpus), corpus, chance)


def _ensure_topic(admin: Admin, name: str) -> None:
    """Make the topic again when one of the requests has deleted it."""
    try:
        admin.create_topic(name, partitions=1)
    except ApiError as error:
        if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


def longest_stall_ms(admin_address: str) -> float:
    """The longest stall of the broker's loop, by its own gauge."""
    return gauge(admin_address, "odradek_loop_stall_ms_max")


def await_no_checks(admin_address: str) -> None:
    """Wait until the broker checks no records: batches under validation take up to 96 MB by themselves."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    idle = 0
    while idle < IDLE_LOOKS:
        if time.monotonic() > deadline:
            raise SystemExit(f"the broker still checked records after {ANSWER_TIMEOUT_S} s")
        time.sleep(0.1)
        idle = 0 if gauge(admin_address, "odradek_record_work_waiting") else idle + 1


def gauge(admin_address: str, name: str) -> float:
    """One of the broker's own gauges."""
    with urllib.request.urlopen(f"http://{admin_address}/metrics", timeout=ANSWER_TIMEOUT_S) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
    raise SystemExit(f"the broker has no gauge {name}")


def read_stored(data_dir: Path) -> int:
    """Read every record of every log, after the stop; returns their number. Raises any reader's error."""
    records = 0
    for directory in sorted(data_dir.glob("*-*[0-9]")):
        for log in sorted(directory.glob("*.log")):
            content = log.read_bytes()
            position = 0
            for position, header in iter_headers(content):
                records += sum(1 for _ in iter_records(content, header, position))
                position += header.size_bytes
            if position != len(content):
                raise SystemExit(f"{log} holds whole batches up to byte {position} of {len(content)} only")
    return records


def raw_noise(address: tuple[str, int], chance: random.Random, count: int) -> None:
    """Bytes that are no request at all: other protocols, huge and negative lengths."""
    openings = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        struct.pack(">i", -1),
        b"\x7f\xff\xff\xff",
    ]
    for _ in range(count // CONNECTIONS_AT_ONCE):
        volley(
            address,
            [
                chance.choice(openings) + chance.randbytes(chance.randrange(64))
                for _ in range(CONNECTIONS_AT_ONCE)
            ],
        )


def main() -> int:
    """Exits with 1 when a connection hangs, the broker dies or grows, or an ordinary client is not served."""
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stall-max-ms", type=float, default=STALL_MAX_MS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="odradek-fuzz-") as scratch:
        broker = BrokerProcess(
            Path(scratch) / "data",
            settings={"auto.create.topics.enable": "false"},
            admin_port=0,
            log_path=Path(scratch) / "log",
        )
        broker.start()
        try:
            with Admin(broker.bootstrap_servers) as admin:
                admin.create_topic(STANDING_TOPIC, partitions=1)
            started = time.monotonic()
            counts = run(options.requests, options.seed, broker)
            raw_noise((broker.host, broker.port), random.Random(options.seed), 10_000)
            seconds = time.monotonic() - started
            assert broker.admin_address is not None
            counts["stall_ms_max"] = longest_stall_ms(broker.admin_address)
        except ConnectionError as error:
            raise SystemExit(f"the broker is gone: {error}; {broker.log_path.read_text()[-3000:]}") from error
        finally:
            code = broker.stop()
        if counts["stall_ms_max"] > max(options.stall_max_ms, counts["stall_ms_while_loading"]):
            stalls = [line for line in broker.log_path.read_text().splitlines() if "stood still" in line]
            raise SystemExit(f"the loop stood still for {counts['stall_ms_max']} ms: {stalls}")
        if code != 0:
            raise SystemExit(f"the broker did not stop cleanly: exit code {code}")
        log = broker.log_path.read_text()
        mistake = log.find("Traceback")
        if mistake >= 0:
            raise SystemExit(
                f"a request met a mistake of ours: {log[max(0, mistake - 500) : mistake + 3000]}"
            )
        counts["records_stored"] = read_stored(broker.data_dir)
    print(json.dumps({"seed": options.seed, "seconds": round(seconds), **counts}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
