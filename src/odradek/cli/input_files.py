"""Reads the small text files that commands take: offsets, replicas."""

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of
from odradek.cli.record_input import open_input

FILE_BYTES_MAX = 64 << 20


def name_of(path: str) -> str:
    """What an error message calls it."""
    return "standard input" if path == "-" else path


def read_text(path: str) -> str:
    """The text of a file, or of standard input for "-". Raises OdradekError."""
    named = name_of(path)
    try:
        with open_input(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise OdradekError(f"cannot read {named}: {reason_of(error)}") from error
    if len(content) > FILE_BYTES_MAX:
        raise OdradekError(f"{named} is larger than {FILE_BYTES_MAX >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OdradekError(f"{named} is not UTF-8") from error
