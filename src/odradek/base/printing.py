"""Lines of text for an output that several processes write to."""

from typing import TextIO


def print_line(line: str, stream: TextIO) -> None:
    """Print a line at once, and its end in the same write.

    With PYTHONUNBUFFERED `print` writes the end of a line by itself, and the line of another process may come
    between the two.

    Raises:
        BrokenPipeError: nobody reads the stream any more.
    """
    stream.write(f"{line}\n")
    stream.flush()
