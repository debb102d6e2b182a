"""The periodic tasks of a broker and their intervals: retention, compaction, flushes, checkpoints, expiry.

Invariant: each task is one line here and one method elsewhere. A task that blocks runs in the background; a
task over all logs or partitions runs in slices.
"""

import logging
from collections.abc import Callable
from typing import Final

from odradek.base.execution import Background, Steps
from odradek.base.settings.definition import LONG_MAX
from odradek.server.node.core import BrokerCore
from odradek.server.node.leader_rebalance import LeaderRebalance
from odradek.server.node.schedule import Schedule
from odradek.storage import LogManager
from odradek.storage.finding import Finding, FindingKind
from odradek.storage.retention import Retired

REMOVAL_INTERVAL_MS: Final = 5_000
REPAIR_REPORT_INTERVAL_MS: Final = 5_000
ANNOUNCEMENT_INTERVAL_MS: Final = 2_500
"""R4; an announcement of a failed log directory that could not be written is tried again as often."""

_log = logging.getLogger(__name__)


def schedule_housekeeping(
    core: BrokerCore,
    schedule: Schedule,
    background: Background,
    look_for_cleaning: Callable[[], None],
    on_finding: Callable[[Finding], None],
) -> None:
    """Schedule every periodic task of a node."""
    every, settings, transactions = schedule.every, core.settings, core.transactions
    _schedule_log_tasks(core, schedule, background, on_finding)
    _schedule_checkpoints(core, schedule)
    every(lambda: core.settings.log_cleaner_backoff_ms, "log-cleaner", look_for_cleaning)
    every(
        settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        "transaction-abort",
        transactions.abort_timed_out,
    )
    every(
        settings.transaction_remove_expired_transaction_cleanup_interval_ms,
        "transactional-id-expiration",
        transactions.remove_expired,
    )
    every(
        settings.offsets_retention_check_interval_ms,
        "offset-expiration",
        core.groups.expire_offsets,
    )
    every(
        settings.replica_lag_time_max_ms // 2,
        "isr-expiration",
        lambda: core.slices.run(core.replicas.isr_maintenance.expire(), _not_done),
    )
    _schedule_announcements(core, schedule)
    if settings.auto_leader_rebalance_enable:
        interval_ms = 1_000 * settings.leader_imbalance_check_interval_seconds
        every(interval_ms, "leader-rebalance", LeaderRebalance(core.controller).look)


def _schedule_announcements(core: BrokerCore, schedule: Schedule) -> None:
    """News for the controller; and a look at the clock, where other brokers may take over from this one."""
    roles, interval_ms = core.confirmed_roles, ANNOUNCEMENT_INTERVAL_MS
    if not core.is_alone:
        roles.tick()
        interval_ms = min(interval_ms, roles.tick_ms)

    def announce_to_controller() -> None:
        core.isr_writer.announce()
        core.log_dir_events.announce()
        if not core.is_alone:
            roles.tick()

    schedule.every(interval_ms, "isr-change-propagation", announce_to_controller)


def _schedule_log_tasks(
    core: BrokerCore, schedule: Schedule, background: Background, on_finding: Callable[[Finding], None]
) -> None:
    """Retention, `flush.ms`, expiry of idle producers, removal of deleted files, rebuilding of indexes."""
    every, settings, logs, clock = schedule.every, core.settings, core.logs, core.clock

    def apply_retention() -> Steps[None]:
        for retired in (yield from logs.retire(clock.wall_ms())):
            core.replicas.on_log_start_rose(retired.partition)
            _report_retention(retired)
        core.replicas.notice_failed_directories()

    def flush_what_is_due() -> Steps[None]:
        core.group_flush.flush_now((yield from logs.due_flushes(clock.monotonic_ms())))

    def expire_producers() -> Steps[None]:
        yield from logs.expire_producers(clock.wall_ms())

    every(
        settings.log_retention_check_interval_ms,
        "log-retention",
        lambda: core.slices.run(apply_retention(), _not_done),
        delay_ms=settings.log_initial_task_delay_ms,
    )
    if settings.log_flush_scheduler_interval_ms < LONG_MAX:
        every(
            settings.log_flush_scheduler_interval_ms,
            "log-flusher",
            lambda: core.slices.run(flush_what_is_due(), _not_done),
        )
    every(
        settings.producer_id_expiration_check_interval_ms,
        "producer-id-expiration",
        lambda: core.slices.run(expire_producers(), _not_done),
    )
    every(REMOVAL_INTERVAL_MS, "file-deletion", lambda: _remove_files(logs, background))
    every(REPAIR_REPORT_INTERVAL_MS, "index-repair-report", lambda: _report_repairs(logs, on_finding))


def _report_retention(retired: Retired) -> None:
    _log.info(
        "retention deleted %s of %s: offsets %d to %d, %d bytes (%s)",
        "1 segment" if retired.segments == 1 else f"{retired.segments} segments",
        retired.partition,
        retired.first_offset,
        retired.end_offset - 1,
        retired.size_bytes,
        ", ".join(retired.reasons),
        extra={
            "topic": retired.partition.topic,
            "partition": retired.partition.partition,
            "segments": retired.segments,
            "first_offset": retired.first_offset,
            "last_offset": retired.end_offset - 1,
            "bytes": retired.size_bytes,
            "reasons": list(retired.reasons),
        },
    )


def _schedule_checkpoints(core: BrokerCore, schedule: Schedule) -> None:
    every, settings, checkpoints = schedule.every, core.settings, core.checkpoints

    def write_high_watermarks() -> Steps[None]:
        yield from checkpoints.write_high_watermarks()
        core.replicas.notice_failed_directories()

    every(
        settings.log_flush_offset_checkpoint_interval_ms,
        "recovery-point-checkpoint",
        lambda: core.slices.run(checkpoints.write_recovery_points(), _not_done),
        delay_ms=settings.log_initial_task_delay_ms,
    )
    every(
        settings.log_flush_start_offset_checkpoint_interval_ms,
        "log-start-offset-checkpoint",
        lambda: core.slices.run(checkpoints.write_log_start_offsets(), _not_done),
        delay_ms=settings.log_initial_task_delay_ms,
    )
    every(
        settings.replica_high_watermark_checkpoint_interval_ms,
        "high-watermark-checkpoint",
        lambda: core.slices.run(write_high_watermarks(), _not_done),
    )


def _remove_files(logs: LogManager, background: Background) -> None:
    """Remove deleted files from disk: deletion only renames them, because removing a file takes time."""
    for removal in logs.take_due_removals():
        background.submit(removal, lambda done: None, _warn)


def _report_repairs(logs: LogManager, on_finding: Callable[[Finding], None]) -> None:
    for sentence in logs.take_repairs():
        on_finding(Finding(FindingKind.REPAIRED, sentence))


def _warn(error: Exception) -> None:
    _log.warning("a deleted file could not be removed: %s", error)


def _not_done(error: Exception) -> None:
    """A bug of ours; the task runs again after its interval."""
    _log.error("a periodic task over all logs failed", exc_info=error)
