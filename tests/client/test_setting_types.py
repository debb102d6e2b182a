"""What type checkers know of the settings is what the table has."""

from typing import Any, get_type_hints

import pytest

from odradek.client.protection import NAMES as PROTECTION_NAMES
from odradek.client.setting_types import AdminSettings, ConsumerSettings, ProducerSettings
from odradek.client.settings import ACKS, BOOTSTRAP_SERVERS, PARTITION_ASSIGNMENT_STRATEGY, TABLE, Client

OTHERS: dict[object, Any] = {
    BOOTSTRAP_SERVERS: str | list[str],
    PARTITION_ASSIGNMENT_STRATEGY: str | list[str],
    ACKS: int | str,
}


@pytest.mark.parametrize(
    ("client", "types", "elsewhere"),
    [
        (Client.CONSUMER, ConsumerSettings, set()),
        (Client.PRODUCER, ProducerSettings, {BOOTSTRAP_SERVERS}),
        (Client.ADMIN, AdminSettings, {BOOTSTRAP_SERVERS}),
    ],
)
def test_names_and_types_are_those_of_the_table(client: Client, types: type, elsewhere: set[object]) -> None:
    """`elsewhere` is an argument of its own."""
    expected = {name.replace(".", "_"): str for name in PROTECTION_NAMES}
    for setting in TABLE:
        if client in setting.clients and setting not in elsewhere:
            default = str if setting.default is None else type(setting.default)
            expected[setting.name.replace(".", "_")] = OTHERS.get(setting, default)
    assert get_type_hints(types) == expected
