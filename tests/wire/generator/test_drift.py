"""What is committed is what the generator and the derivation would write today."""

from pathlib import Path

import pytest

from odradek.wire.apis import APIS, Api
from odradek.wire.generator.__main__ import MESSAGES, SCHEMAS, generate
from odradek.wire.generator.derive import derive
from odradek.wire.schema import render


@pytest.mark.slow
def test_the_messages_are_those_that_the_generator_writes(tmp_path: Path) -> None:
    generate(tmp_path)
    written = {path.name: path.read_text() for path in tmp_path.glob("*.py")}
    committed = {path.name: path.read_text() for path in MESSAGES.glob("*.py")}
    assert written.keys() == committed.keys()
    differing = [name for name in sorted(written) if written[name] != committed[name]]
    assert not differing, f"run `python -m odradek.wire.generator`: {', '.join(differing)}"


@pytest.mark.parametrize(
    "api", [api for api in APIS.values() if not api.inter_broker_only], ids=lambda api: api.name
)
def test_the_field_tables_are_those_that_kio_implies(api: Api) -> None:
    path = SCHEMAS / f"{api.snake_name}.fields"
    assert render(derive(api)) == path.read_text(), "run `python -m odradek.wire.generator.derive`"
