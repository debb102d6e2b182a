"""Consumer groups: partitions are shared and taken back, and members continue at the committed offsets."""

from collections.abc import Callable, Iterator

import pytest
from peers import BrokerProcess, KafkaTools

from compat import members
from compat.clients import Client, Record, Refused
from compat.members import COOPERATIVE_STICKY, RANGE, STICKY, Member, Membership, poll_until
from odradek.base.error_codes import ErrorCode

pytestmark = pytest.mark.needs_api("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")

PARTITIONS = 4
Join = Callable[..., Member]


@pytest.fixture
def four_partitions(new_topic: Callable[..., str]) -> str:
    return new_topic(partitions=PARTITIONS)


@pytest.fixture
def join(broker: BrokerProcess, all_clients: dict[str, Client]) -> Iterator[Join]:
    """Make members, `join("java", "group", "topic", strategy=...)`; they leave when the test ends."""
    joined: list[Member] = []

    def join(library: str, group: str, topic: str, **how: object) -> Member:
        if library in members.PROGRAMS and library not in all_clients:
            pytest.skip(f"{library} cannot run here")
        joined.append(
            members.join(library, all_clients, broker.bootstrap, Membership(group, topic, **how))  # type: ignore[arg-type]
        )
        return joined[-1]

    yield join
    for member in joined:
        if member.is_open:
            member.leave()


@pytest.fixture
def confluent(all_clients: dict[str, Client]) -> Client:
    return all_clients["confluent-kafka"]


def numbered(partition: int, numbers: range) -> list[Record]:
    return [Record(value=f"{partition}/{number}".encode(), partition=partition) for number in numbers]


def fill(client: Client, topic: str, numbers: range) -> set[bytes]:
    records = [record for partition in range(PARTITIONS) for record in numbered(partition, numbers)]
    client.write(topic, records)
    return {record.value or b"" for record in records}


def values(records: list[Record]) -> list[bytes]:
    return sorted(record.value or b"" for record in records)


def share(parts: list[Member], sizes: list[int]) -> None:
    """Poll until each member has that many partitions, and together they have all."""

    def is_shared() -> bool:
        assignments = [member.assignment() for member in parts]
        return sorted(map(len, assignments)) == sorted(sizes) and len(set.union(*assignments)) == sum(sizes)

    poll_until(parts, is_shared, f"the partitions were never shared as {sizes}")


