"""Copies of logs that Apache Kafka did not finish when it moved them to another log directory (KIP-113).

Kafka fills `orders-3.<id>-future` in the new directory from the log in the old one. The copy replaces the log
only when it holds all of it, so until then the log is the one to serve, and the copy has nothing of its own.

    the log is served        the copy is removed, and the partition stays where its log is
    the log is not there     the copy is left alone: its records may be the only ones

Invariant: a copy is removed only while the log that it was made from is open.
"""

from odradek.storage import file_names
from odradek.storage.hosted_logs import HostedLogs
from odradek.storage.log_directory import LogDirectory
from odradek.storage.opening_report import OpeningReport


class UnfinishedMoves:
    """The copies that a start finds; `end` decides on them once all logs are open."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[tuple[LogDirectory, str]] = []
        """The directory and the name of each copy."""

    def note(self, directory: LogDirectory, name: str) -> bool:
        """Whether an entry of a log directory is such a copy; it is then decided on by `end`."""
        if file_names.partition_of_future(name) is None:
            return False
        self._found.append((directory, name))
        return True

    def end(self, hosted: HostedLogs, report: OpeningReport) -> None:
        """Let the copies of served logs be removed, and report them and the others."""
        for directory, name in self._found:
            partition = file_names.partition_of_future(name)
            assert partition is not None, "noted by its name"
            if directory.failure is not None:
                continue  # looked at again when the directory is back
            log = hosted.get(partition)
            if log is None or log.place.failure is not None:
                report.moves_left.append(f"{directory.path}/{name}")
            else:
                directory.removals.add(f"{directory.path}/{name}", 0)
                report.moves_ended.setdefault(directory.path, []).append(partition)
        self._found.clear()
