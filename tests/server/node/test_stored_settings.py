"""Overrides in the metadata store that a version does not accept any more."""

from collections.abc import Mapping

import pytest

from odradek.base.errors import SettingError
from odradek.metadata.image import ClusterImage
from odradek.server.node.stored_settings import NAMED_MAX, check_stored_settings


def test_accepted_settings_and_unknown_names_are_no_faults() -> None:
    check_stored_settings(ClusterImage())
    check_stored_settings(
        ClusterImage(
            topic_configs={"t": {"retention.ms": "-1", "of.a.later.version": "?"}},
            group_configs={"g": {"consumer.session.timeout.ms": "45000"}},
        )
    )


def test_a_refusal_names_topics_and_groups_with_their_faults() -> None:
    with pytest.raises(SettingError) as refusal:
        check_stored_settings(
            ClusterImage(
                topic_configs={"t": {"retention.ms": "long"}, "u": {"cleanup.policy": "keep"}},
                group_configs={"g\n": {"consumer.session.timeout.ms": "x"}},
            )
        )
    said = str(refusal.value)
    for words in (
        "topic t: retention.ms",
        "topic u: cleanup.policy",
        r"group g\n: consumer.session.timeout.ms",
    ):
        assert words in said
    assert "more" not in said


def test_a_refusal_stays_readable() -> None:
    topics: dict[str, Mapping[str, str]] = {
        f"t{number}": {"retention.ms": "long"} for number in range(NAMED_MAX + 3)
    }
    with pytest.raises(SettingError, match=r"; and 3 more\. Start the version") as refusal:
        check_stored_settings(ClusterImage(topic_configs=topics))
    assert str(refusal.value).count("topic t") == NAMED_MAX
