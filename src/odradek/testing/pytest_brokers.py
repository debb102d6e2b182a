"""The brokers of one pytest run: the shared one, how others are made, and what they logged during a test."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import pytest

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.setting_texts import SettingValue
    from odradek.testing.shared_broker import SharedBroker

Scope = Literal["function", "class", "module", "package", "session"]

LOG_CHARACTERS_MAX: Final = 20_000
"""How much of a broker's log a report shows: its end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a marker asks for."""

    settings: tuple[tuple[str, SettingValue], ...] = ()
    process: bool | None = None
    """None: as the ini option says."""
    scope: Scope = "function"
    follow_patched_time: bool = False


def wanted_without_marker() -> Wanted:
    """What a test gets that says nothing."""
    return Wanted()


def wanted_by(node: pytest.Item | pytest.Collector) -> Wanted | None:
    """What the markers of a test, class or module ask for; the closest one wins, settings are put together.

    Raises pytest.UsageError for a marker that cannot be read.
    """
    markers = list(node.iter_markers("odradek"))  # the closest first
    if not markers:
        return None
    settings: dict[str, SettingValue] = {}
    arguments: dict[str, Any] = {}
    for marker in reversed(markers):
        given = dict(marker.kwargs)
        settings |= given.pop("settings", None) or {}
        arguments |= given
        if marker.args:
            raise pytest.UsageError(
                f"{node.nodeid}: the marker odradek takes named arguments, as settings={{...}}"
            )
    try:
        wanted = Wanted(tuple(settings.items()), **arguments)
    except TypeError as error:
        raise pytest.UsageError(f"{node.nodeid}: the marker odradek has no such argument: {error}") from None
    try:
        hash(wanted)
    except TypeError:
        raise pytest.UsageError(f"{node.nodeid}: a setting is a str, number, bool or timedelta") from None
    if wanted.scope not in get_args(Scope):
        raise pytest.UsageError(
            f"{node.nodeid}: there is no scope {wanted.scope!r} ({', '.join(get_args(Scope))})"
        )
    return wanted


class Brokers:
    """What one run has of brokers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Started when a test first asks for it.
        self._shared: SharedBroker | None = None
        # By its own value: pytest tells parameters apart by identity.
        self._wanted: dict[Wanted, Wanted] = {}
        # How long each broker's log was when the test at work began.
        self._logged: dict[Broker, int] = {}

    def shared(self) -> Broker:
        """The broker that tests share, started when it is first wanted."""
        if self._shared is None:
            from odradek.testing.shared_broker import SharedBroker

            shared = SharedBroker(process=self._is_process(), settings=self._settings({}))
            shared.start()
            self._shared = shared
        return self._shared

    def same(self, wanted: Wanted) -> Wanted:
        """The first of those that are equal."""
        return self._wanted.setdefault(wanted, wanted)

    def make(self, wanted: Wanted) -> Broker:
        """A broker that is not started yet."""
        process = self._is_process() if wanted.process is None else wanted.process
        return self.make_with(
            process=process, settings=dict(wanted.settings), follow_patched_time=wanted.follow_patched_time
        )

    def make_with(
        self,
        *,
        settings: Mapping[str, SettingValue] | None = None,
        **arguments: Any,  # noqa: ANN401
    ) -> Broker:
        """The same by the arguments of `Broker`."""
        from odradek.testing.broker import Broker

        return Broker(settings=self._settings(settings or {}), **arguments)

    def close(self) -> None:
        """End the shared broker."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def clear_faults(self) -> None:
        """End all faults on the shared broker; one that a full disk has ended starts again on its data."""
        if self._shared is not None:
            self._shared.clear_faults()
            self._shared.start()

    # --- logs

    def note_logs(self) -> None:
        """Remember how much brokers have logged."""
        self._logged = {broker: len(broker.log_text()) for broker in _all_brokers()}

    def logged(self) -> list[tuple[str, str]]:
        """Sections for a report: what each broker has logged since."""
        sections = []
        for broker in _all_brokers():
            text = broker.log_text()[self._logged.get(broker, 0) :]
            if text:
                sections.append((f"Log of {broker}", text[-LOG_CHARACTERS_MAX:]))
        return sections

    # --- options

    def _is_process(self) -> bool:
        return bool(self._config.getini("odradek_process"))

    def _settings(self, given: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
        """The settings of the ini file, with others over them."""
        settings: dict[str, SettingValue] = {}
        for line in cast(list[str], self._config.getini("odradek_settings")):
            name, equals, text = line.partition("=")
            if not equals:
                raise pytest.UsageError(f"odradek_settings takes lines of name=value, not {line!r}")
            settings[name.strip()] = text.strip()
        return {**settings, **given}


BROKERS: Final = pytest.StashKey[Brokers]()


def _all_brokers() -> list[Broker]:
    """Every broker of this process with a log of its own, also those that tests made by themselves."""
    module = sys.modules.get("odradek.testing.broker")
    return [] if module is None else sorted(module.WITH_LOGS, key=str)
