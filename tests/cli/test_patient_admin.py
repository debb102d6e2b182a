import socket

import pytest

from odradek.base.errors import ApiError
from odradek.cli import waiting
from odradek.cli.main import EXIT_FAILED, run
from odradek.cli.patient_admin import WaitingAdmin, patient_admin
from odradek.client.administering import admin_settings, opened
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.topics import list_topics
from odradek.client.core.operation import Operation
from odradek.testing import Broker


@pytest.mark.parametrize("arguments", [["topics", "list", "--json"], ["cluster", "describe", "--json"]])
def test_a_command_that_gets_no_answer_says_so_once_on_the_error_output(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server hangs up when the notice is said, so that the command ends."""
    said = []
    monkeypatch.setattr(waiting, "FIRST_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"

        def hang_up(sentence: str, *, as_error: bool) -> None:
            said.append((sentence, as_error))
            connection, _ = silent.accept()
            connection.close()

        monkeypatch.setattr(waiting, "say", hang_up)
        assert run([*arguments, "-b", address]) == EXIT_FAILED
    ((sentence, is_error),) = said
    assert sentence.startswith("odradek: there has been no answer for ")
    assert sentence.endswith(f" s: none of {address} has answered or refused")
    assert is_error
    assert capsys.readouterr().out == ""


def test_it_waits_only_while_an_operation_is_under_way() -> None:
    with Broker() as broker, opened(admin_settings(ClientConfig(broker.bootstrap_servers))) as inner:
        admin = WaitingAdmin(inner, broker.bootstrap_servers)
        assert admin.waiting_since_s is None
        assert admin.obstacle == f"none of {broker.bootstrap_servers} has answered or refused"
        admin.reach()
        assert admin.waiting_since_s is None
        assert admin.obstacle == ""
        seen = []

        def looking() -> Operation[None]:
            seen.append(admin.waiting_since_s)
            yield from list_topics()

        admin.carry_out(looking())
        assert seen[0] is not None
        assert admin.waiting_since_s is None


def test_what_does_not_answer_is_refused_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = ClientConfig(f"127.0.0.1:{silent.getsockname()[1]}", request_timeout_ms=50)
        with pytest.raises(ApiError, match=r"did not answer within 0\.05 s"), patient_admin(config):
            pytest.fail("it was not reached")
