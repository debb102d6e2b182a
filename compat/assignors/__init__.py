"""Apache Kafka's uniform assignor as a process: groups in, assignments out."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

from peers.compiling import compiled
from peers.jars import class_path

from odradek.coordinator.assignors import Assignment, Subscriber

SOURCES = [Path(__file__).with_name("UniformHistories.java")]
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256M")


class KafkaUniformAssignor:
    """A context manager; raises JarsMissing on entry if Kafka cannot be fetched."""

    def __enter__(self) -> Self:
        classes = compiled("compat-assignors", SOURCES, class_path())
        command = ["java", *FLAGS, "-cp", f"{classes}:{class_path()}", "UniformHistories"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def assign(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> dict[str, Assignment]:
        """Kafka's new assignment of each member, from the current one."""
        group = {
            "topics": {str(topic): count for topic, count in counts.items()},
            "members": [
                {
                    "id": one.member_id,
                    "instance": one.instance_id,
                    "topics": [str(topic) for topic in one.topics],
                    "target": {str(topic): sorted(held) for topic, held in one.target.items()},
                }
                for one in members
            ],
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(group) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return {
            name: {UUID(topic): frozenset(held) for topic, held in given.items()}
            for name, given in answer.items()
        }
