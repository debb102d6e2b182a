"""What one small request costs a broker from its bytes to the answer's: calls of Python functions, CPU time.

    .venv/bin/python benchmarks/micro/requests.py [--json] [--requests 200] [--rounds 150] [--only produce]

A broker runs in this process; frames are handed to a connection whose transport throws the answers away, so
that kernel and sockets are left out. Three figures for each kind of request:

    calls   Python functions entered, and of C: does not depend on the machine
    warm    the least microseconds of the broker's thread in a loop of nothing else
    cold    the same when 4 MB of other memory are touched before each request, as after a sleep; the median

The kinds are those that a small client sends most: produce 9, fetch 12, a heartbeat and a commit of a member.
"""

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from itertools import repeat
from types import FrameType

from odradek import Admin
from odradek.base.execution import TurnTime
from odradek.base.settings import SettingLayers
from odradek.net.framing import SCRATCH_BYTES
from odradek.net.ready_queue import ReadyQueue
from odradek.net.server_connection import ServerConnection
from odradek.records.builder import BatchBuilder
from odradek.server.process.broker_thread import BrokerThread
from odradek.wire.headers import RequestHeader, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TOPIC = "benchmark"
GROUP = "benchmark"
TOUCHED_BYTES = 4 << 20
CACHE_LINE_BYTES = 64
ROUND_NS_MAX = 1 << 62
"""A round is one turn of the loop, however long it takes."""


@dataclass(frozen=True)
class Figure:
    """One kind of request."""

    kind: str
    python_calls: float
    c_calls: float
    warm_us: float
    cold_us: float


class DiscardingTransport:
    """Takes what a connection writes and keeps the last of it."""

    def __init__(self) -> None:
        self.written = b""
        self.on_written: Callable[[], None] = lambda: None

    def get_extra_info(self, name: str) -> object:
        """A peer on this machine."""
        return ("127.0.0.1", 1) if name == "peername" else None

    def set_write_buffer_limits(self, high: int) -> None:
        """Ignored: nothing is ever unsent."""

    def is_closing(self) -> bool:
        """Never."""
        return False

    def pause_reading(self) -> None:
        """Ignored."""

    def resume_reading(self) -> None:
        """Ignored."""

    def writelines(self, parts: list[bytes]) -> None:
        """Keep an answer."""
        self.write(b"".join(parts))

    def write(self, data: bytes) -> None:
        """Keep an answer."""
        self.written = bytes(data)
        self.on_written()

    def close(self) -> None:
        """The broker stops."""

    abort = close

    def get_write_buffer_size(self) -> int:
        """Nothing is ever unsent."""
        return 0


class Bench:
    """A connection of a broker in this process."""

    def __init__(self, thread: BrokerThread) -> None:
        self._thread = thread
        self.transport = DiscardingTransport()
        self.connection: ServerConnection = thread.run(self._connect)
        self._touched = bytearray(TOUCHED_BYTES)

    def _connect(self) -> ServerConnection:
        shell = self._thread.broker.shell
        ready = ReadyQueue(asyncio.get_running_loop().call_soon, TurnTime(repeat(0).__next__))
        connection = ServerConnection(
            shell.listeners.connections,
            "PLAINTEXT",
            memoryview(bytearray(SCRATCH_BYTES)),
            ready,
            shell.executor,
            frame_bytes_min=8,
            frame_bytes_max=1 << 20,
            write_buffer_bytes=1 << 20,
        )
        connection.connection_made(self.transport)  # type: ignore[arg-type]
        return connection

    def send(self, frame: bytes) -> None:
        """Have one frame served; on the broker's thread."""
        size_bytes = len(frame)
        self.connection.get_buffer(-1)[:size_bytes] = frame
        self.connection.buffer_updated(size_bytes)

    def ask(self, request: Message, version: int) -> bytes:
        """Have one request served, which is answered in the same turn or the next ones; its whole answer."""
        frame = frame_of(request, version)
        self.transport.written = b""
        self._thread.run(lambda: self.send(frame))
        deadline = time.monotonic() + 20
        while not self.transport.written and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.transport.written

    def count_calls(self, frame: bytes, requests: int) -> tuple[float, float, Counter[str]]:
        """Calls of Python functions and of C for one request, and how often each of the former was called."""
        kinds: Counter[str] = Counter()
        names: Counter[str] = Counter()

        def note(frame: FrameType, event: str, _: object) -> None:
            kinds[event] += 1
            if event == "call":
                names[f"{frame.f_code.co_filename.rpartition('odradek/')[2]}:{frame.f_code.co_qualname}"] += 1

        def run() -> None:
            for _ in range(10):
                self.send(frame)
            sys.setprofile(note)
            for _ in range(requests):
                self.send(frame)
            sys.setprofile(None)

        self._thread.run(run)
        return kinds["call"] / requests, kinds["c_call"] / requests, names

    def time_warm(self, frame: bytes, requests: int) -> float:
        """Microseconds of one request in a loop of nothing else."""

        def run() -> float:
            began_ns = time.thread_time_ns()
            for _ in range(requests):
                self.send(frame)
            return (time.thread_time_ns() - began_ns) / requests / 1e3

        return self._thread.run(run)

    def time_in_turns(self, frame: bytes, requests: int) -> float:
        """Microseconds of one request that is answered in a later turn, those turns included."""
        ended: Future[int] = Future()
        left = requests

        def send() -> None:
            nonlocal left
            if left:
                left -= 1
                self.send(frame)
            else:
                self.transport.on_written = lambda: None
                ended.set_result(time.thread_time_ns())

        def begin() -> int:
            call_soon = asyncio.get_running_loop().call_soon

            def send_soon() -> None:
                call_soon(send)

            self.transport.on_written = send_soon
            call_soon(send)
            return time.thread_time_ns()

        began_ns = self._thread.run(begin)
        return (ended.result(60) - began_ns) / requests / 1e3

    def time_cold(self, frame: bytes, requests: int) -> float:
        """Microseconds of one request after other memory was touched; the median."""

        def run() -> float:
            times = []
            touched = memoryview(self._touched)[::CACHE_LINE_BYTES]
            for _ in range(requests):
                touched.tobytes()
                began_ns = time.perf_counter_ns()
                self.send(frame)
                times.append(time.perf_counter_ns() - began_ns)
            return statistics.median(times) / 1e3

        return self._thread.run(run)


