"""The kinds of writers of a log."""

from enum import Enum


class Origin(Enum):
    """The writer of the batches of an append; it decides which checks apply."""

    CLIENT = "client"
    """A producer: sequence numbers, epochs and record rules are checked."""
    COORDINATOR = "coordinator"
    """A group or transaction coordinator, control batches included: producer epochs are checked."""
    REPLICATION = "replication"
    """A follower copying its leader: offsets are taken as given, nothing of the producer is checked."""
