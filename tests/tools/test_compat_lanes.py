"""Tests of one broker stay together, and so do those of a file that starts its own."""

import pytest
from compat.lanes import lane_of


@pytest.mark.parametrize(
    ("test", "lane"),
    [
        ("compat/test_groups.py::test_shared[kafka]", "kafka"),
        ("compat/test_groups.py::test_shared[kafka-odradek]", "kafka"),
        ("compat/test_groups.py::test_shared[odradek-kafka-python]", "odradek"),
        ("compat/test_groups.py::test_shared[kafka-4.1-java]", "kafka-4.1"),
        ("compat/test_styles.py::test_style[kafka_python]", "compat/test_styles.py"),
        ("compat/test_replication.py::test_kept[bounced-kafka]", "compat/test_replication.py"),
        ("compat/test_takeover.py::test_taken", "compat/test_takeover.py"),
    ],
)
def test_the_lane_of_a_test(test: str, lane: str) -> None:
    assert lane_of(test) == lane
