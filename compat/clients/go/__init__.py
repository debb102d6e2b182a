"""The Go clients in the versions of `go.mod`: a program each, and their shared code in `lines`."""

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from peers.cache import adding, cache_directory

from compat.clients.model import ALL_ABILITIES, Ability
from compat.clients.program import ProgramClient

SOURCES = Path(__file__).parent
BUILD_TIMEOUT_S = 300


class GoClient(ProgramClient):
    """A client whose program is in a folder of this package."""

    folder: ClassVar[str]

    @classmethod
    def missing(cls) -> str:
        """It needs a compiler that is new enough."""
        return _compiler_missing()

    def command(self) -> list[str]:
        """Build once for each state of the sources."""
        sources = [*sorted(SOURCES.glob("lines/*.go")), *sorted(SOURCES.glob(f"{self.folder}/*.go"))]
        state = b"".join(path.read_bytes() for path in [*sources, SOURCES / "go.mod"])
        program = cache_directory() / f"compat-{self.name}-{hashlib.sha256(state).hexdigest()[:12]}"
        with adding(program) as is_missing:
            if is_missing:
                self._build(program)
        return [str(program), self.bootstrap]

    def _build(self, program: Path) -> None:
        # Built aside and renamed, so that an interrupted build never looks like a whole one.
        with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
            whole = Path(scratch, "whole")
            build = ["go", "build", "-buildvcs=false", "-o", str(whole), f"./{self.folder}"]
            subprocess.run(build, cwd=SOURCES, check=True, timeout=BUILD_TIMEOUT_S)
            whole.rename(program)


class FranzGoClient(GoClient):
    """kgo.Client, producing and consuming."""

    name: ClassVar[str] = "franz-go"
    folder: ClassVar[str] = "franz"


class SaramaClient(GoClient):
    """sarama's SyncProducer and Consumer."""

    name: ClassVar[str] = "sarama"
    folder: ClassVar[str] = "sarama"


class KafkaGoClient(GoClient):
    """kafka-go's Writer and Reader."""

    name: ClassVar[str] = "kafka-go"
    folder: ClassVar[str] = "segmentio"
    abilities: ClassVar[frozenset[Ability]] = ALL_ABILITIES - {
        Ability.APPEND_TIMES,
        Ability.IDEMPOTENCE,
        Ability.NULLS,
        Ability.NULL_HEADERS,
        Ability.TRANSACTIONS,
    }


@functools.cache
def _compiler_missing() -> str:
    if shutil.which("go") is None:
        return "go is missing (apt-get install golang-go)"
    needed = _version((SOURCES / "go.mod").read_text())
    found = _version(subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True).stdout)
    return "" if found >= needed else f"go {'.'.join(map(str, needed))} is needed"


def _version(text: str) -> tuple[int, ...]:
    found = re.search(r"\bgo ?(\d+)\.(\d+)", text)
    assert found, f"no version of Go in {text!r}"
    return int(found.group(1)), int(found.group(2))