def frame_of(request: Message, version: int) -> bytes:
    """A request as it comes from the wire."""
    header = encode_request_header(RequestHeader(request.API_KEY, version, 7, "benchmark-client"))
    payload = header + request.encode(version)
    return len(payload).to_bytes(4, "big") + payload


def produce_frame() -> bytes:
    """One record of 100 bytes, acks=all."""
    builder = BatchBuilder()
    builder.append(time.time_ns() // 1_000_000, None, b"x" * 100)
    part = PartitionProduceData(0, bytes(builder.build()))
    return frame_of(ProduceRequest(None, -1, 30_000, [TopicProduceData(TOPIC, partition_data=[part])]), 9)


def fetch_frame() -> bytes:
    """The first record of the partition, no session."""
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=100, session_epoch=-1)
    request.topics = [FetchTopic(TOPIC, partitions=[part])]
    return frame_of(request, 12)


def member_frames(bench: Bench) -> dict[str, bytes]:
    """A heartbeat and a commit of the only member of a group, which is stable."""
    join = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\0\0\0\0")],
    )
    bench.ask(FindCoordinatorRequest(GROUP), 2)
    joined = JoinGroupResponse()
    for _ in range(100):  # the coordinator may still be loading, and names the member first
        joined = JoinGroupResponse.decode(bench.ask(join, 5)[4 + 4 :], 5)
        join.member_id = joined.member_id or join.member_id
        if not joined.error_code:
            break
        time.sleep(0.05)
    assert not joined.error_code, joined
    member, generation = joined.member_id, joined.generation_id
    bench.ask(
        SyncGroupRequest(
            GROUP, generation, member, None, None, None, [SyncGroupRequestAssignment(member, b"x")]
        ),
        3,
    )
    beat = HeartbeatRequest(GROUP, generation, member)
    answer = HeartbeatResponse.decode(bench.ask(beat, 3)[4 + 4 :], 3)
    assert not answer.error_code, answer
    commit = OffsetCommitRequest(
        GROUP,
        generation,
        member,
        topics=[OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, 5)])],
    )
    return {"heartbeat": frame_of(beat, 4), "commit": frame_of(commit, 9)}


def measure(args: argparse.Namespace) -> list[Figure]:
    """Measure every kind."""
    figures = []
    with tempfile.TemporaryDirectory(dir=args.directory) as directory:
        layers, _ = SettingLayers.from_static(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": directory,
                "group.initial.rebalance.delay.ms": "0",
                **dict(args.set),
            }
        )
        thread = BrokerThread(layers)
        thread.start()
        try:
            with Admin(thread.bootstrap_servers) as admin:
                admin.create_topic(TOPIC, partitions=1)
            bench = Bench(thread)
            produce = produce_frame()
            bench.ask(ProduceRequest.decode(produce[4 + 8 + 2 + 16 + 1 :], 9), 9)
            frames = {"produce": produce, "fetch": fetch_frame(), **member_frames(bench)}
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 50, 100)
            for kind, frame in frames.items():
                if args.only in ("", kind):
                    figures.append(figure(bench, kind, frame, args))
        finally:
            thread.stop()
    return figures


def figure(bench: Bench, kind: str, frame: bytes, args: argparse.Namespace) -> Figure:
    """Measure one kind."""
    if kind == "commit":  # answered in a later turn
        return Figure(
            kind, 0, 0, min(bench.time_in_turns(frame, args.requests) for _ in range(args.rounds)), 0
        )
    warm = [bench.time_warm(frame, args.requests) for _ in range(args.rounds)]
    cold = [bench.time_cold(frame, args.requests) for _ in range(max(3, args.rounds // 10))]
    python_calls, c_calls, names = bench.count_calls(frame, args.requests)
    if args.names:
        for name, count in names.most_common():
            print(f"{count / args.requests:6.2f}  {name}")
    return Figure(kind, python_calls, c_calls, min(warm), min(cold))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON for each kind")
    parser.add_argument("--requests", type=int, default=200, help="requests in a round")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--only", default="", help="one kind alone")
    parser.add_argument("--directory", help="where the log is; on a disk in memory writeback is left out")
    parser.add_argument("--names", action="store_true", help="also how often each function is called")
    parser.add_argument("--set", action="append", default=[], type=lambda text: text.split("=", 1))
    args = parser.parse_args()
    for one in measure(args):
        if args.json:
            print(json.dumps(asdict(one)))
        else:
            print(
                f"{one.kind:10}  {one.python_calls:6.1f} Python calls  {one.c_calls:6.1f} of C"
                f"  warm {one.warm_us:6.2f} us  cold {one.cold_us:6.2f} us"
            )


if __name__ == "__main__":
    main()
