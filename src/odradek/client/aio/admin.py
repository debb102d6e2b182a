"""`odradek.aio.Admin`: asks a cluster about its topics, groups, settings and transactions, and changes them.

    async with Admin("localhost:9092") as admin:
        await admin.create_topic("flights", partitions=3)
        for topic in await admin.describe_topics():
            print(topic.name, len(topic.partitions))

The operations are in `client/core/admin`; this class sends what they ask for. An operation goes on while
brokers are away, coordinators move and leaders are elected, at most for `default.api.timeout.ms`, and then
raises what kept it. Cancelling it leaves the client usable; a change that was sent may then be carried out
all the same.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.driver import Driver
from odradek.client.aio.options import driver_options
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
from odradek.client.core.admin.operation import Operation, Pause, within
from odradek.client.core.admin.reasons import UnderWay, why
from odradek.client.core.backoff import Backoff
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.waiting import Cause, Why
from odradek.client.metrics import Metrics
from odradek.client.settings import (
    CLIENT_ID,
    DEFAULT_API_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    Client,
    read_settings,
)

if TYPE_CHECKING:
    import ssl

P = ParamSpec("P")
T = TypeVar("T")


def _method(
    operation: Callable[P, Operation[T]],
) -> "Callable[Concatenate[Admin, P], Coroutine[Any, Any, T]]":
    """A method that carries out an operation, with its arguments and its description."""

    @wraps(operation)
    async def method(self: "Admin", /, *arguments: P.args, **named: P.kwargs) -> T:
        return await self._carry_out(operation.__name__, operation(*arguments, **named))

    return method


class Admin:
    """An admin client on the running loop; see the module. It raises ApiError for refusals.

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
        **named: object,
    ) -> None:
        """Nothing is connected before the first operation. Raises SettingError."""
        given = {**(settings or {}), **named}
        if bootstrap_servers is not None:
            given["bootstrap_servers"] = bootstrap_servers
        self._settings = read_settings(
            Client.ADMIN, given, ssl_context=ssl_context, token_provider=token_provider
        )
        # None until the first operation, which has a running loop.
        self._driver: Driver | None = None
        # The operations that have not ended, the oldest first (the values mean nothing).
        self._under_way: dict[UnderWay, None] = {}
        self._is_closed = False

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

    def metrics(self) -> Metrics:
        """Counts since the start and figures of now, by Kafka's names; see `odradek.client.metrics`."""
        figures = {} if self._driver is None else self._driver.figures()
        return Metrics("admin_client", self._settings[CLIENT_ID], figures)

    def why(self) -> list[Why]:
        """What the operations under way wait for, the worst cause first; empty if there are none."""
        if self._is_closed:
            return [Why(Cause.CLOSED, "the admin client was closed")]
        driver = self._driver
        return [] if driver is None else why([*self._under_way], driver.view, driver.routing, driver.now_ms)

    async def close(self) -> None:
        """Close all connections; operations under way fail. Closing it again does nothing."""
        self._is_closed = True
        if self._driver is not None:
            self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _carry_out(self, name: str, operation: Operation[T]) -> T:
        driver = self._running_driver()
        under_way = UnderWay(name, driver.now_ms)
        self._under_way[under_way] = None
        try:
            return await self._steps(operation, driver, under_way)
        finally:
            del self._under_way[under_way]

    async def _steps(self, operation: Operation[T], driver: Driver, under_way: UnderWay) -> T:
        deadline_ms = driver.now_ms + self._settings[DEFAULT_API_TIMEOUT_MS]
        try:
            effect = next(operation)
            while True:
                if isinstance(effect, Pause):
                    under_way.sends, under_way.pause = (), effect
                    await self._pause(driver, effect, deadline_ms)
                    effect = operation.send(())
                else:
                    effect = operation.send(await self._send(driver, effect, deadline_ms, under_way))
                    if not isinstance(effect, Pause):
                        under_way.pause = None
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(
        self, driver: Driver, sends: Sequence[Send], deadline_ms: int, under_way: UnderWay
    ) -> list[Outcome]:
        left_ms = max(1, deadline_ms - driver.now_ms)
        timeout_ms = min(self._settings[REQUEST_TIMEOUT_MS], left_ms)
        under_way.sends = [within(one, timeout_ms) for one in sends]
        return list(await asyncio.gather(*(driver.ask(one) for one in under_way.sends)))

    async def _pause(self, driver: Driver, pause: Pause, deadline_ms: int) -> None:
        """Wait before the next attempt. Raises why the last one failed if there is no time for another."""
        if self._is_closed:
            raise pause.error
        for send, code in pause.refused:
            driver.routing.refused(send, code)
        driver.view.refresh_soon(driver.now_ms)
        backoff = Backoff(
            self._settings[RETRY_BACKOFF_MS], self._settings[RETRY_BACKOFF_MAX_MS], driver.chance
        )
        wait_ms = backoff.after(pause.number)
        if driver.now_ms + wait_ms >= deadline_ms:
            waited_ms = self._settings[DEFAULT_API_TIMEOUT_MS]
            raise ApiError(pause.error.code, f"given up after {waited_ms:,} ms: {pause.error}")
        await asyncio.sleep(wait_ms / 1000)

    def _running_driver(self) -> Driver:
        if self._is_closed:
            raise ApiError(ErrorCode.INVALID_REQUEST, "this admin client was closed")
        if self._driver is None:
            self._driver = Driver(driver_options(self._settings), asyncio.get_running_loop())
            self._driver.pump()
        return self._driver
