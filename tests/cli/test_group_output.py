"""What a person and a script read of a group."""

from dataclasses import replace

import pytest

from odradek.base.ids import TopicPartition
from odradek.cli.group_output import group_document, print_group
from odradek.client.group_description import AWAY_EPOCH, GroupDescription, MemberDescription


def partitions(*names: str) -> list[TopicPartition]:
    return [
        TopicPartition(topic, int(number)) for topic, _, number in (name.rpartition("-") for name in names)
    ]


A = MemberDescription(
    member="m-a",
    instance=None,
    client="c",
    host="/127.0.0.1",
    protocol="consumer",
    partitions=partitions("t-0", "t-1"),
    epoch=3,
    topics=["t"],
    target=partitions("t-0", "t-1"),
)
GROUP = GroupDescription("readers", "consumer", "Stable", "uniform", [A], epoch=3, target_epoch=3)


def printed(capsys: pytest.CaptureFixture[str], group: GroupDescription) -> list[str]:
    print_group(group)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_group_at_rest_is_a_sentence_and_its_members(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, GROUP) == [
        "Group readers is stable: 1 member, consumer protocol, epoch 3, assignor uniform.",
        "",
        "member client host epoch subscribed assigned",
        "m-a c /127.0.0.1 3 t t 0-1",
    ]


def test_what_members_differ_in_gets_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(
        A,
        member="m-b",
        instance="i",
        protocol="classic",
        epoch=AWAY_EPOCH,
        topics=[],
        expression="t.*",
        partitions=[],
        target=partitions("u-0"),
    )
    assert printed(capsys, replace(GROUP, members=[A, other], state="Reconciling", epoch=4)) == [
        "Group readers is reconciling: 2 members, consumer protocol, epoch 4 (target of epoch 3), "
        "assignor uniform.",
        "",
        "member instance client host protocol epoch subscribed assigned target",
        "m-a - c /127.0.0.1 consumer 3 t t 0-1 the same",
        "m-b i c /127.0.0.1 classic away /t.*/ - u 0",
    ]


def test_classic_groups_have_no_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    member = MemberDescription("m-a", None, "c", "/127.0.0.1", "classic", partitions("t-0"))
    group = GroupDescription("old", "classic", "PreparingRebalance", "range", [member])
    assert printed(capsys, group) == [
        "Group old is preparing rebalance: 1 member, classic protocol, assignor range.",
        "",
        "member client host assigned",
        "m-a c /127.0.0.1 t 0",
    ]


def test_an_empty_group_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    group = GroupDescription("readers", "consumer", "Empty", "uniform", [], epoch=4, target_epoch=3)
    assert printed(capsys, group) == ["Group readers is empty: no members, consumer protocol, epoch 4."]


def test_the_document_names_every_partition() -> None:
    document = group_document(GROUP)
    assert (document["type"], document["epoch"], document["target_epoch"]) == ("consumer", 3, 3)
    (member,) = document["members"]
    assert member["partitions"] == member["target"] == ["t-0", "t-1"]
