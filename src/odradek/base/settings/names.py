"""The meaning of a name in a settings file or in AlterConfigs; as in Kafka, every name is accepted.

num.partitions                              a setting of this broker
num.io.threads                              one of this broker's that is accepted and has no effect
ssl.keystore.location                       one of Kafka's that Odradek does not read
listener.name.client.ssl.keystore.location  the same for one listener
foo.bar                                     unknown: kept, shown without its value, without effect
"""

from collections.abc import Iterable
from typing import Final

from odradek.base.settings.broker import BROKER_SETTINGS
from odradek.base.settings.broker.without_effect import settings_without_effect
from odradek.base.settings.definition import Kind, Setting, Update

_LISTENER_PREFIX: Final = "listener.name."

NO_LISTENER_SETTINGS: Final = "listeners have no settings of their own yet"
UNKNOWN_NAME: Final = "there is no setting of that name"

# The settings of a listener's certificates: Kafka lets them change for one listener only, not for all.
PER_LISTENER: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)

# The settings of a listener that Kafka allows for all brokers of the cluster at once.
_OF_ALL_BROKERS_LISTENERS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


def broker_setting(name: str) -> Setting:
    """Returns the setting named `name`; an unknown one has the kind UNKNOWN and accepts any text."""
    known = BROKER_SETTINGS.get(name) or settings_without_effect().get(name)
    if known is not None:
        return known
    base = name_below_listener(name)
    if base is None:
        return Setting(name, Kind.UNKNOWN, None, "", update=Update.CLUSTER_WIDE, no_effect=UNKNOWN_NAME)
    below = broker_setting(base)
    return Setting(
        name,
        below.kind,
        None,
        f"{base} of one listener.",
        least=below.least,
        most=below.most,
        update=Update.CLUSTER_WIDE if base in _OF_ALL_BROKERS_LISTENERS else Update.PER_BROKER,
        no_effect=NO_LISTENER_SETTINGS,
    )


def name_below_listener(name: str) -> str | None:
    """`max.connections` of `listener.name.client.max.connections`; None for a name of another form."""
    if not name.startswith(_LISTENER_PREFIX):
        return None
    return name[len(_LISTENER_PREFIX) :].partition(".")[2] or None


def warnings_about(names: Iterable[str]) -> list[str]:
    """One sentence for each reason for which settings that were given have no effect."""
    by_reason: dict[str, list[str]] = {}
    sentences: list[str] = []
    for name in names:
        setting = broker_setting(name)
        if setting.kind is Kind.UNKNOWN:
            sentences.append(f"there is no setting named {name}; it is ignored")
        elif setting.no_effect:
            by_reason.setdefault(setting.no_effect, []).append(name)
    for reason, given in by_reason.items():
        sentences.append(f"{', '.join(given)} {'have' if given[1:] else 'has'} no effect here: {reason}")
    return sentences
