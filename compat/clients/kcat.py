"""kcat: librdkafka on the command line, in the version of the system.

It passes only text: records are separated by a byte that no test writes, and come out as JSON.
"""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import ClassVar

from peers.waiting import WAIT_S_MAX

from compat.clients.model import ISOLATION_LEVELS, Ability, Client, Record, Refused
from odradek.base.error_codes import ErrorCode

RECORD_DELIMITER = b"\x1e"
KEY_DELIMITER = b"\x1f"

# librdkafka's names of errors, with the protocol's code for each.
ERROR_WORDS = {
    "Unknown topic or partition": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "Unknown partition": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "Offset out of range": ErrorCode.OFFSET_OUT_OF_RANGE,
    "Message size too large": ErrorCode.MESSAGE_TOO_LARGE,
}


class KcatClient(Client):
    """kcat -P, -C -J and -Q."""

    name: ClassVar[str] = "kcat"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        {
            Ability.APPEND_TIMES,
            Ability.HEADERS,
            Ability.HEADER_ORDER,
            Ability.IDEMPOTENCE,
            Ability.NEWER_ERRORS,
            Ability.TIME_LOOKUP,
            Ability.TRANSACTIONS,
        }
    )

    @classmethod
    def missing(cls) -> str:
        """It is a Debian package."""
        return "" if shutil.which("kcat") else "kcat is missing (apt-get install kcat)"

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Write with one kcat for each run of records that share partition and headers."""
        for (partition, headers), run in itertools.groupby(
            records, lambda record: (record.partition, record.headers)
        ):
            arguments = [
                "-P",
                "-t",
                topic,
                "-z",
                codec,
                "-D",
                RECORD_DELIMITER.decode(),
                "-K",
                KEY_DELIMITER.decode(),
            ]
            arguments += ["-X", f"acks={acks}", "-X", f"enable.idempotence={str(idempotent).lower()}"]
            arguments += ["-X", "message.max.bytes=10000000"]
            if partition is not None:
                arguments += ["-p", str(partition)]
            for name, value in headers:
                arguments += ["-H", f"{name}={(value or b'').decode()}"]
            lines = [(record.key or b"") + KEY_DELIMITER + (record.value or b"") for record in run]
            self._run(arguments, RECORD_DELIMITER.join(lines))
        return []

    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Read with one kcat that ends after `count` records."""
        arguments = ["-C", "-J", "-q", "-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count)]
        arguments += [
            "-X",
            "auto.offset.reset=error",
            "-X",
            "check.crcs=true",
            "-X",
            "fetch.message.max.bytes=10000000",
            "-X",
            f"isolation.level={ISOLATION_LEVELS[committed_only]}",
        ]
        return [_record(json.loads(line)) for line in self._run(arguments).splitlines()]

    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Query both ends by their special timestamps."""
        return self._query(topic, partition, -2), self._query(topic, partition, -1)

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Query by timestamp; librdkafka answers -1 when there is none."""
        found = self._query(topic, partition, timestamp_ms)
        return found if found >= 0 else None

    def _query(self, topic: str, partition: int, timestamp_ms: int) -> int:
        answer = self._run(["-Q", "-t", f"{topic}:{partition}:{timestamp_ms}"])
        found = re.search(r"\[\d+\] offset (-?\d+)", answer)
        assert found, answer
        return int(found.group(1))

    def _run(self, arguments: list[str], stdin: bytes = b"") -> str:
        command = ["kcat", "-b", self.bootstrap, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=WAIT_S_MAX)
        if done.returncode != 0:
            said = done.stderr.decode()
            for words, error in ERROR_WORDS.items():
                if words in said:
                    raise Refused(error)
            raise RuntimeError(f"{' '.join(command)}: {said}")
        return done.stdout.decode()


def _record(printed: dict[str, object]) -> Record:
    names_and_values = printed.get("headers") or []
    assert isinstance(names_and_values, list)
    pairs = zip(names_and_values[::2], names_and_values[1::2], strict=True)
    value, key = printed["payload"], printed["key"]
    timestamp, partition, offset = printed["ts"], printed["partition"], printed["offset"]
    assert isinstance(timestamp, int)
    assert isinstance(partition, int)
    assert isinstance(offset, int)
    return Record(
        value=value.encode() if isinstance(value, str) else None,
        key=key.encode() if isinstance(key, str) else None,
        headers=tuple((str(name), None if value is None else str(value).encode()) for name, value in pairs),
        timestamp_ms=timestamp,
        partition=partition,
        offset=offset,
    )
