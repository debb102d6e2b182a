"""`odradek.Admin`: the admin client for programs without asyncio; any thread may use it.

    with Admin("localhost:9092") as admin:
        admin.create_topic("flights", partitions=3)
        for topic in admin.describe_topics():
            print(topic.name, len(topic.partitions))

Its operations, arguments and errors are those of `odradek.aio.Admin` (`client/aio/admin`), which it runs on a
thread of its own.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

from odradek.client.aio import admin as aio
from odradek.client.aio.admin_method import Method
from odradek.client.blocking.operations import Operations
from odradek.client.setting_types import AdminSettings

if TYPE_CHECKING:
    import ssl

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(method: Method[P, Coroutine[Any, Any, T]]) -> Method[P, T]:
    """The blocking form of a method."""

    coroutine = cast(Callable[..., Coroutine[Any, Any, T]], method)

    @wraps(coroutine)
    def call(self: "Admin", /, *arguments: object, **named: object) -> T:
        return self._network.run(lambda: coroutine(self._operations, *arguments, **named))

    return cast(Method[P, T], call)


class Admin(Operations[aio.Admin]):
    """An admin client; see the module. It raises ApiError for refusals.

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
        super().__init__(
            aio.Admin(
                bootstrap_servers,
                settings=settings,
                ssl_context=ssl_context,
                token_provider=token_provider,
                **named,
            )
        )

    describe_cluster = _blocking(aio.Admin.describe_cluster)
    elect_leaders = _blocking(aio.Admin.elect_leaders)
    describe_log_dirs = _blocking(aio.Admin.describe_log_dirs)
    describe_replica_log_dirs = _blocking(aio.Admin.describe_replica_log_dirs)
    alter_replica_log_dirs = _blocking(aio.Admin.alter_replica_log_dirs)
    list_topics = _blocking(aio.Admin.list_topics)
    describe_topics = _blocking(aio.Admin.describe_topics)
    create_topic = _blocking(aio.Admin.create_topic)
    create_topics = _blocking(aio.Admin.create_topics)
    delete_topics = _blocking(aio.Admin.delete_topics)
    create_partitions = _blocking(aio.Admin.create_partitions)
    describe_configs = _blocking(aio.Admin.describe_configs)
    alter_configs = _blocking(aio.Admin.alter_configs)
    list_offsets = _blocking(aio.Admin.list_offsets)
    delete_records = _blocking(aio.Admin.delete_records)
    list_groups = _blocking(aio.Admin.list_groups)
    describe_group = _blocking(aio.Admin.describe_group)
    delete_group = _blocking(aio.Admin.delete_group)
    list_group_offsets = _blocking(aio.Admin.list_group_offsets)
    alter_group_offsets = _blocking(aio.Admin.alter_group_offsets)
    delete_group_offsets = _blocking(aio.Admin.delete_group_offsets)
    list_transactions = _blocking(aio.Admin.list_transactions)
    describe_transaction = _blocking(aio.Admin.describe_transaction)
    fence_producer = _blocking(aio.Admin.fence_producer)
    describe_features = _blocking(aio.Admin.describe_features)
    update_features = _blocking(aio.Admin.update_features)
    describe_metadata_quorum = _blocking(aio.Admin.describe_metadata_quorum)
    describe_acls = _blocking(aio.Admin.describe_acls)
    create_acls = _blocking(aio.Admin.create_acls)
    delete_acls = _blocking(aio.Admin.delete_acls)
    describe_client_quotas = _blocking(aio.Admin.describe_client_quotas)
    describe_user_scram_credentials = _blocking(aio.Admin.describe_user_scram_credentials)
    list_partition_reassignments = _blocking(aio.Admin.list_partition_reassignments)
    alter_partition_reassignments = _blocking(aio.Admin.alter_partition_reassignments)
    list_config_resources = _blocking(aio.Admin.list_config_resources)
    remove_members_from_group = _blocking(aio.Admin.remove_members_from_group)
    describe_producers = _blocking(aio.Admin.describe_producers)
    abort_transaction = _blocking(aio.Admin.abort_transaction)
