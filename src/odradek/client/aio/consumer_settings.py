"""The settings of a consumer, as its core takes them."""

from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.client import settings as known
from odradek.client.core.consumer.consumer_core import ConsumerOptions
from odradek.client.core.consumer.fetcher import FetchOptions
from odradek.client.core.membership.member import CLASSIC, CONSUMER, MemberOptions
from odradek.client.reset_policy import reset_policy
from odradek.client.settings import Setting, Settings

_OF_CLASSIC: Final[tuple[Setting[Any], ...]] = (
    known.PARTITION_ASSIGNMENT_STRATEGY,
    known.SESSION_TIMEOUT_MS,
    known.HEARTBEAT_INTERVAL_MS,
)


def consumer_options(settings: Settings) -> ConsumerOptions:
    """What the core needs. Raises SettingError for settings that contradict each other."""
    group = settings[known.GROUP_ID]
    return ConsumerOptions(
        fetch=FetchOptions(
            min_bytes=settings[known.FETCH_MIN_BYTES],
            max_bytes=settings[known.FETCH_MAX_BYTES],
            max_wait_ms=settings[known.FETCH_MAX_WAIT_MS],
            partition_max_bytes=settings[known.MAX_PARTITION_FETCH_BYTES],
            is_committed_only=settings[known.ISOLATION_LEVEL] == "read_committed",
            checks_crc=settings[known.CHECK_CRCS],
            rack=settings[known.CLIENT_RACK],
            request_timeout_ms=settings[known.REQUEST_TIMEOUT_MS],
            retry_backoff_ms=settings[known.RETRY_BACKOFF_MS],
            retry_backoff_max_ms=settings[known.RETRY_BACKOFF_MAX_MS],
            metadata_max_age_ms=settings[known.METADATA_MAX_AGE_MS],
            sampling=settings.sampling,
        ),
        member=None if group is None else _member_options(settings, group),
        protocol=_protocol(settings),
        reset_to=reset_policy(settings[known.AUTO_OFFSET_RESET]),
        request_timeout_ms=settings[known.REQUEST_TIMEOUT_MS],
        excludes_internal=settings[known.EXCLUDE_INTERNAL_TOPICS],
    )


def _protocol(settings: Settings) -> str | None:
    """The protocol to use; None: whatever the broker and the group know."""
    protocol = settings[known.GROUP_PROTOCOL]
    of_classic = [one.name for one in _OF_CLASSIC if settings.is_given(one)]
    if protocol == CONSUMER and of_classic:
        raise SettingError(f"{of_classic[0]} has no effect with group.protocol=consumer: the broker decides")
    if settings.is_given(known.GROUP_REMOTE_ASSIGNOR) and (protocol == CLASSIC or of_classic):
        raise SettingError("group.remote.assignor has no effect in the classic protocol: a member assigns")
    if of_classic:
        return CLASSIC
    return CONSUMER if settings.is_given(known.GROUP_REMOTE_ASSIGNOR) else protocol


def _check_session(settings: Settings) -> None:
    """Check that a session outlives the wait for a heartbeat, as Kafka's Java client does."""
    interval_ms, session_ms = settings[known.HEARTBEAT_INTERVAL_MS], settings[known.SESSION_TIMEOUT_MS]
    if interval_ms >= session_ms:
        raise SettingError(
            f"heartbeat.interval.ms, {interval_ms}, must be below session.timeout.ms, {session_ms}: "
            "a member that is silent for so long is put out of its group"
        )


def _member_options(settings: Settings, group: str) -> MemberOptions:
    _check_session(settings)
    return MemberOptions(
        group,
        instance=settings[known.GROUP_INSTANCE_ID],
        rack=settings[known.CLIENT_RACK],
        remote_assignor=settings[known.GROUP_REMOTE_ASSIGNOR],
        strategies=settings[known.PARTITION_ASSIGNMENT_STRATEGY],
        session_timeout_ms=settings[known.SESSION_TIMEOUT_MS],
        heartbeat_interval_ms=settings[known.HEARTBEAT_INTERVAL_MS],
        max_poll_interval_ms=settings[known.MAX_POLL_INTERVAL_MS],
        request_timeout_ms=settings[known.REQUEST_TIMEOUT_MS],
        retry_backoff_ms=settings[known.RETRY_BACKOFF_MS],
        retry_backoff_max_ms=settings[known.RETRY_BACKOFF_MAX_MS],
    )
