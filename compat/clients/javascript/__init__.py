"""KafkaJS, in the version of `package.json`, with the codecs that other packages provide."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from peers.cache import adding, cache_directory

from compat.clients.model import ALL_ABILITIES, Ability
from compat.clients.program import ProgramClient

SOURCES = Path(__file__).parent
FILES = ("main.js", "members.js", "package.json")
FETCH_TIMEOUT_S = 300


class KafkaJsClient(ProgramClient):
    """KafkaJS's Producer, and the fetch and the batches under its Consumer, which reads only in groups."""

    name: ClassVar[str] = "kafkajs"
    # It keeps headers as an object, which merges headers of equal names.
    abilities: ClassVar[frozenset[Ability]] = ALL_ABILITIES - {Ability.HEADER_ORDER, Ability.NULL_HEADERS}

    @classmethod
    def missing(cls) -> str:
        """It needs Node and npm."""
        there = shutil.which("node") and shutil.which("npm")
        return "" if there else "node or npm is missing (apt-get install nodejs npm)"

    def command(self) -> list[str]:
        """Fetch the packages once for each state of the sources; Node looks for them beside the program."""
        state = b"".join((SOURCES / name).read_bytes() for name in FILES)
        program = cache_directory() / f"compat-{self.name}-{hashlib.sha256(state).hexdigest()[:12]}"
        with adding(program) as is_missing:
            if is_missing:
                _fetch(program)
        return ["node", str(program / "main.js"), self.bootstrap]


def _fetch(program: Path) -> None:
    # Fetched aside and renamed, so that an interrupted fetch never looks like a whole one.
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        for name in FILES:
            shutil.copy(SOURCES / name, scratch)
        install = ["npm", "install", "--omit=dev", "--no-audit", "--no-fund", "--no-package-lock"]
        subprocess.run(install, cwd=scratch, check=True, capture_output=True, timeout=FETCH_TIMEOUT_S)
        whole = Path(scratch, "whole")
        whole.mkdir()
        for name in (*FILES, "node_modules"):
            Path(scratch, name).rename(whole / name)
        whole.rename(program)
