"""The layers in which a setting may be given, the strongest first, and the value that they result in.

For a topic's `retention.ms` on a broker whose file says `log.retention.hours=1`:

    topic            retention.ms          not given
    dynamic broker   log.retention.ms      not given      (this broker, while it runs)
    dynamic default  log.retention.ms      not given      (all brokers, while they run)
    static           log.retention.hours   1              -> 3600000, source STATIC_BROKER
    default          log.retention.hours   168

DescribeConfigs returns the winning layer as the source, and all given values as synonyms.

Invariant: `in_force` is the only view of a broker's present settings (R18). Code reads a setting there each
time it uses it; it keeps no copy of one that may change, and there is no notification of a change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from odradek.base.errors import SettingError
from odradek.base.settings.broker import BROKER_ALIASES, BROKER_SETTINGS, BrokerSettings
from odradek.base.settings.contradictions import contradiction
from odradek.base.settings.definition import Kind, Setting, Value, attribute_of
from odradek.base.settings.group import GROUP_SETTINGS
from odradek.base.settings.names import broker_setting, warnings_about
from odradek.base.settings.protection import unkept_promise
from odradek.base.settings.topic import TOPIC_SETTINGS, TopicConfig


class Source(IntEnum):
    """The layer that gave a value; the numbers are those of DescribeConfigs responses."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


class Synonym(NamedTuple):
    """One place that gives a value for a setting: under this name, with this text, in this layer."""

    name: str
    text: str | None
    source: Source


class Resolved(NamedTuple):
    """The value in force, its text, its layer, and all synonyms, the winner first."""

    value: Value
    text: str | None
    source: Source
    synonyms: tuple[Synonym, ...]


# A topic setting that no broker setting gives a default for has these layers only.
_BROKER_LAYERS = (Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER, Source.STATIC_BROKER)


