"""The brokers of one pytest run: the shared broker, brokers made for a test, and their logs for reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import pytest

if TYPE_CHECKING:
    from odradek.testing.broker import Broker, HasLog
    from odradek.testing.local_cluster import LocalCluster
    from odradek.testing.setting_texts import SettingValue
    from odradek.testing.shared_broker import SharedBroker

Scope = Literal["function", "class", "module", "package", "session"]

LOG_CHARACTERS_MAX: Final = 20_000
"""A report shows this much of the end of a broker's or a cluster's log."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a marker asks for."""

    settings: tuple[tuple[str, SettingValue], ...] = ()
    process: bool | None = None
    """None: the ini option decides."""
    scope: Scope = "function"
    follow_patched_time: bool = False


class MarkerError(Exception):
    """A marker that is malformed, or that could have no effect; the message begins with the test's id."""


def wanted_without_marker() -> Wanted:
    """The broker of a test without a marker."""
    return Wanted()


def wanted_by(node: pytest.Item | pytest.Collector) -> Wanted | None:
    """The broker that the markers of a test, class or module ask for: the closest wins, settings merge.

    Raises MarkerError for a malformed marker.
    """
    markers = list(node.iter_markers("odradek"))  # the closest first
    if not markers:
        return None
    settings: dict[str, SettingValue] = {}
    arguments: dict[str, Any] = {}
    for marker in reversed(markers):
        _check_names(node, marker)
        given = dict(marker.kwargs)
        settings |= given.pop("settings", None) or {}
        arguments |= given
    wanted = Wanted(tuple(settings.items()), **arguments)
    try:
        hash(wanted)
    except TypeError:
        raise MarkerError(f"{node.nodeid}: a setting is a str, number, bool or timedelta") from None
    if wanted.scope not in get_args(Scope):
        raise MarkerError(f"{node.nodeid}: there is no scope {wanted.scope!r} ({', '.join(get_args(Scope))})")
    return wanted


def cluster_wanted_by(node: pytest.Item) -> dict[str, Any]:
    """The arguments of `LocalCluster` in the closest marker `odradek_cluster` of a test.

    Raises MarkerError for a malformed marker.
    """
    marker = node.get_closest_marker("odradek_cluster")
    if marker is None:
        return {}
    unknown = sorted(set(marker.kwargs) - {"brokers", "settings", "log_dirs"})
    if marker.args or unknown:
        raise MarkerError(
            f"{node.nodeid}: the marker odradek_cluster takes brokers=3, log_dirs=1 and settings={{...}},"
            " by name"
        )
    return dict(marker.kwargs)


def _check_names(node: pytest.Item | pytest.Collector, marker: pytest.Mark) -> None:
    """Raises MarkerError unless a marker's arguments are named as the fields of `Wanted`."""
    names = [field.name for field in fields(Wanted)]
    if marker.args:
        raise MarkerError(f"{node.nodeid}: the marker odradek takes named arguments, as settings={{...}}")
    unknown = sorted(set(marker.kwargs) - set(names))
    if unknown:
        close = get_close_matches(unknown[0], names, n=1)
        hint = f", did you mean {close[0]}?" if close else ";"
        raise MarkerError(
            f"{node.nodeid}: the marker odradek takes no {unknown[0]}{hint} It takes {', '.join(names)}"
        )
    settings = marker.kwargs.get("settings")
    if settings is not None and not isinstance(settings, Mapping):
        raise MarkerError(f"{node.nodeid}: settings of the marker odradek are a dict, not {settings!r}")


