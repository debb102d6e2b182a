"""MirrorMaker 2 as a process of its own: topics, their settings and groups' offsets go to another cluster."""

from pathlib import Path

from compat.connect.java_process import JavaProcess


class MirrorMaker(JavaProcess):
    """Mirrors the topics and groups of `names` (a regular expression) from the cluster `a` to `b`."""

    def __init__(self, source: str, target: str, names: str, directory: Path) -> None:
        """Between two bootstrap addresses, exactly once, looking for changes each second."""
        own_topics = ("checkpoints", "heartbeats", "offset-syncs")
        factors = [f"{name}.topic.replication.factor" for name in own_topics]
        factors += [f"{name}.storage.replication.factor" for name in ("config", "offset", "status")]
        looks = ("refresh.topics", "refresh.groups", "sync.topic.configs", "sync.group.offsets")
        settings = {
            "clusters": "a,b",
            "a.bootstrap.servers": source,
            "b.bootstrap.servers": target,
            "b.exactly.once.source.support": "enabled",
            "a->b.enabled": "true",
            "b->a.enabled": "false",
            "a->b.topics": names,
            "a->b.groups": names,
            "a->b.sync.group.offsets.enabled": "true",
            "a->b.emit.checkpoints.interval.seconds": "1",
            # So that the offset of every record has its counterpart.
            "a->b.offset.lag.max": "0",
            "offset.flush.interval.ms": "500",
            "replication.factor": "-1",
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": "http://127.0.0.1:0",
        }
        settings |= {f"a->b.{look}.interval.seconds": "1" for look in looks}
        settings |= dict.fromkeys(factors, "-1")
        main_class = "org.apache.kafka.connect.mirror.MirrorMaker"
        super().__init__(main_class, "mirror-maker", settings, directory)
