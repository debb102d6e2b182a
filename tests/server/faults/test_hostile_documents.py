"""Requests about faults that no test would send: each is answered in JSON or refused in a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.errors import FaultRefused
from odradek.base.visible import visible_json
from odradek.server.faults.documents import _NAMES, FaultRequests, Reach
from odradek.storage.faulty_files import DiskFaults
from odradek.testing.sim import SimNode, World

FIELDS = ("api", "client", "topic", "times", "from", "ms", "when", "error", "id", "group", "member")
WORDS = ("Produce", "Fetch", "LeaderAndIsr", "NOT_COORDINATOR", "before_answer", "brokers", "clients", "")
LONG = 60_000

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(WORDS)
    | st.sampled_from(["x" * LONG, "not_leader" * (LONG // 10), 10**4_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
documents = values | st.builds(
    lambda name, fields: {"fault": name, **fields},
    st.sampled_from(_NAMES) | values,
    st.dictionaries(st.sampled_from((*FIELDS, "more")), values, max_size=4),
)


@pytest.fixture(scope="module")
def requests() -> FaultRequests:
    node: SimNode = World().node()
    return FaultRequests(Reach(node.node, DiskFaults(), lambda refuse: None, lambda: 0))


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(document=documents)
def test_every_document_is_answered_in_json_or_refused(requests: FaultRequests, document: Any) -> None:
    try:
        answer = requests.carry_out(document)
    except FaultRefused as refused:
        answer = {"error": str(refused)}
    assert json.loads(visible_json(answer)) == answer
    requests.carry_out({"fault": "clear"})
    assert requests.carry_out({"fault": "list"}) == []
