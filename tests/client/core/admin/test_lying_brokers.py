"""An administrator asks a broker that lies: typed errors, and no change is taken for made that was not.

The answers are well formed, as everything is that the wire's decoder lets pass, and say anything: other
topics, groups and partitions, too few entries or too many, codes that nobody knows.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import LATEST
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
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import Outcome
from odradek.wire.apis import APIS
from odradek.wire.message import Message

P0 = TopicPartition("flights", 0)
REPLICA = log_dirs.TopicPartitionReplica("flights", 0, 1)
ACL = acls.Acl("topic", "flights", "User:ada", "read")
PRODUCER = transactions.PartitionProducer(P0, 7, 0, 1, 0, 0, 0)
STEPS_MAX = 40
SEEDS = 60

OPERATIONS: Final[Mapping[str, Callable[[], Operation[Any]]]] = {
    "describe_cluster": cluster.describe_cluster,
    "elect_leaders": lambda: cluster.elect_leaders(cluster.Election.PREFERRED, [P0]),
    "elect_all_leaders": lambda: cluster.elect_leaders(cluster.Election.PREFERRED),
    "describe_log_dirs": log_dirs.describe_log_dirs,
    "describe_replica_log_dirs": lambda: log_dirs.describe_replica_log_dirs([REPLICA]),
    "alter_replica_log_dirs": lambda: log_dirs.alter_replica_log_dirs({REPLICA: "/data"}),
    "list_topics": topics.list_topics,
    "describe_topics": lambda: topics.describe_topics(["flights"]),
    "create_topics": lambda: topics.create_topics([topics.NewTopic("flights")]),
    "delete_topics": lambda: topics.delete_topics(["flights"]),
    "create_partitions": lambda: topics.create_partitions({"flights": 3}),
    "describe_configs": lambda: configs.describe_configs("topic", "flights"),
    "alter_configs": lambda: configs.alter_configs("topic", "flights", {"retention.ms": "1"}),
    "list_config_resources": configs.list_config_resources,
    "list_offsets": lambda: offsets.list_offsets({P0: LATEST}),
    "delete_records": lambda: offsets.delete_records({P0: 5}),
    "list_groups": groups.list_groups,
    "describe_group": lambda: groups.describe_group("billing"),
    "delete_group": lambda: groups.delete_group("billing"),
    "list_group_offsets": lambda: groups.list_group_offsets("billing"),
    "alter_group_offsets": lambda: groups.alter_group_offsets("billing", {P0: 5}),
    "delete_group_offsets": lambda: groups.delete_group_offsets("billing", [P0]),
    "remove_members_from_group": lambda: groups.remove_members_from_group("billing", ["m1"]),
    "list_transactions": transactions.list_transactions,
    "describe_transaction": lambda: transactions.describe_transaction("pay"),
    "fence_producer": lambda: transactions.fence_producer("pay"),
    "describe_producers": lambda: transactions.describe_producers([P0]),
    "abort_transaction": lambda: transactions.abort_transaction(PRODUCER),
    "describe_features": features.describe_features,
    "update_features": lambda: features.update_features({"kraft.version": 1}),
    "describe_metadata_quorum": quorum.describe_metadata_quorum,
    "describe_acls": acls.describe_acls,
    "create_acls": lambda: acls.create_acls([ACL]),
    "delete_acls": lambda: acls.delete_acls([acls.EVERYTHING]),
    "describe_client_quotas": users.describe_client_quotas,
    "describe_user_scram_credentials": users.describe_user_scram_credentials,
    "list_partition_reassignments": reassignments.list_partition_reassignments,
    "alter_partition_reassignments": lambda: reassignments.alter_partition_reassignments({P0: [1]}),
}
TEXTS: Final = (
    "",
    "flights",
    "planes",
    "billing",
    "m1",
    "pay",
    "kraft.version",
    "Stable",
    "consumer",
    "\xe9",
)
NUMBERS: Final = (-2, -1, 0, 1, 2, 3, 7, 12_345, (1 << 31) - 1)
CODES: Final = (0, 0, 0, 0, 0, 0, -1, 3, 6, 15, 16, 41, 69, 12_345)


class Liar:
    """Makes answers of any type, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        # At most so many entries: many arrays of a liar are empty, or too long.
        self._entries_max = self._random.choice((0, 1, 2, 3))

    def answer(self, request: Message) -> Message:
        made = self._made(APIS[request.API_KEY].response_class)
        assert isinstance(made, Message)
        return made

    def _made(self, kind: Any, name: str = "") -> Any:
        if get_origin(kind) in (Union, UnionType):
            return self._made(self._random.choice(get_args(kind)), name)
        if get_origin(kind) is list:
            count = self._random.randint(0, self._entries_max)
            return [self._made(get_args(kind)[0], name) for _ in range(count)]
        if kind is type(None):
            return None
        if kind is int:
            return self._random.choice(CODES if "error_code" in name else NUMBERS)
        plain = {str: TEXTS, bool: (False, True), float: (0.0, 1.5, float("nan"))}
        if kind in plain:
            return self._random.choice(plain[kind])
        if kind is UUID:
            return UUID(int=self._random.choice((0, 7)))
        if kind is bytes or "Buffer" in str(kind) or kind is memoryview:
            return self._random.choice((b"", b"\xff\x00", bytes(50)))
        hints = get_type_hints(kind)
        return kind(**{one.name: self._made(hints[one.name], one.name) for one in fields(kind)})


