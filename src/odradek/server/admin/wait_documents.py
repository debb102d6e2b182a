"""Requests that wait for a group, as JSON documents; they are answered when it has come so far.

    {"fault": "wait_stable", "group": "g", "members": 2}      -> {"group": "g", "state": "Stable", ...}
    {"fault": "wait_lag_zero", "group": "g", "topic": "t"}    -> [{"partition": ["t", 0], "end": 7, ...}]
    {"fault": "wait_position_resolved", "group": "g"}         -> {"group": "g", "state": "Stable", ...}

`members`, `topic` and `timeout_s` (30) may be left out. After the timeout they are refused, with what was
there instead. Any broker of a cluster takes the first two. A broker sees only the fetches of partitions that
it leads, so it waits for the positions in these alone: a test asks all brokers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from odradek.base.errors import ApiError, FaultRefused
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.administering import Admin, administering
from odradek.client.configuration import ClientConfig
from odradek.client.group_looks import Look, is_passing, look_at_rest, look_for_lag
from odradek.server.admin.position_watch import Ask, PositionWatch
from odradek.server.faults.documents import FaultRequests
from odradek.server.faults.fields import Document, number_in, text_in
from odradek.server.faults.rules import HELPERS_CLIENT_ID

TIMEOUT_S: Final = 30
TIMEOUT_S_MAX: Final = 3600
LOOK_EVERY_S: Final = 0.05
ANSWER_S: Final = 10.0
"""How long the broker's thread may take to carry out a request: it does so at once, unless it is ending."""
_MEMBERS_MAX: Final = 1 << 31
_FIELDS: Final = {
    "wait_stable": frozenset({"group", "members", "timeout_s"}),
    "wait_lag_zero": frozenset({"group", "topic", "timeout_s"}),
    "wait_position_resolved": frozenset({"group", "members", "timeout_s"}),
}


def is_wait(document: object) -> bool:
    """Whether a request is one of these."""
    return isinstance(document, dict) and document.get("fault") in _FIELDS


async def waited(document: Document, faults: FaultRequests, is_gone: Callable[[], Awaitable[bool]]) -> object:
    """Carry out a request that `is_wait`; returns its answer. `is_gone` says that its client is.

    Raises FaultRefused for a bad request, after the timeout, and where waiting does not help.
    """
    name = str(document["fault"])
    unknown = sorted(document.keys() - _FIELDS[name] - {"fault"})
    if unknown:
        raise FaultRefused(f"{name} takes no {', '.join(unknown)}")
    group = text_in(document, "group")
    topic = None if document.get("topic") is None else text_in(document, "topic")
    members = None if document.get("members") is None else number_in(document, "members", 0, _MEMBERS_MAX)
    has_timeout = document.get("timeout_s") is not None
    timeout_s = number_in(document, "timeout_s", 1, TIMEOUT_S_MAX) if has_timeout else TIMEOUT_S
    if name == "wait_stable":
        return await _until(lambda admin: look_at_rest(admin, group, members), faults, timeout_s, is_gone)
    if name == "wait_lag_zero":
        reading = _own_client(faults)
        return await _until(
            lambda admin: look_for_lag(admin, reading, group, topic), faults, timeout_s, is_gone
        )
    watch = PositionWatch(group, members, _only(faults), faults.leads)
    try:
        return await _until(watch.look, faults, timeout_s, is_gone)
    finally:
        await asyncio.to_thread(watch.close)


async def _until(
    look: Callable[[Admin], Look[Any]],
    faults: FaultRequests,
    timeout_s: float,
    is_gone: Callable[[], Awaitable[bool]],
) -> object:
    """Look on another thread until something is found; returns it as JSON has it. Raises FaultRefused."""
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + timeout_s
    config = _own_client(faults)
    while True:
        seen = await asyncio.to_thread(_one_look, look, config)
        if isinstance(seen.found, list):
            return [asdict(one) for one in seen.found]
        if seen.found is not None:
            return asdict(seen.found)
        if clock() >= deadline_s:
            raise FaultRefused(f"{seen.words}; waited {timeout_s:g} s")
        if await is_gone():
            raise FaultRefused("nobody waits for the answer any more")
        await asyncio.sleep(LOOK_EVERY_S)


def _own_client(faults: FaultRequests) -> ClientConfig:
    return ClientConfig(faults.bootstrap_servers, client_id=HELPERS_CLIENT_ID)


def _one_look(look: Callable[[Admin], Look[Any]], config: ClientConfig) -> Look[Any]:
    """Raises FaultRefused for an error that does not pass."""
    try:
        with administering(config, tries_again=False) as admin:
            return look(admin)
    except ApiError as error:
        if not is_passing(error):
            raise FaultRefused(f"{error.code.name}: {error}") from None
        return Look(None, str(error))


def _only(faults: FaultRequests) -> Callable[[], Mapping[BrokerId, Ask]]:
    """This broker alone, for a thread that may wait: it carries out requests on its own thread."""
    loop = asyncio.get_running_loop()

    async def carried_out(document: Document) -> object:
        return faults.carry_out(document)

    def ask(document: Document) -> object:
        return asyncio.run_coroutine_threadsafe(carried_out(document), loop).result(ANSWER_S)

    return lambda: {NO_BROKER: ask}
