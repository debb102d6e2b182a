"""Lines of text for an output that several processes write to."""

import io
import os

from odradek.base.printing import print_line


class Unbuffered(io.StringIO):
    """Keeps each write by itself, as the system sees it if nothing is buffered."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return len(text)


def test_a_line_and_its_end_are_one_write_without_a_buffer() -> None:
    stream = Unbuffered()
    print_line("broker 1 serves", stream)
    print_line("", stream)
    assert stream.writes == ["broker 1 serves\n", "\n"]


def test_a_line_is_written_at_once_with_a_buffer() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as pipe, open(writing, "w") as stream:
        print_line("broker 1 serves", stream)
        assert pipe.read(100) == b"broker 1 serves\n"
