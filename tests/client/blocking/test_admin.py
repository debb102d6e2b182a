"""The blocking admin client, on a broker of this process."""

from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path

import pytest

import odradek
import odradek.aio
from odradek import (
    EARLIEST,
    LATEST,
    Admin,
    ApiError,
    ElementsRefused,
    ErrorCode,
    NewTopic,
    SettingError,
    TopicPartition,
    TopicPartitionReplica,
)
from odradek.client.aio.home import Misuse
from odradek.testing import Broker

pytestmark = pytest.mark.slow

FLIGHTS = TopicPartition("flights", 0)
OPERATIONS = {name for name in vars(odradek.aio.Admin) if not name.startswith("_")}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def test_operations_are_those_of_the_asyncio_client(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("flights", 2)])
        broker.produce("flights", "EWR to IAH", partition=0)
        assert admin.list_topics() == ["flights"]
        assert admin.why() == []
        assert admin.list_offsets({FLIGHTS: LATEST}) == {FLIGHTS: 1}
        assert admin.delete_records({FLIGHTS: 1}) == {FLIGHTS: 1}
        assert admin.list_offsets({FLIGHTS: EARLIEST}) == {FLIGHTS: 1}
        with pytest.raises(ApiError, match="there is no topic planes"):
            admin.describe_topics(["planes"])
        admin.delete_topics(["flights"])
    assert [str(why) for why in admin.why()] == ["the admin client was closed"]
    with pytest.raises(Misuse, match="this admin client was closed"):
        admin.list_topics()


def test_replicas_move_between_log_directories(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("first", "second")]
    replica = TopicPartitionReplica("flights", 0, 1)
    with (
        Broker(settings={"log.dirs": ",".join(paths), "node.id": 1}) as broker,
        Admin(broker.bootstrap_servers) as admin,
    ):
        admin.create_topic("flights")
        broker.produce("flights", "EWR to IAH")
        (before,) = admin.describe_replica_log_dirs([replica]).values()
        (target,) = set(paths) - {before.path}
        with pytest.raises(ElementsRefused, match="flights-0 on broker 1: log dir not found") as refused:
            admin.alter_replica_log_dirs({replica: "/nowhere"})
        assert refused.value.code is ErrorCode.LOG_DIR_NOT_FOUND
        with pytest.raises(ElementsRefused) as unknown:
            admin.alter_replica_log_dirs({replica: target, TopicPartitionReplica("flights", 0, 7): target})
        assert list(unknown.value.refused) == [TopicPartitionReplica("flights", 0, 7)]
        assert unknown.value.done == [replica]
        while (now := admin.describe_replica_log_dirs([replica])[replica]).path != target:
            assert now.path == before.path
        directories = {one.path: one for one in admin.describe_log_dirs()}
        assert replica.topic_partition in directories[target].sizes
        assert replica.topic_partition not in directories[before.path or ""].sizes
        assert [record.value for record in broker.records("flights")] == [b"EWR to IAH"]


def test_both_clients_have_the_same_operations_and_describe_them() -> None:
    assert {name for name in vars(Admin) if not name.startswith("_")} == OPERATIONS
    assert len(OPERATIONS) > 20
    for name in OPERATIONS:
        assert (getattr(Admin, name).__doc__ or "").strip(), name
        assert getattr(Admin, name).__name__ == name


@pytest.mark.parametrize("kind", [Admin, odradek.aio.Admin])
def test_help_shows_the_arguments_of_an_operation(kind: type[Admin] | type[odradek.aio.Admin]) -> None:
    parameters = {name: [*signature(getattr(kind, name)).parameters.values()] for name in OPERATIONS}
    assert [one.name for one in parameters["create_topic"]][:3] == ["self", "name", "partitions"]
    admin = object.__new__(kind)
    assert list(signature(admin.create_topic).parameters)[:2] == ["name", "partitions"]
    assert list(signature(admin.describe_cluster).parameters) == ["timeout"]
    results = {name: signature(getattr(kind, name)).return_annotation for name in OPERATIONS}
    assert (results["create_topics"], results["list_topics"]) == (None, list[str])
    for *_, last in parameters.values():
        assert (last.name, last.kind, last.default) == ("timeout", Parameter.KEYWORD_ONLY, None)


def test_nobody_there_is_an_error_in_its_time() -> None:
    with (
        Admin("127.0.0.1:1", default_api_timeout_ms=300) as admin,
        pytest.raises(ApiError, match="given up after 300 ms"),
    ):
        admin.list_topics()


@pytest.mark.parametrize("name", ["list_topics", "describe_cluster", "list_groups"])
def test_a_call_may_have_a_time_of_its_own(name: str) -> None:
    with Admin("127.0.0.1:1", default_api_timeout_ms=100) as admin:
        with pytest.raises(ApiError, match="given up after 250 ms"):
            getattr(admin, name)(timeout=0.25)
        with pytest.raises(ApiError, match="given up after 100 ms"):
            getattr(admin, name)()
        for wrong, error in (("1", TypeError), (float("nan"), ValueError)):
            with pytest.raises(error, match="a timeout is a number of seconds, not"):
                getattr(admin, name)(timeout=wrong)


def test_wrong_settings_start_no_thread() -> None:
    with pytest.raises(SettingError, match=r"did you mean client\.id"):
        Admin("127.0.0.1:1", client_idd="me")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("timeout", "error"), [("1", TypeError), (b"", TypeError), (float("nan"), ValueError)]
)
def test_what_is_no_time_ends_no_client(timeout: object, error: type[Exception]) -> None:
    with Admin("127.0.0.1:1", default_api_timeout_ms=100) as admin:
        with pytest.raises(error, match="a timeout is a number of seconds, not"):
            admin.close(timeout)  # type: ignore[arg-type]
        with pytest.raises(ApiError, match="given up after 100 ms"):
            admin.list_topics()
        admin.close(float("inf"))
    assert not admin._network._thread.is_alive()
