"""Clients of other languages, each a small program that runs as long as the suite and speaks JSON lines.

One request a line on stdin, one answer a line on stdout; keys, values and header values are base64 or null.

    {"do": "write", "topic", "codec", "acks", "idempotent", "records": [...]}      {"offsets": [0, 1]}
    {"do": "read", "topic", "partition", "offset", "count", "committed_only"}      {"records": [...]}
    {"do": "range", "topic", "partition"}                                          {"first": 0, "end": 2}
    {"do": "time", "topic", "partition", "timestamp_ms"}                           {"offset": 1} or null

A record is {"key", "value", "headers": [[name, value]], "timestamp_ms", "partition", "offset"}. A refusal is
{"error": code}, anything else that went wrong {"failure": "in words"}. WAIT_S_MAX in its
environment says after how many seconds the program gives up.
"""

import base64
import json
import os
import select
import subprocess
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from peers.waiting import WAIT_S_MAX

from compat.clients.model import Client, Record, Refused

# A program that does not end when its input does is killed after this.
END_TIMEOUT_S = 10.0
# Longer than any timeout inside a program.
ANSWER_TIMEOUT_S = 1.5 * WAIT_S_MAX
COMPLAINTS_SHOWN_BYTES = 4000


class ProgramClient(Client):
    """A client behind a program; subclasses say how it is built and started."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._process: subprocess.Popen[str] | None = None
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - what the program writes to stderr; closed by close()
        self._turn = threading.Lock()

    @abstractmethod
    def command(self) -> list[str]:
        """The command that runs the program, which is first built or fetched if necessary."""

    def write(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> list[int]:
        """Have the program write."""
        told = [told_of(record) for record in records]
        options = {"codec": codec, "acks": acks, "idempotent": idempotent}
        offsets: list[int] = self.ask({"do": "write", "topic": topic, **options, "records": told})["offsets"]
        return offsets if acks != 0 else []

    def read(
        self, topic: str, count: int, *, partition: int = 0, offset: int = 0, committed_only: bool = False
    ) -> list[Record]:
        """Have the program read."""
        place = {"topic": topic, "partition": partition, "offset": offset}
        wanted = {"count": count, "committed_only": committed_only}
        return [record_of(told) for told in self.ask({"do": "read", **place, **wanted})["records"]]

    def offset_range(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Have the program ask for both ends."""
        answer = self.ask({"do": "range", "topic": topic, "partition": partition})
        return answer["first"], answer["end"]

    def offset_at(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Have the program ask by timestamp."""
        place = {"topic": topic, "partition": partition}
        offset: int | None = self.ask({"do": "time", **place, "timestamp_ms": timestamp_ms})["offset"]
        return offset

    def close(self) -> None:
        """End the program by closing its input."""
        self._complaints.close()
        if self._process is None:
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._process = None

    def ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Send the program one request; starts the program first if it does not run. Raises Refused."""
        with self._turn:
            line = self._exchange(json.dumps(request))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        assert "failure" not in answer, f"{self.name}: {answer['failure']}"
        return answer

    def _exchange(self, line: str) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                text=True,
                env={**os.environ, "WAIT_S_MAX": f"{WAIT_S_MAX:.0f}"},
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        # Invariant: at most one answer is on its way, so the reader's own buffer holds none.
        if not select.select([self._process.stdout], [], [], ANSWER_TIMEOUT_S)[0]:
            self._kill()
            raise AssertionError(f"{self.name} did not answer {line[:300]}; it said: {self._said()}")
        answer = self._process.stdout.readline()
        if not answer:
            self._kill()
            raise AssertionError(f"the program of {self.name} ended; it said: {self._said()}")
        return answer

    def _kill(self) -> None:
        """End a program that is stuck or broken; the next request starts another."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def _said(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read()[-COMPLAINTS_SHOWN_BYTES:].decode(errors="replace")


def told_of(record: Record) -> dict[str, object]:
    """A record in the form that programs receive."""
    return {
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [[name, _base64(value)] for name, value in record.headers],
        "timestamp_ms": record.timestamp_ms,
        "partition": record.partition,
    }


def record_of(told: Mapping[str, Any]) -> Record:
    """A record from a program's answer."""
    return Record(
        value=_bytes(told["value"]),
        key=_bytes(told["key"]),
        headers=tuple((name, _bytes(value)) for name, value in told["headers"]),
        timestamp_ms=told["timestamp_ms"],
        partition=told["partition"],
        offset=told["offset"],
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
