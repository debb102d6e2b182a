"""What tasks wait for: the coroutines that each is inside, down to the innermost await."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

FRAMES_MAX: Final = 6
"""As many of the innermost are shown."""


def waiting_tasks(process: str, tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Returns a line for each task: its name, and where it waits."""
    return [f"  {process}: {task.get_name()} waits in {_place(task)}" for task in tasks]


def waiting_at(frame: FrameType | None) -> TracebackType | None:
    """Returns a traceback that ends at the line at which a coroutine waits; None of one that has ended."""
    return None if frame is None else TracebackType(None, frame, frame.f_lasti, frame.f_lineno)


def _place(task: asyncio.Task[Any]) -> str:
    frames = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        code: CodeType | None = getattr(awaited, "cr_code", None) or getattr(awaited, "gi_code", None)
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if code is None or frame is None:
            break
        frames.append(f"{code.co_qualname} ({code.co_filename.rpartition('/')[2]}:{frame.f_lineno})")
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)
    return " -> ".join(frames[-FRAMES_MAX:]) or "its first step"
