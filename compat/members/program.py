"""Members of other languages: the programs of `compat/clients/program.py`, which can also do this.

    {"do": "join", "member", "group", "topic", "strategy", "instance_id", "new_protocol"}    {}
    {"do": "poll", "member", "timeout_ms"}                     {"records": [...], "assigned": [0, 1]}
    {"do": "commit", "member"}                                                               {}
    {"do": "leave", "member"}                                                                {}

`member` is a name of our choice; one program serves several members.
"""

import itertools

from compat.clients.model import Record
from compat.clients.program import ProgramClient, record_of
from compat.members.model import POLL_S, Member, Membership

_names = itertools.count()


class ProgramMember(Member):
    """A member inside a client's program."""

    def __init__(self, program: ProgramClient, membership: Membership) -> None:
        super().__init__(program.bootstrap, membership)
        self.program = program
        self.name = f"member {next(_names)}"
        self._assigned: set[int] = set()
        program.ask(
            {
                "do": "join",
                "member": self.name,
                "group": membership.group,
                "topic": membership.topic,
                "strategy": membership.strategy,
                "instance_id": membership.instance_id,
                "new_protocol": membership.new_protocol,
            }
        )

    def poll(self) -> list[Record]:
        """Have the program poll once; its answer has the assignment."""
        answer = self.program.ask({"do": "poll", "member": self.name, "timeout_ms": int(POLL_S * 1000)})
        self._assigned = set(answer["assigned"])
        return [record_of(told) for told in answer["records"]]

    def assignment(self) -> set[int]:
        """As of the last poll."""
        return self._assigned

    def commit(self) -> None:
        """Have the program commit and wait."""
        self.program.ask({"do": "commit", "member": self.name})

    def close(self) -> None:
        """Have the program close the member."""
        self.program.ask({"do": "leave", "member": self.name})
