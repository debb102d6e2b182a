from tests.coordinator.group_bench import GroupBench


def test_a_group_says_what_it_waits_for(bench: GroupBench) -> None:
    first, second = bench.consumer("c-1", topics=["flights"]), bench.consumer("c-2", topics=["flights"])
    bench.known_topics.add("flights")
    bench.topics.counts["flights"] = 2
    second.join()
    assert bench.words() == "nothing"
    first.join()
    (given,) = bench.consumers().target_of("c-1").values()
    moved = f"flights-{min(given)}"
    assert bench.words() == (
        "member c-2 is at epoch 1 of 2, last heartbeat 0 s ago; "
        f"member c-1 waits for {moved} until others have let go, last heartbeat 0 s ago"
    )
    second.beat()
    bench.advance(19_000)
    first.beat()
    assert bench.words() == (
        f"member c-2 has not revoked {moved}; waiting up to 41 s; "
        f"member c-1 waits for {moved} until others have let go, last heartbeat 0 s ago"
    )
    second.settle()
    first.settle()
    assert bench.words() == "nothing"


def test_a_group_that_lost_a_member_waits_for_a_heartbeat(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b", "i")
    first.join()
    second.join()
    bench.settle_all(first, second)
    second.leave(-2)
    assert bench.words() == "member b is away"
    first.leave()
    assert bench.words() == "the next heartbeat of any member, which computes the assignment"


def test_a_group_is_told_in_numbers(bench: GroupBench) -> None:
    bench.consumer("a", "i").join()
    (row,) = bench.coordinator.describe()
    assert (row["type"], row["state"], row["epoch"], row["assignment_epoch"]) == ("consumer", "Stable", 1, 1)
    (member,) = row["members"]
    assert member == {
        "member": "a",
        "instance": "i",
        "client": "c",
        "host": "/10.0.0.1",
        "protocol": "consumer",
        "epoch": 1,
        "state": "stable",
        "topics": ["t"],
        "expression": None,
        "assigned": "t-0, t-1, t-2, t-3",
        "revoking": "",
        "last_heartbeat_ms_ago": 0,
        "rebalance_timeout_ms": 60_000,
    }


def test_what_waits_is_listed_in_the_purgatory(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    first.beat()
    purgatories = bench.coordinator.purgatories
    assert [one.waits_for for one in purgatories.members.describe()] == ["the revocation of a"]
    assert [one.waits_for for one in purgatories.heartbeats.describe()] == [
        "a heartbeat of b",
        "a heartbeat of a",
    ]
