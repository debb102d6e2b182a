"""The paths of nodes in the metadata store.

The layout is Kafka's, so that its tools can read a cluster's ZooKeeper; nodes of Odradek alone are below
`/odradek`. A topic's name reaches a path only after `base.topic_names` has passed it.

    >>> partition_state("flights", 3)
    '/brokers/topics/flights/partitions/3/state'
"""

from urllib.parse import quote, unquote

from odradek.base.ids import BrokerId, TopicPartition

BROKERS = "/brokers"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONFIG = "/config"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
GROUP_CONFIGS = "/config/groups"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER = "/cluster"
CLUSTER_ID = "/cluster/id"
ADMIN = "/admin"
DELETE_TOPICS = "/admin/delete_topics"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
ODRADEK = "/odradek"
# Per broker, the log directories that the controller has seen it with (R15).
ODRADEK_BROKERS = "/odradek/brokers"

# The lasting nodes below which all others are made, parents first.
ROOTS = (
    BROKERS,
    BROKER_IDS,
    TOPICS,
    CONFIG,
    TOPIC_CONFIGS,
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    CLUSTER,
    ADMIN,
    DELETE_TOPICS,
    ISR_CHANGES,
    ODRADEK,
    ODRADEK_BROKERS,
)

# Made with a cluster, too; in a store of an earlier version a controller makes them when it looks for them.
LATER_ROOTS = (LOG_DIR_EVENTS,)

# Made with a cluster; nothing here reads them, and Kafka's brokers and tools expect them.
KAFKA_ROOTS = (
    "/brokers/seqid",
    "/config/changes",
    "/config/clients",
    "/config/ips",
    "/config/users",
    "/consumers",
)

# The prefixes of sequential nodes.
ISR_CHANGE_PREFIX = "/isr_change_notification/isr_change_"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"

_DEFAULT_ENTITY = "<default>"
_STATE_PARTS = 7
"""Of the path of a partition's state, with the empty one before the first slash."""


def broker(broker_id: BrokerId) -> str:
    """A live broker's registration; ephemeral."""
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    """A topic's id and assignment."""
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, number: int) -> str:
    """The parent of a partition's state."""
    return f"{TOPICS}/{name}/partitions/{number}"


def partition_state(name: str, number: int) -> str:
    """A partition's leader, epochs and ISR."""
    return f"{TOPICS}/{name}/partitions/{number}/state"


def partition_of_state(path: str) -> TopicPartition | None:
    """The inverse of `partition_state`; None for any other path."""
    parts = path.split("/")
    if len(parts) != _STATE_PARTS or parts[4] != "partitions" or parts[6] != "state":
        return None
    return TopicPartition(parts[3], int(parts[5])) if path.startswith(f"{TOPICS}/") else None


def topic_config(name: str) -> str:
    """A topic's overrides."""
    return f"{TOPIC_CONFIGS}/{name}"


def broker_config(broker_id: BrokerId | None) -> str:
    """A broker's overrides; None for those of all brokers."""
    return f"{BROKER_CONFIGS}/{_DEFAULT_ENTITY if broker_id is None else broker_id}"


def broker_of_config(name: str) -> BrokerId | None:
    """The inverse of `broker_config`, from the last part of the path."""
    return None if name == _DEFAULT_ENTITY else int(name)


def group_config(group_id: str) -> str:
    """A group's overrides; its id may hold any characters, even be "..", and a path may not."""
    return f"{GROUP_CONFIGS}/{quote(group_id, safe='').replace('.', '%2E')}"


def group_of_config(name: str) -> str:
    """The inverse of `group_config`, from the last part of the path."""
    return unquote(name)


def topic_deletion(name: str) -> str:
    """There while a topic is being deleted."""
    return f"{DELETE_TOPICS}/{name}"


def known_log_dirs(broker_id: BrokerId) -> str:
    """What the controller last saw of a broker's log directories (R15)."""
    return f"{ODRADEK_BROKERS}/{broker_id}"
