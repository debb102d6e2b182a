"""Checks topic names: the only check between a name from a request and a path on disk."""

import re

NAME_CHARACTERS_MAX = 249
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
KRAFT_METADATA_TOPIC = "__cluster_metadata"
"""Apache Kafka's own metadata log, which lies among the others; Odradek neither reads nor writes it."""
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC})

_ALLOWED = re.compile(r"[a-zA-Z0-9._-]+\Z")


def fault_in_name(name: str) -> str | None:
    """Say in one sentence why `name` cannot name a topic, or None when it can."""
    if not name:
        return "the empty string is not a topic name"
    if name in (".", ".."):
        return f"a topic cannot be named {name!r}"
    if len(name) > NAME_CHARACTERS_MAX:
        return f"a topic name has at most {NAME_CHARACTERS_MAX} characters, this one has {len(name)}"
    if not _ALLOWED.match(name):
        return f"the topic name {name!r} has characters other than ASCII letters, digits, '.', '_' and '-'"
    return None


def folded_name(name: str) -> str:
    """The form that names have in common which differ only in '.' and '_'.

    They would share their metric names, which is why Kafka refuses the second one.
    """
    return name.replace(".", "_")
