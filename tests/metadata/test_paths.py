"""Kafka's layout, path by path."""

import pytest

from odradek.metadata import paths


def test_the_paths_are_kafkas() -> None:
    assert paths.broker(3) == "/brokers/ids/3"
    assert paths.topic("a") == "/brokers/topics/a"
    assert paths.partitions("a") == "/brokers/topics/a/partitions"
    assert paths.partition("a", 2) == "/brokers/topics/a/partitions/2"
    assert paths.partition_state("a", 2) == "/brokers/topics/a/partitions/2/state"
    assert paths.topic_config("a") == "/config/topics/a"
    assert paths.broker_config(3) == "/config/brokers/3"
    assert paths.broker_config(None) == "/config/brokers/<default>"
    assert paths.topic_deletion("a") == "/admin/delete_topics/a"


def test_a_broker_s_settings_are_told_by_the_last_part() -> None:
    assert paths.broker_of_config("<default>") is None
    assert paths.broker_of_config("3") == 3


@pytest.mark.parametrize("group_id", ["g", "a/b", "..", ".", "<default>", "%2F", "grüße", "a b"])
def test_a_group_s_settings_have_a_path_whatever_its_id(group_id: str) -> None:
    path = paths.group_config(group_id)
    name = path.removeprefix("/config/groups/")
    assert "/" not in name
    assert name not in (".", "..")
    assert paths.group_of_config(name) == group_id


def test_roots_come_parents_first() -> None:
    for place, path in enumerate(paths.ROOTS):
        parent = path.rpartition("/")[0]
        assert parent == "" or parent in paths.ROOTS[:place], f"{path} comes before {parent}"
