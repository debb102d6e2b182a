"""The kinds of writers of a log."""

from enum import Enum


class Origin(Enum):
    """The writer of the batches of an append; it decides which checks apply."""

    CLIENT = "client"
    """A producer: sequence numbers, epochs and record rules are checked."""
    COORDINATOR = "coordinator"
    """A group or transaction coordinator, control batches included: producer epochs are checked."""
    NEXT_EPOCH = "next epoch"
    """The same, for the marker of a transaction whose end has begun its producer's next epoch (KIP-1228): a
    transaction that is open in that epoch is a later one."""
    REPLICATION = "replication"
    """A follower copying its leader: offsets are taken as given, nothing of the producer is checked."""
