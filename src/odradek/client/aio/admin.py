"""`odradek.aio.Admin`: asks a cluster about its topics, groups, settings and transactions, and changes them.

    async with Admin("localhost:9092") as admin:
        await admin.create_topic("flights", partitions=3)
        for topic in await admin.describe_topics():
            print(topic.name, len(topic.partitions))

The operations are in `client/core/admin`, and `operations` beside this file carries them out, at most for
`timeout` seconds, which each method takes by name, else for `default.api.timeout.ms`.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from odradek.client.aio.admin_method import Method, shown
from odradek.client.aio.argument_types import check_arguments
from odradek.client.aio.arguments import seconds_of
from odradek.client.aio.operations import Operations
from odradek.client.core.admin import (
    acls,
    cluster,
    configs,
    features,
    groups,
    log_dirs,
    offsets,
    quorum,
    reassignments,
    topics,
    transactions,
    users,
)
from odradek.client.core.operation import Operation
from odradek.client.setting_types import AdminSettings
from odradek.client.settings import Client, read_settings

if TYPE_CHECKING:
    import ssl

P = ParamSpec("P")
T = TypeVar("T")


def _method(operation: Callable[P, Operation[T]]) -> Method[P, Coroutine[Any, Any, T]]:
    """A method that carries out an operation, with its arguments, its description and a time of its own."""

    begin: Callable[..., Operation[T]] = operation

    @wraps(operation)
    async def method(
        self: "Admin", /, *arguments: object, timeout: float | None = None, **named: object
    ) -> T:
        self._check_home()  # who calls it from the wrong place is told that first
        timeout = None if timeout is None else seconds_of(timeout)
        check_arguments(operation, arguments, named)
        return await self.carry_out(begin(*arguments, **named), operation.__name__, timeout=timeout)

    # `wraps` alone shows the operation's, in which the first argument would stand for the client.
    method.__signature__ = shown(operation)  # type: ignore[attr-defined]
    return cast(Method[P, Coroutine[Any, Any, T]], method)


class Admin(Operations):
    """An admin client on the running loop; see the module.

    Its methods raise ApiError for refusals, and TypeError for arguments of other types than they declare.

    Settings have Kafka's names, in the mapping `settings`, or Python's, as arguments
    (`request_timeout_ms=5_000`).
    """

    def __init__(
        self,
        bootstrap_servers: str | list[str] | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        ssl_context: "ssl.SSLContext | None" = None,
        token_provider: Callable[[], str] | None = None,
        **named: Unpack[AdminSettings],
    ) -> None:
        """Nothing is connected before the first operation. Raises SettingError."""
        given = {**(settings or {}), **named}
        if bootstrap_servers is not None:
            given["bootstrap_servers"] = bootstrap_servers
        super().__init__(
            read_settings(Client.ADMIN, given, ssl_context=ssl_context, token_provider=token_provider)
        )

    describe_cluster = _method(cluster.describe_cluster)
    elect_leaders = _method(cluster.elect_leaders)
    describe_log_dirs = _method(log_dirs.describe_log_dirs)
    describe_replica_log_dirs = _method(log_dirs.describe_replica_log_dirs)
    alter_replica_log_dirs = _method(log_dirs.alter_replica_log_dirs)
    list_topics = _method(topics.list_topics)
    describe_topics = _method(topics.describe_topics)
    create_topic = _method(topics.create_topic)
    create_topics = _method(topics.create_topics)
    delete_topics = _method(topics.delete_topics)
    create_partitions = _method(topics.create_partitions)
    describe_configs = _method(configs.describe_configs)
    alter_configs = _method(configs.alter_configs)
    list_offsets = _method(offsets.list_offsets)
    delete_records = _method(offsets.delete_records)
    list_groups = _method(groups.list_groups)
    describe_group = _method(groups.describe_group)
    delete_group = _method(groups.delete_group)
    list_group_offsets = _method(groups.list_group_offsets)
    alter_group_offsets = _method(groups.alter_group_offsets)
    delete_group_offsets = _method(groups.delete_group_offsets)
    list_transactions = _method(transactions.list_transactions)
    describe_transaction = _method(transactions.describe_transaction)
    fence_producer = _method(transactions.fence_producer)
    describe_features = _method(features.describe_features)
    update_features = _method(features.update_features)
    describe_metadata_quorum = _method(quorum.describe_metadata_quorum)
    describe_acls = _method(acls.describe_acls)
    create_acls = _method(acls.create_acls)
    delete_acls = _method(acls.delete_acls)
    describe_client_quotas = _method(users.describe_client_quotas)
    describe_user_scram_credentials = _method(users.describe_user_scram_credentials)
    list_partition_reassignments = _method(reassignments.list_partition_reassignments)
    alter_partition_reassignments = _method(reassignments.alter_partition_reassignments)
    list_config_resources = _method(configs.list_config_resources)
    remove_members_from_group = _method(groups.remove_members_from_group)
    describe_producers = _method(transactions.describe_producers)
    abort_transaction = _method(transactions.abort_transaction)
