"""Decorators for disk access: they turn an OSError into an error of the log directory (R6, L7).

the directory is offline already       StorageFailure, without an attempt
OSError while writing                  the directory goes offline, StorageFailure
OSError while reading, of the disk     the same
OSError while reading, of one file     FileUnavailable: the disk works, this file cannot be read
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from odradek.base.errors import FileUnavailable, LogError
from odradek.base.ids import TopicPartition
from odradek.records.work import RecordSteps
from odradek.storage.files import is_of_the_disk
from odradek.storage.log_directory import LogDirectory


class Placed(Protocol):
    """A log, or a part of one."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The log's partition."""

    @property
    def place(self) -> LogDirectory:
        """The log directory that fails when this log fails."""


S = TypeVar("S", bound=Placed)
P = ParamSpec("P")
R = TypeVar("R")


def on_disk(call: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """For methods that write: refused while the directory is offline; an OSError takes it offline."""

    @wraps(call)
    def guarded(log: S, *args: P.args, **kwargs: P.kwargs) -> R:
        place = log.place
        if place.failure is not None:
            raise place.offline()
        try:
            return call(log, *args, **kwargs)
        except OSError as error:
            raise place.fail(error) from error

    return cast("Callable[Concatenate[S, P], R]", guarded)


def reads_disk(call: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """For methods that only read: FileUnavailable if one file cannot be read but the disk works."""

    @wraps(call)
    def guarded(log: S, *args: P.args, **kwargs: P.kwargs) -> R:
        if log.place.failure is not None:
            raise log.place.offline()
        try:
            return call(log, *args, **kwargs)
        except OSError as error:
            raise _unreadable(log, error) from error

    return cast("Callable[Concatenate[S, P], R]", guarded)


def reads_disk_in_steps(
    call: Callable[Concatenate[S, P], RecordSteps[R]],
) -> Callable[Concatenate[S, P], RecordSteps[R]]:
    """`reads_disk` for methods in steps: the step that meets the OSError raises the error."""

    @wraps(call)
    def guarded(log: S, *args: P.args, **kwargs: P.kwargs) -> RecordSteps[R]:
        if log.place.failure is not None:
            raise log.place.offline()
        try:
            return (yield from call(log, *args, **kwargs))
        except OSError as error:
            raise _unreadable(log, error) from error

    return cast("Callable[Concatenate[S, P], RecordSteps[R]]", guarded)


def _unreadable(log: Placed, error: OSError) -> LogError:
    """Returns the error for a failed read: the directory is offline, or one file cannot be read."""
    if is_of_the_disk(error):
        return log.place.fail(error)
    return FileUnavailable(f"{log.topic_partition} cannot be read: {error}")
