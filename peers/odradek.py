"""Odradek as a user starts it: the installed command, a data directory and a server.properties."""

import sys
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from peers.process import BrokerProcess, write_properties


class OdradekBroker(BrokerProcess):
    """`odradek serve` of the environment that runs this."""

    name: ClassVar[str] = "odradek"

    @classmethod
    def version(cls) -> str:
        """The name and version for reports."""
        return f"Odradek {metadata.version('odradek')}"

    def prepare(self) -> None:
        """Write the settings as Kafka's server.properties."""
        write_properties(self.directory / "server.properties", self.settings)

    def environment(self) -> dict[str, str]:
        """Let Python write its bytecode cache: an installed package has one from its installation on."""
        environment = super().environment()
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment

    def command(self) -> list[str]:
        """The console script beside this interpreter."""
        return self.serve("--port", str(self.port), "--data-dir", str(self.data_directory))

    def serve(self, *arguments: str) -> list[str]:
        """`odradek serve` with these arguments and the settings."""
        script = Path(sys.executable).with_name("odradek")
        return [str(script), "serve", *arguments, "--config", str(self.directory / "server.properties")]
