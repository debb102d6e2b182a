"""Writes `odradek/wire/messages` anew: ``python -m odradek.wire.generator``."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from odradek.wire.generator.modules import write_module
from odradek.wire.generator.names import module_name
from odradek.wire.schema import parse

_WIRE: Final = Path(__file__).parent.parent
SCHEMAS: Final = _WIRE / "schemas"
MESSAGES: Final = _WIRE / "messages"


def generate(target: Path) -> None:
    """Write the module of every field table into a folder, formatted as the rest of the tree is."""
    target.mkdir(exist_ok=True)
    for path in sorted(SCHEMAS.glob("*.fields")):
        schema = parse(path.read_text())
        assert module_name(schema) == path.stem, path
        (target / f"{path.stem}.py").write_text(write_module(schema))
    (target / "__init__.py").write_text('"""The messages, one module per API; generated, do not edit."""\n')
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--quiet", "--fix", "--select", "I", str(target)], check=True)
    subprocess.run([*ruff, "format", "--quiet", str(target)], check=True)


if __name__ == "__main__":
    generate(MESSAGES)
