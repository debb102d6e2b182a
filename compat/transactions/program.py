"""Transactional producers of other languages: programs of `compat/clients/program.py` that can also do this.

    {"do": "start", "producer", "transactional_id"}          {}
    {"do": "begin", "producer"}                              {}
    {"do": "send", "producer", "topic", "records"}           {}
    {"do": "send_offsets", "producer", "member"}             {}
    {"do": "commit_transaction", "producer"}                 {}
    {"do": "abort_transaction", "producer"}                  {}
    {"do": "close", "producer"}                              {}

`producer` is a name of our choice, `member` one that has joined.
"""

import itertools
from collections.abc import Sequence

from compat.clients.model import Record
from compat.clients.program import ProgramClient, told_of
from compat.members import Member
from compat.members.program import ProgramMember
from compat.transactions.model import TransactionalProducer

_names = itertools.count()


class ProgramProducer(TransactionalProducer):
    """A transactional producer inside a client's program."""

    def __init__(self, program: ProgramClient, transactional_id: str) -> None:
        self._program = program
        self._name = f"producer {next(_names)}"
        self._ask("start", transactional_id=transactional_id)

    def begin(self) -> None:
        """Have the program begin."""
        self._ask("begin")

    def send(self, topic: str, records: Sequence[Record]) -> None:
        """Have the program write and wait."""
        self._ask("send", topic=topic, records=[told_of(record) for record in records])

    def send_offsets(self, member: Member) -> None:
        """Have the program send a member's positions."""
        assert isinstance(member, ProgramMember)
        self._ask("send_offsets", member=member.name)

    def commit(self) -> None:
        """Have the program commit."""
        self._ask("commit_transaction")

    def abort(self) -> None:
        """Have the program abort."""
        self._ask("abort_transaction")

    def close(self) -> None:
        """Have the program close the producer."""
        self._ask("close")

    def _ask(self, do: str, **details: object) -> None:
        self._program.ask({"do": do, "producer": self._name, **details})
