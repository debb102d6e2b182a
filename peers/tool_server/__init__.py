"""Runs Apache Kafka's tools in JVMs that stay, as each would otherwise need two seconds to start one.

A tool runs as by its script: its main class, with its arguments and standard input, to its exit code and
output. The classes of tools are loaded anew for each run. `ToolServer.java` says which lines go to and fro.
"""

import base64
import select
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from peers.compiling import compiled

SOURCES = (Path(__file__).with_name("ToolServer.java"),)

_idle: defaultdict[tuple[tuple[str, ...], str], list["ToolServer"]] = defaultdict(list)
"""Those that wait for their next tool, by flags and class path.

They end with this process, which holds their standard input.
"""


def can_serve() -> bool:
    """Whether there is a compiler for it."""
    return shutil.which("javac") is not None


def served(
    flags: Sequence[str],
    class_path: str,
    main_class: str,
    arguments: Sequence[str],
    stdin: str,
    timeout_s: float,
) -> "subprocess.CompletedProcess[str]":
    """Run a tool in a JVM that no other tool is in. Raises subprocess.TimeoutExpired, and ends that JVM."""
    idle = _idle[tuple(flags), class_path]
    server = idle.pop() if idle else ToolServer(flags, class_path)
    try:
        done = server.run(main_class, arguments, stdin, timeout_s)
    except BaseException:
        server.kill()
        raise
    idle.append(server)
    return done


class ToolServer:
    """One JVM, for one tool at a time."""

    def __init__(self, flags: Sequence[str], class_path: str) -> None:
        classes = compiled("tool-server", SOURCES, class_path)
        self._process = subprocess.Popen(
            ["java", *flags, "-cp", f"{classes}:{class_path}", "ToolServer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self, main_class: str, arguments: Sequence[str], stdin: str, timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run a tool to its end. Raises subprocess.TimeoutExpired."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = (main_class, stdin, *arguments)
        self._process.stdin.write(b"\t".join(base64.b64encode(word.encode()) for word in words) + b"\n")
        self._process.stdin.flush()
        # Invariant: at most one answer is on its way, so the reader's own buffer holds none.
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            raise subprocess.TimeoutExpired([main_class, *arguments], timeout_s)
        answer = self._process.stdout.readline()
        assert answer, f"the JVM of the tools ended in {main_class} {' '.join(arguments)}"
        code, output, errors = answer.rstrip(b"\n").split(b"\t")
        return subprocess.CompletedProcess(
            [main_class, *arguments],
            int(code),
            base64.b64decode(output).decode(),
            base64.b64decode(errors).decode(),
        )

    def kill(self) -> None:
        """End it, with what runs in it."""
        self._process.kill()
        self._process.communicate()