@pytest.mark.essential
@pytest.mark.parametrize("library", members.LIBRARIES)
def test_a_group_goes_on_where_it_committed(
    library: str, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first = fill(confluent, four_partitions, range(25))
    reader = join(library, group, four_partitions)
    assert values(reader.read(len(first))) == sorted(first)
    reader.commit()
    reader.leave()
    second = fill(confluent, four_partitions, range(25, 30))
    successor = join(library, group, four_partitions)
    assert values(successor.read(len(second))) == sorted(second)


@pytest.mark.parametrize("library", members.LIBRARIES)
def test_what_was_not_committed_is_read_again(
    library: str, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    written = fill(confluent, four_partitions, range(5))
    for _ in range(2):
        reader = join(library, group, four_partitions)
        assert values(reader.read(len(written))) == sorted(written)
        reader.leave()


@pytest.mark.essential
@pytest.mark.parametrize("library", members.LIBRARIES)
def test_two_members_share_the_partitions_until_one_leaves(
    library: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first = join(library, group, four_partitions)
    share([first], [4])
    second = join(library, group, four_partitions)
    share([first, second], [2, 2])
    first.leave()
    share([second], [4])


def test_members_of_all_libraries_that_assign_by_range_share_one_group(
    join: Join,
    all_clients: dict[str, Client],
    confluent: Client,
    four_partitions: str,
    fresh_name: Callable[[], str],
) -> None:
    group = fresh_name()
    able = [each for each in members.RANGE_LIBRARIES if each in all_clients]
    together = [join(library, group, four_partitions) for library in able]
    share(together, [1] * PARTITIONS + [0] * (len(together) - PARTITIONS))
    written = fill(confluent, four_partitions, range(10))
    read: list[Record] = []
    poll_until(together, lambda: len(read) >= len(written), "not all records came", taking=read)
    assert values(read) == sorted(written)


@pytest.mark.parametrize("library", members.COOPERATIVE_LIBRARIES)
def test_a_cooperative_rebalance_takes_only_what_moves(
    library: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first = join(library, group, four_partitions, strategy=COOPERATIVE_STICKY)
    share([first], [4])
    second = join(library, group, four_partitions, strategy=COOPERATIVE_STICKY)
    held: list[set[int]] = []

    def is_shared() -> bool:
        held.append(first.assignment())
        return len(first.assignment()) == len(second.assignment()) == 2

    poll_until([first, second], is_shared, "the partitions were never shared")
    assert all(first.assignment() <= each for each in held), held


@pytest.mark.parametrize(
    ("leader", "follower"),
    [
        *(("odradek", library) for library in members.STICKY_LIBRARIES),
        # kafka-python 3 puts a version before what a member had, and reads nobody else's.
        *((library, "odradek") for library in members.STICKY_LIBRARIES if library != "kafka-python"),
    ],
)
def test_sticky_members_of_two_libraries_keep_what_they_had(
    leader: str, follower: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    """KIP-54: the first member leads, and knows what the others had by what they tell."""
    group = fresh_name()
    first = join(leader, group, four_partitions, strategy=STICKY)
    share([first], [4])
    second = join(follower, group, four_partitions, strategy=STICKY)
    share([first, second], [2, 2])
    had = [first.assignment(), second.assignment()]
    third = join("odradek", group, four_partitions, strategy=STICKY)
    share([first, second, third], [1, 1, 2])
    kept = [first.assignment(), second.assignment()]
    assert [one <= before for one, before in zip(kept, had, strict=True)] == [True, True], (had, kept)
    third.leave()
    share([first, second], [2, 2])
    assert [
        now >= before for now, before in zip([first.assignment(), second.assignment()], kept, strict=True)
    ] == [
        True,
        True,
    ], kept


@pytest.mark.parametrize("library", members.STATIC_LIBRARIES)
def test_a_static_member_comes_back_to_its_partitions(
    library: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first, second = (join(library, group, four_partitions, instance_id=name) for name in ("one", "two"))
    share([first, second], [2, 2])
    before = second.assignment()
    expected = first.assignment()
    first.leave()
    returned = join(library, group, four_partitions, instance_id="one")
    held: list[set[int]] = []

    def is_back() -> bool:
        held.append(second.assignment())
        return returned.assignment() == expected

    poll_until([returned, second], is_back, "the member did not get its partitions back")
    assert all(each == before for each in held), held


@pytest.mark.parametrize("library", members.FENCED_LIBRARIES)
def test_a_second_member_of_one_static_name_fences_the_first(
    library: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first = join(library, group, four_partitions, instance_id="one")
    share([first], [4])
    second = join(library, group, four_partitions, instance_id="one")
    share([second], [4])
    with pytest.raises(Refused) as refused:
        poll_until([first], lambda: False, "the first member was never fenced")
    assert refused.value.error == ErrorCode.FENCED_INSTANCE_ID


def test_the_groups_tool_lists_describes_resets_and_deletes(
    tools: KafkaTools, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    written = fill(confluent, four_partitions, range(10))
    reader = join("confluent-kafka", group, four_partitions)
    reader.read(len(written))
    reader.commit()
    fill(confluent, four_partitions, range(10, 13))
    assert group in tools.on_broker("consumer-groups", "--list").splitlines()
    named = ("--group", group)
    assert offsets_and_lags(tools, group, four_partitions) == {(10, 13, 3)}
    state = tools.on_broker("consumer-groups", "--describe", "--state", *named).split()
    assert {"Stable", RANGE, "1"} <= set(state), state
    reader.leave()
    reset = ("--reset-offsets", "--to-earliest", "--execute", "--topic", four_partitions)
    tools.on_broker("consumer-groups", *named, *reset)
    assert offsets_and_lags(tools, group, four_partitions) == {(0, 13, 13)}
    assert "was successful" in tools.on_broker("consumer-groups", "--delete", *named)
    assert group not in tools.on_broker("consumer-groups", "--list").splitlines()


def offsets_and_lags(tools: KafkaTools, group: str, topic: str) -> set[tuple[int, int, int]]:
    """The different rows of current offset, end offset and lag that the tool prints."""
    printed = tools.on_broker("consumer-groups", "--describe", "--group", group)
    rows = [line.split() for line in printed.splitlines() if line.split()[:2] == [group, topic]]
    assert len(rows) == PARTITIONS, printed
    return {(int(row[3]), int(row[4]), int(row[5])) for row in rows}


@pytest.mark.kip848
@pytest.mark.needs_api("ConsumerGroupHeartbeat")
@pytest.mark.essential
@pytest.mark.parametrize("library", members.NEW_PROTOCOL_LIBRARIES)
def test_the_broker_assigns_in_the_new_protocol(
    library: str, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    written = fill(confluent, four_partitions, range(5))
    first = join(library, group, four_partitions, new_protocol=True)
    assert values(first.read(len(written))) == sorted(written)
    first.commit()
    second = join(library, group, four_partitions, new_protocol=True)
    share([first, second], [2, 2])
    first.leave()
    share([second], [4])
    written = fill(confluent, four_partitions, range(5, 10))
    assert values(second.read(len(written))) == sorted(written)


@pytest.mark.kip848
@pytest.mark.needs_api("ConsumerGroupHeartbeat")
@pytest.mark.parametrize("library", members.NEW_PROTOCOL_LIBRARIES)
def test_a_group_changes_its_protocol_while_its_members_read(
    library: str, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    old = join(library, group, four_partitions)
    share([old], [4])
    new = join(library, group, four_partitions, new_protocol=True)
    share([old, new], [2, 2])
    written = fill(confluent, four_partitions, range(5))
    read: list[Record] = []
    poll_until([old, new], lambda: len(read) >= len(written), "not all records came", taking=read)
    assert values(read) == sorted(written)
    new.leave()
    share([old], [4])


@pytest.mark.kip848
@pytest.mark.needs_api("ConsumerGroupHeartbeat")
# franz-go does not announce its return, so its instance id is unreleased until its session ends.
@pytest.mark.parametrize("library", ["confluent-kafka", "java"])
def test_a_static_member_of_the_new_protocol_comes_back_to_its_partitions(
    library: str, join: Join, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    first, second = (
        join(library, group, four_partitions, instance_id=name, new_protocol=True) for name in ("one", "two")
    )
    share([first, second], [2, 2])
    before, expected = second.assignment(), first.assignment()
    first.leave()
    returned = join(library, group, four_partitions, instance_id="one", new_protocol=True)
    poll_until(
        [returned, second], lambda: returned.assignment() == expected, "it did not get its partitions back"
    )
    assert second.assignment() == before


@pytest.mark.kip848
@pytest.mark.needs_api("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")
def test_the_groups_tool_describes_a_group_of_the_new_protocol(
    tools: KafkaTools, join: Join, confluent: Client, four_partitions: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    written = fill(confluent, four_partitions, range(5))
    reader = join("confluent-kafka", group, four_partitions, new_protocol=True)
    reader.read(len(written))
    reader.commit()
    named = ("--describe", "--group", group)
    assert offsets_and_lags(tools, group, four_partitions) == {(5, 5, 0)}
    state = tools.on_broker("consumer-groups", *named, "--state").split()
    assert {"Stable", "uniform", "1"} <= set(state), state
    member = tools.on_broker("consumer-groups", *named, "--members", "--verbose")
    assert f"{four_partitions}:0,1,2,3" in member, member
    listed = tools.on_broker("consumer-groups", "--list", "--type", "consumer").split()
    assert group in listed
    reader.leave()
    assert "was successful" in tools.on_broker("consumer-groups", "--delete", "--group", group)