def carry_out(operation: Operation[Any], answers: Callable[[Message], Message]) -> object:
    """The result; "goes on" while it is refused for reasons that pass. Raises what it raises."""
    try:
        asked = next(operation)
        for _ in range(STEPS_MAX):
            outcomes = (
                () if isinstance(asked, Pause) else [Outcome(one, answers(one.request)) for one in asked]
            )
            asked = operation.send(outcomes)
    except StopIteration as end:
        return end.value
    return "goes on"


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_a_broker_answers_an_operation_ends_with_a_result_or_a_typed_error(name: str) -> None:
    refused = 0
    for seed in range(SEEDS):
        try:
            carry_out(OPERATIONS[name](), Liar(seed).answer)
        except ApiError:
            refused += 1
    assert refused or name in ("describe_client_quotas", "list_topics", "describe_log_dirs")


CHANGES: Final = (
    "elect_leaders",
    "alter_replica_log_dirs",
    "create_topics",
    "delete_topics",
    "create_partitions",
    "alter_configs",
    "delete_group",
    "alter_group_offsets",
    "delete_group_offsets",
    "remove_members_from_group",
    "fence_producer",
    "create_acls",
    "delete_acls",
    "alter_partition_reassignments",
    "abort_transaction",
)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_which_the_answer_says_nothing_is_not_taken_for_made(name: str) -> None:
    with pytest.raises(ApiError) as refused:
        carry_out(OPERATIONS[name](), lambda request: APIS[request.API_KEY].response_class())
    assert refused.value.code is not ErrorCode.NONE


class Truthful(Liar):
    """Answers with one entry in each array and no errors, about what was asked or about another thing."""

    def __init__(self, named: str) -> None:
        super().__init__(0)
        self._named = named

    def _made(self, kind: Any, name: str = "") -> Any:
        if get_origin(kind) in (Union, UnionType):
            return self._made(next(one for one in get_args(kind) if one is not type(None)), name)
        if get_origin(kind) is list:
            return [self._made(get_args(kind)[0], name)]
        if kind is int:
            return 0 if "error" in name or "partition" in name or "offset" in name else 1
        if kind is str:
            return self._named if "message" not in name else ""
        if kind is UUID:
            return UUID(int=7)
        return super()._made(kind, name)


ABOUT: Final[Sequence[str]] = (
    "describe_topics",
    "describe_configs",
    "alter_configs",
    "describe_group",
    "delete_group",
    "alter_group_offsets",
    "create_topics",
    "delete_topics",
    "create_partitions",
    "describe_transaction",
)


@pytest.mark.parametrize("name", ABOUT)
def test_an_answer_about_another_thing_is_no_answer(name: str) -> None:
    with pytest.raises(ApiError) as refused:
        carry_out(OPERATIONS[name](), Truthful("another").answer)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR, refused.value
