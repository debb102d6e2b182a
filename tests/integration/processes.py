"""What starts broker processes, as its callers see it."""

from pathlib import Path
from subprocess import CompletedProcess
from typing import Protocol

from odradek.testing.broker_process import BrokerProcess


class NewProcess(Protocol):
    """Makes a broker in a process of its own, not yet started; settings by names with underscores."""

    def __call__(self, data_dir: Path | None = None, **settings: str) -> BrokerProcess: ...


class Serve(Protocol):
    """Runs `odradek serve` with these arguments, to its end."""

    def __call__(self, *arguments: str | Path) -> CompletedProcess[str]: ...
