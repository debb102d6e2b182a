"""What the log says of altered settings: who altered which settings of which resource."""

import logging

import pytest

from odradek.server.edge.complaints import SAID_MAX
from odradek.server.handlers.altered_configs import CHANGES_LOGGED_MAX, RESOURCES_LOGGED_MAX
from odradek.testing.sim import SimNode
from odradek.wire.messages import alter_configs as replacing
from odradek.wire.messages import incremental_alter_configs as amending
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(autouse=True)
def flights(node: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))
    caplog.set_level(logging.INFO, "odradek.server")
    caplog.clear()


def resource(kind: int, name: str, *operations: tuple[str, int, str | None]) -> amending.AlterConfigsResource:
    configs = [amending.AlterableConfig(*operation) for operation in operations]
    return amending.AlterConfigsResource(kind, name, configs)


def amend(node: SimNode, *resources: amending.AlterConfigsResource, validate_only: bool = False) -> None:
    node.ask(amending.IncrementalAlterConfigsRequest(list(resources), validate_only))


def replace(node: SimNode, kind: int, name: str, *settings: tuple[str, str | None]) -> None:
    configs = [replacing.AlterableConfig(*setting) for setting in settings]
    node.ask(replacing.AlterConfigsRequest([replacing.AlterConfigsResource(kind, name, configs)]))


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines about altered settings, without the name of the client."""
    lines = [line for line in caplog.messages if line.startswith("settings of")]
    assert all(" altered by " in line for line in lines)
    return [line.replace(line.partition(" altered by ")[2].partition(": ")[0], "...") for line in lines]


def test_a_line_names_the_client_the_resource_and_the_settings(
    node: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    amend(node, resource(TOPIC, "flights", ("retention.ms", SET, "1000"), ("segment.ms", DELETE, None)))
    amend(node, resource(TOPIC, "flights", ("cleanup.policy", APPEND, "compact")))
    amend(node, resource(TOPIC, "flights", ("cleanup.policy", SUBTRACT, "delete")))
    amend(node, resource(BROKER, "0", ("log.retention.ms", SET, "6000")))
    amend(node, resource(BROKER, "", ("log.retention.ms", SET, "5000")))
    amend(node, resource(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")))
    assert told(caplog) == [
        "settings of topic 'flights' altered by ...: retention.ms=1000, segment.ms deleted",
        "settings of topic 'flights' altered by ...: cleanup.policy+=compact",
        "settings of topic 'flights' altered by ...: cleanup.policy-=delete",
        "settings of broker 0 altered by ...: log.retention.ms=6000",
        "settings of all brokers altered by ...: log.retention.ms=5000",
        "settings of group 'g' altered by ...: consumer.session.timeout.ms=50000",
    ]
    first = next(record for record in caplog.records if record.getMessage().startswith("settings of"))
    named = vars(first)
    assert named["address"] in first.getMessage()
    assert (named["resource"], first.levelno) == ("topic 'flights'", logging.INFO)


def test_a_replacement_says_what_is_left(node: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    replace(node, TOPIC, "flights", ("retention.ms", "1000"), ("segment.ms", "2000"))
    replace(node, TOPIC, "flights")
    assert told(caplog) == [
        "settings of topic 'flights' altered by ...: all replaced by retention.ms=1000, segment.ms=2000",
        "settings of topic 'flights' altered by ...: all deleted",
    ]


def test_secret_values_are_never_shown(node: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    secrets = ("listener.name.plaintext.ssl.key.password", SET, "s3cret"), ("api.tokn", SET, "s3cret")
    amend(node, resource(BROKER, "0", *secrets))
    assert "listener.name.plaintext.ssl.key.password=(hidden), api.tokn=(hidden)" in caplog.text
    assert "s3cret" not in caplog.text


def test_what_is_refused_or_only_validated_is_not_logged(
    node: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    change = resource(TOPIC, "flights", ("retention.ms", SET, "1000"))
    amend(node, change, validate_only=True)
    amend(node, resource(TOPIC, "flights", ("retention.ms", SET, "soon")), resource(TOPIC, "none"))
    assert told(caplog) == []
    amend(node, resource(TOPIC, "flights", ("retention.ms", SET, "soon")), change)
    assert told(caplog) == [], "a resource named twice is refused"


def test_clients_do_not_decide_how_much_is_logged(node: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    settings = [(f"x.{number}", SET, "1") for number in range(CHANGES_LOGGED_MAX + 7)]
    groups = [
        resource(GROUP, f"g{number}", ("consumer.session.timeout.ms", SET, "50000"))
        for number in range(RESOURCES_LOGGED_MAX + 5)
    ]
    amend(node, resource(BROKER, "0", *settings))
    (line,) = told(caplog)
    assert line.endswith(" and 7 more"), line
    amend(node, *groups)
    assert len(told(caplog)) == SAID_MAX
