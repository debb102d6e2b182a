"""Logs of a leader and of its followers move to other log directories while they replicate."""

import random

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tests.server.node.test_replica_fetchers import BROKERS, Cluster, code_of

FETCHER_ROUND_MS = 12_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_replicas_stay_equal_wherever_their_logs_move(seed: int) -> None:
    """R10, R11: positions of followers count in the log where it is now, so HW rises as before."""
    cluster, drawn = Cluster(seed, log_dirs="/data,/more"), random.Random(seed)
    sent = []
    for number in range(60):
        sent.append(cluster.produce(drawn.choice([1, 3, 7])))
        if number % 7 == 3:
            node = cluster[drawn.choice(BROKERS)]
            other = "/more" if node.log("orders").directory == "/data" else "/data"
            topic = AlterReplicaLogDirTopic("orders", [0])
            node.send(AlterReplicaLogDirsRequest([AlterReplicaLogDir(other, [topic])]))
        for _ in range(drawn.randrange(200)):
            cluster.world.step()
    cluster.world.settle()
    cluster.world.advance(FETCHER_ROUND_MS)
    assert {code_of(one) for one in sent} == {ErrorCode.NONE}
    assert cluster.isr() == BROKERS
    assert len(set(cluster.ends())) == 1
    assert cluster.ends() == cluster.high_watermarks()
    logs = [cluster[broker_id].log("orders") for broker_id in BROKERS]
    contents = {b"".join(bytes(one.read(0, one.size_bytes)) for one in log.segments) for log in logs}
    assert len(contents) == 1
    assert any(len(list(log.segments)) > 1 for log in logs), "at least one has moved"
