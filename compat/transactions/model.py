"""The interface of all libraries' transactional producers in the suite."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from compat.clients import Record
from compat.members import Member


class TransactionalProducer(ABC):
    """A producer with a transactional id, initialised. Every method raises Refused."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction."""

    @abstractmethod
    def send(self, topic: str, records: Sequence[Record]) -> None:
        """Write within the transaction, and wait until all is acknowledged."""

    @abstractmethod
    def send_offsets(self, member: Member) -> None:
        """Make the positions of a member, of the same library, part of the transaction."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    def abort(self) -> None:
        """Abort the transaction."""

    @abstractmethod
    def close(self) -> None:
        """Close the producer; an open transaction stays open."""
