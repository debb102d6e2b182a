"""Finds out at once whether any broker answers, before a client waits for brokers."""

from collections.abc import Callable

from odradek.base.errors import ApiError
from odradek.client.aio.driver import Driver
from odradek.client.core.requests import Outcome, Send
from odradek.net.request_pipeline import ConnectionFailed


async def first_answer(driver: Driver, make: Callable[[], Send]) -> Outcome:
    """Ask the bootstrap servers, one after another, until one answers.

    Raises ConnectionFailed, with what each of them lacks, if none does.
    """
    failures: list[ApiError] = []
    for number in range(driver.bootstrap_count):
        outcome = await driver.ask_server(number, make())
        if outcome.error is None:
            return outcome
        failures.append(outcome.error)
    raise ConnectionFailed("; ".join(dict.fromkeys(map(str, failures))), failures[0].code)
