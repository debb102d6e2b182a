"""Settings that ask for protection which is not served: a start with one is refused.

    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer     refused
    authorizer.class.name=                                                            promises nothing
    max.connection.creation.rate=2147483647                                           promises nothing
    listener.name.client.max.connections=10                                           refused

If they were ignored, the broker would run without the protection, and the operator would not know. SSL and
SASL settings beside listeners that use neither promise nothing in Kafka, nor here; listeners that use them
are refused by a check of their own.
"""

from typing import Final, NamedTuple

from odradek.base.settings.names import name_below_listener


class Promise(NamedTuple):
    """What a setting promises that is not served."""

    # What would happen silently if the setting were ignored.
    instead: str
    # The texts that ask for nothing, besides an empty one.
    idle: tuple[str, ...] = ()
    # What an operator who can do without it writes or does; what to do in every case is to remove the line.
    way_on: str = "remove it to start without"


_INT_MAX: Final = "2147483647"
_LONG_MAX: Final = "9223372036854775807"
_POLICY: Final = "policies are not served yet, and every request would be allowed"
_QUOTA: Final = "quotas are not served yet, and no client would be slowed down"
_LIMIT: Final = "this limit is not served yet, and connections would be accepted beyond it"
_TOKENS: Final = "delegation tokens are not served yet, and clients would not be authenticated by them"
_PRINCIPALS: Final = "clients are not authenticated yet, and it would never be called"

PROMISES: Final = {
    "alter.config.policy.class.name": Promise(_POLICY),
    "authorizer.class.name": Promise(
        "no authorizer is served yet, and everybody could do everything",
        way_on="remove it where all who reach the listeners may do everything",
    ),
    "client.quota.callback.class": Promise(_QUOTA),
    "config.providers": Promise(
        "they are not served yet, and a value like ${file:...} would be taken literally"
    ),
    "create.topic.policy.class.name": Promise(_POLICY),
    "delegation.token.master.key": Promise(_TOKENS),
    "delegation.token.secret.key": Promise(_TOKENS),
    "max.connection.creation.rate": Promise(_LIMIT, (_INT_MAX,)),
    "max.connections.per.ip.overrides": Promise(_LIMIT),
    "principal.builder.class": Promise(
        _PRINCIPALS, ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)
    ),
    "quota.consumer.default": Promise(_QUOTA, (_LONG_MAX,)),
    "quota.producer.default": Promise(_QUOTA, (_LONG_MAX,)),
    "security.inter.broker.protocol": Promise(
        "only PLAINTEXT is served yet, and nothing would be encrypted", ("PLAINTEXT",)
    ),
    "security.providers": Promise("nothing here is encrypted yet, and they would never be used"),
    "zookeeper.set.acl": Promise(
        "access control lists are not served yet, and everybody could change what ZooKeeper holds", ("false",)
    ),
    "zookeeper.ssl.client.enable": Promise("connections to ZooKeeper are not encrypted yet", ("false",)),
}

_PROMISES_OF_LISTENER: Final = {
    **{name: PROMISES[name] for name in ("max.connection.creation.rate", "principal.builder.class")},
    "max.connections": Promise(_LIMIT, (_INT_MAX,)),
}


def unkept_promise(name: str, text: str) -> str | None:
    """Why a setting is refused, in one sentence; None when it asks for no protection that is missing."""
    base = name_below_listener(name)
    promise = PROMISES.get(name) if base is None else _PROMISES_OF_LISTENER.get(base)
    if promise is None or not text.strip() or text.strip() in promise.idle:
        return None
    return f"{name} cannot be set: {promise.instead}; {promise.way_on}"
