"""Faults that a test sets on its broker.

    broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)
    with broker.faults.drop("Produce", when="before_answer", client="orders"):
        ...                                   gone at the end of the block
    broker.faults.expire_member("billing", "consumer-1")

Each call is one JSON document. A broker in this process carries it out on its thread; a broker in a separate
process receives it on its admin listener. A restarted broker has no faults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.tracebacks import ends_at_caller

Carry: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Carries out a request document; returns the response document."""
When: TypeAlias = Literal["before_request", "before_answer", "after_answer"]

Await: TypeAlias = Callable[[Callable[[], bool], float], bool]
"""Waits until a condition holds, for at most the given number of seconds; returns whether it holds."""
Asker: TypeAlias = Literal["clients", "brokers"]

Side: TypeAlias = Literal["brokers", "store"]
Way: TypeAlias = Literal["both", "in", "out"]

_LOOK_EVERY_S = 0.005


def await_in_real_time(is_so: Callable[[], bool], timeout: float) -> bool:
    """See `Await`; waits in real time, whatever the broker's clock says."""
    deadline = Deadline(timeout)
    while not is_so():
        if deadline.is_over():
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


class Fault:
    """A fault. It ends when removed, after `times` requests, or when its `with` block or the broker ends."""

    def __init__(self, carry: Carry, number: int, wait: Await = await_in_real_time) -> None:
        self._carry = carry
        self._number = number
        self._wait = wait

    @property
    @ends_at_caller
    def hits(self) -> int:
        """How many requests the fault was applied to."""
        described = next((one for one in self._carry({"fault": "list"}) if one["id"] == self._number), None)
        if described is not None:
            self._hits = int(described.get("hits", 0))
        return self._hits

    _hits = 0

    @ends_at_caller
    def remove(self) -> None:
        """Remove the fault; does nothing if it is already gone."""
        _ = self.hits
        self._carry({"fault": "remove", "id": self._number})

    @ends_at_caller
    def wait_hit(self, times: int = 1, *, timeout: float = 10.0) -> None:
        """Returns when the fault was applied to `times` requests. Raises WaitTimeout."""
        if not self._wait(lambda: self.hits >= times, timeout):
            raise WaitTimeout(f"the fault was applied to {self.hits} of {times} requests after {timeout:g} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


class Faults:
    """The faults of one broker. `api` is an API name of Kafka's protocol, such as Fetch, or None for all.

    `client` is a client id, `topic` a topic that the request names, `times` the number of requests affected.
    `asker` selects by sender; only brokers of a cluster receive requests from "brokers".
    Raises FaultRefused if the fault cannot be set.
    """

    def __init__(self, carry: Carry, wait: Await = await_in_real_time) -> None:
        self._carry = carry
        self._wait = wait

    @ends_at_caller
    def error(
        self,
        api: str,
        error: str,
        *,
        client: str | None = None,
        topic: str | None = None,
        times: int | None = None,
        asker: Asker = "clients",
    ) -> Fault:
        """Answer with an error code, by its name in the protocol, and do nothing else."""
        return self._set("error", api=api, error=error, client=client, topic=topic, times=times, asker=asker)

    @ends_at_caller
    def delay(
        self,
        by: timedelta | float,
        api: str | None = None,
        *,
        client: str | None = None,
        topic: str | None = None,
        times: int | None = None,
        asker: Asker = "clients",
    ) -> Fault:
        """Carry requests out and answer them later, by seconds or a timedelta of the broker's clock."""
        return self._set("delay", ms=_ms(by), api=api, client=client, topic=topic, times=times, asker=asker)

    @ends_at_caller
    def drop(
        self,
        api: str | None = None,
        *,
        when: When = "before_answer",
        client: str | None = None,
        topic: str | None = None,
        times: int | None = None,
        asker: Asker = "clients",
    ) -> Fault:
        """Close the connection: before a request has any effect, before its answer, or after it."""
        return self._set("drop", api=api, when=when, client=client, topic=topic, times=times, asker=asker)

    @ends_at_caller
    def drop_connections(self) -> int:
        """Close all connections now; returns how many there were."""
        return int(self._carry({"fault": "drop_connections"})["dropped"])

    @ends_at_caller
    def refuse_connections(self) -> Fault:
        """Close new connections at once; those that are open stay."""
        return self._set("refuse_connections")

    @ends_at_caller
    def full_disk(self, *, directory: str | None = None) -> Fault:
        """Fail everything that needs disk space, with ENOSPC: on all disks, or in one of `log.dirs`."""
        return self._set("full_disk", directory=directory)

    @ends_at_caller
    def slow_disk(self, by: timedelta | float) -> Fault:
        """Delay each write and each sync, by seconds or a timedelta."""
        return self._set("slow_disk", ms=_ms(by))

    @ends_at_caller
    def isolate(self, *, from_: Side | None = None, way: Way = "both") -> Fault:
        """Hold back what goes between this broker and the others, or its metadata store; None: both.

        With `way="in"` nothing reaches the broker, with "out" nothing leaves it. Connections stay open, and
        what was held back arrives when the fault is removed.
        """
        return self._set("isolate", way=way, **({} if from_ is None else {"from": from_}))

    @ends_at_caller
    def expire_member(self, group: str, member: str) -> list[str]:
        """End the session of a member by its id, instance id or client id; returns the expired member ids."""
        answer = self._carry({"fault": "expire_member", "group": group, "member": member})
        return list(answer["expired"])

    @ends_at_caller
    def lose_producer_id(self, producer_id: int) -> list[str]:
        """Remove an idempotent producer from the logs' producer state; returns the partitions that had it."""
        answer = self._carry({"fault": "lose_producer_id", "producer_id": producer_id})
        return list(answer["partitions"])

    @ends_at_caller
    def clear(self) -> None:
        """Remove all faults."""
        self._carry({"fault": "clear"})

    @ends_at_caller
    def rules(self) -> list[dict[str, Any]]:
        """The faults in force, each with the number of requests it was applied to."""
        return [dict(one) for one in self._carry({"fault": "list"})]

    def _set(self, name: str, **given: object) -> Fault:
        if given.pop("asker", "clients") == "brokers":
            given["from"] = "brokers"
        document = {"fault": name, **{key: value for key, value in given.items() if value is not None}}
        return Fault(self._carry, int(self._carry(document)["id"]), self._wait)


def _ms(by: timedelta | float) -> int:
    return round((by if isinstance(by, timedelta) else timedelta(seconds=by)) / timedelta(milliseconds=1))