@dataclass(slots=True)
class SettingLayers:
    """The settings in the layers of one broker, as text by Kafka's names; all texts have been parsed once."""

    # From the settings file and the command line; never changes while the broker runs.
    static: dict[str, str] = field(default_factory=dict)
    # From /config/brokers/<default>: for all brokers of the cluster.
    dynamic_default: dict[str, str] = field(default_factory=dict)
    # From /config/brokers/<id>: for this broker only.
    dynamic_broker: dict[str, str] = field(default_factory=dict)
    # The resulting settings of a broker, and of a topic without overrides; None until needed.
    _in_force: BrokerSettings | None = field(default=None, init=False, repr=False, compare=False)
    _topic_defaults: TopicConfig | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def from_static(cls, properties: Mapping[str, str]) -> tuple["SettingLayers", list[str]]:
        """Returns the layers of a file's properties, and the unknown names in it, which the layers keep.

        Raises SettingError that names all values that their settings cannot take and all that promise
        protection which is not served; else for two that contradict each other.
        """
        layers = cls()
        unknown: list[str] = []
        faults: list[str] = []
        for given_name, text in properties.items():
            name = BROKER_ALIASES.get(given_name, given_name)
            known = broker_setting(name)
            fault = _fault_in(known, name, text)
            if fault is not None:
                faults.append(fault)
            layers.static[name] = text
            if known.kind is Kind.UNKNOWN:
                unknown.append(given_name)
        if len(faults) == 1:
            raise SettingError(faults[0])
        if faults:
            listed = "; ".join(f"({number}) {fault}" for number, fault in enumerate(faults, 1))
            raise SettingError(f"{len(faults)} settings are refused: {listed}")
        fault = contradiction(layers.in_force, layers.static)
        if fault is not None:
            raise SettingError(fault)
        return layers, unknown

    @property
    def in_force(self) -> BrokerSettings:
        """All settings in force for this broker now."""
        if self._in_force is None:
            self._in_force = self.broker_settings()
        return self._in_force

    def let_in_force(self, of_all: Mapping[str, str], of_this: Mapping[str, str]) -> list[str]:
        """Put the settings for all brokers, and those for this one, in force from now on.

        Returns warnings for the log. A value that an earlier version stored and that its setting no longer
        accepts is left out, as Kafka does.
        """
        before = {**self.dynamic_default, **self.dynamic_broker}
        said: list[str] = []
        self.dynamic_default = _without_faults(of_all, said)
        self.dynamic_broker = _without_faults(of_this, said)
        self._in_force = self._topic_defaults = None
        given = {**self.dynamic_default, **self.dynamic_broker}
        return said + warnings_about(name for name, text in given.items() if before.get(name) != text)

    def warnings(self) -> list[str]:
        """Returns warnings about settings in the file that have no effect, one for each reason."""
        return warnings_about(self.static)

    def broker(self, name: str) -> Resolved:
        """Resolve a broker setting. Raises SettingError for an unknown name."""
        known = BROKER_SETTINGS.get(name)
        if known is None:
            raise SettingError(f"there is no broker setting named {name}")
        return _resolved(known, self._broker_synonyms(known, name))

    def beside(self) -> dict[str, Resolved]:
        """Returns the given settings that this broker does not have: Kafka's others, and unknown ones."""
        given = {name: None for source in _BROKER_LAYERS for name in self._layer(source)}
        found: dict[str, Resolved] = {}
        for name in given:
            if name not in BROKER_SETTINGS:
                synonyms = tuple(self._given(name))
                found[name] = Resolved(synonyms[0].text, synonyms[0].text, synonyms[0].source, synonyms)
        return found

    def topic(self, name: str, overrides: Mapping[str, str]) -> Resolved:
        """Resolve a setting of a topic that overrides these. Raises SettingError for an unknown name."""
        known = TOPIC_SETTINGS.get(name)
        if known is None:
            raise SettingError(f"there is no topic setting named {name}")
        found: list[tuple[Synonym, int]] = []
        if name in overrides:
            found.append((Synonym(name, overrides[name], Source.DYNAMIC_TOPIC), 1))
        for source in _BROKER_LAYERS:
            for broker_name, factor in known.broker_names:
                text = self._layer(source).get(broker_name)
                if text is not None:
                    found.append((Synonym(broker_name, text, source), factor))
        for broker_name, factor in known.broker_names:
            default = BROKER_SETTINGS[broker_name].default
            if default is not None:
                text = BROKER_SETTINGS[broker_name].render(default)
                found.append((Synonym(broker_name, text, Source.DEFAULT), factor))
        if not known.broker_names:
            found.append((Synonym(name, known.render(known.default), Source.DEFAULT), 1))
        return _resolved(known, found)

    def group(self, name: str, overrides: Mapping[str, str]) -> Resolved:
        """Resolve a setting of a group that overrides these; the broker's own value is its default.

        Raises SettingError for an unknown name.
        """
        known = GROUP_SETTINGS.get(name)
        if known is None:
            raise SettingError(f"there is no group setting named {name}")
        if name in overrides:
            given = Synonym(name, known.canonical(overrides[name]), Source.GROUP)
            return Resolved(known.parse(overrides[name]), given.text, given.source, (given,))
        ((broker_name, _),) = known.broker_names
        value = self.broker(broker_name).value
        default = Synonym(name, known.render(value), Source.DEFAULT)
        return Resolved(value, default.text, default.source, (default,))

    def topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """All settings in force for a topic that overrides these."""
        if overrides:
            return self._topic_config(overrides)
        if self._topic_defaults is None:
            self._topic_defaults = self._topic_config(overrides)
        return self._topic_defaults

    def _topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        values: dict[str, Any] = {}
        for name in TOPIC_SETTINGS:
            values[attribute_of(name)] = self.topic(name, overrides).value
        return TopicConfig(**values)

    def broker_settings(self) -> BrokerSettings:
        """All settings that the layers give now, computed again; see `in_force`."""
        values: dict[str, Any] = {attribute_of(name): self.broker(name).value for name in BROKER_SETTINGS}
        return BrokerSettings(**values)

    def _layer(self, source: Source) -> dict[str, str]:
        if source is Source.DYNAMIC_BROKER:
            return self.dynamic_broker
        if source is Source.DYNAMIC_DEFAULT_BROKER:
            return self.dynamic_default
        return self.static

    def _broker_synonyms(self, known: Setting, name: str) -> list[tuple[Synonym, int]]:
        found = [(synonym, 1) for synonym in self._given(name)]
        found.append((Synonym(name, known.render(known.default), Source.DEFAULT), 1))
        return found

    def _given(self, name: str) -> Iterator[Synonym]:
        """The values that the layers give under a name, the winner first."""
        for source in _BROKER_LAYERS:
            text = self._layer(source).get(name)
            if text is not None:
                yield Synonym(name, text, source)


def _without_faults(given: Mapping[str, str], said: list[str]) -> dict[str, str]:
    """Returns the settings that can be in force, and why the others cannot."""
    taken: dict[str, str] = {}
    for name, text in given.items():
        fault = _fault_in(broker_setting(name), name, text)
        if fault is None:
            taken[name] = text
        else:
            said.append(f"a stored setting is not in force: {fault}")
    return taken


def _fault_in(known: Setting, name: str, text: str) -> str | None:
    """Why a text cannot be in force under a name, in one sentence."""
    try:
        known.parse(text)
    except SettingError as error:
        return str(error)
    return unkept_promise(name, text)


def _resolved(known: Setting, found: list[tuple[Synonym, int]]) -> Resolved:
    assert found, f"{known.name} has no default"
    winner, factor = found[0]
    synonyms = tuple(synonym for synonym, _ in found if synonym.text is not None)
    if winner.text is None:
        return Resolved(None, None, winner.source, synonyms)
    if winner.source is Source.DEFAULT and factor == 1:
        return Resolved(known.default, known.render(known.default), winner.source, synonyms)
    text = _scaled(winner.text, factor)
    return Resolved(known.parse(text), known.canonical(text), winner.source, synonyms)


def _scaled(text: str, factor: int) -> str:
    """Hours or minutes as milliseconds; -1 means no limit in any unit."""
    return text if factor == 1 or text.strip() == "-1" else str(int(text) * factor)