class Brokers:
    """The brokers of one pytest run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Started when a test first asks for it.
        self._shared: SharedBroker | None = None
        # Started when a test first asks for it; see `odradek_session_cluster`.
        self._cluster: LocalCluster | None = None
        # Each value once: pytest compares parameters by identity.
        self._wanted: dict[Wanted, Wanted] = {}
        # Where each log ended when the current test began.
        self._logged: dict[HasLog, int] = {}

    def shared(self) -> Broker:
        """The shared broker, started on first use."""
        if self._shared is None:
            from odradek.testing.shared_broker import SharedBroker

            settings = self._settings({})
            with _in_a_sentence():
                shared = SharedBroker(process=self._is_process(), settings=settings)
            shared.start()
            self._shared = shared
        return self._shared

    def shared_cluster(self) -> LocalCluster:
        """The cluster of the whole run, started on first use."""
        if self._cluster is None:
            cluster = self.make_cluster({})
            cluster.start()
            self._cluster = cluster
        return self._cluster

    def make_cluster(self, arguments: Mapping[str, Any]) -> LocalCluster:
        """Returns a cluster that is not started yet; if it cannot be made, the test fails with a sentence."""
        from odradek.testing.local_cluster import LocalCluster

        with _in_a_sentence():
            settings = self._settings(arguments.get("settings") or {})
            return LocalCluster(**{**arguments, "settings": settings})

    def same(self, wanted: Wanted) -> Wanted:
        """Returns the first value that was passed and equals this one."""
        return self._wanted.setdefault(wanted, wanted)

    def make(self, wanted: Wanted) -> Broker:
        """Returns a broker that is not started yet; if it cannot be made, the test fails with a sentence."""
        process = self._is_process() if wanted.process is None else wanted.process
        with _in_a_sentence():
            return self.make_with(
                process=process,
                settings=dict(wanted.settings),
                follow_patched_time=wanted.follow_patched_time,
            )

    def make_with(
        self,
        *,
        settings: Mapping[str, SettingValue] | None = None,
        **arguments: Any,  # noqa: ANN401
    ) -> Broker:
        """As `make`, with the arguments of `Broker`. Raises what `Broker` raises."""
        __tracebackhide__ = True
        from odradek.testing.broker import Broker

        return Broker(settings=self._settings(settings or {}), **arguments)

    def close(self) -> None:
        """End the shared broker and the shared cluster."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def clear_faults(self) -> None:
        """Remove all faults from the shared broker; if a full disk ended it, restart it on its data.

        Start those brokers of the shared cluster again that the test has ended or paused.
        """
        if self._cluster is not None:
            self._cluster.restore()
        if self._shared is not None:
            self._shared.clear_faults()
            self._shared.start()

    # --- logs

    def note_logs(self) -> None:
        """Remember where each log ends."""
        self._logged = {one: one.log_mark() for one in _all_with_logs()}

    def logged(self) -> list[tuple[str, str]]:
        """Sections for a report: what each broker and cluster has logged since `note_logs`."""
        sections = []
        for one in _all_with_logs():
            text = one.log_text(self._logged.get(one, 0))
            if text:
                sections.append((f"Log of {one}", text[-LOG_CHARACTERS_MAX:]))
        return sections

    # --- options

    def _is_process(self) -> bool:
        return bool(self._config.getini("odradek_process"))

    def _settings(self, given: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
        """The settings of the ini file, overridden by `given`."""
        settings: dict[str, SettingValue] = {}
        for line in cast(list[str], self._config.getini("odradek_settings")):
            name, equals, text = line.partition("=")
            if not equals:
                pytest.fail(f"odradek_settings takes lines of name=value, not {line!r}", pytrace=False)
            settings[name.strip()] = text.strip()
        return {**settings, **given}


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """Fail the test with one sentence about its settings, without Odradek's stack frames."""
    from odradek.base.errors import OdradekError

    try:
        yield
    except OdradekError as error:
        raise pytest.fail.Exception(f"odradek: {error}", pytrace=False) from None


BROKERS: Final = pytest.StashKey[Brokers]()


def _all_with_logs() -> list[HasLog]:
    """Every broker that was started with a log file, and every cluster; also those that tests made."""
    module = sys.modules.get("odradek.testing.broker")
    return [] if module is None else sorted(module.WITH_LOGS, key=str)
