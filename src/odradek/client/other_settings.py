"""Settings of other clients that ours do not have, and what to say or to do instead.

    said_of("message.timeout.ms", ...)     "... is called delivery.timeout.ms here"
    said_of("loop", "loop")                "loop has no effect here: a client belongs to the loop that ..."

They are those of Kafka's Java clients, of librdkafka and confluent-kafka, of aiokafka and of kafka-python, by
their names with dots; `client/protection` has those that begin with `ssl.`, `sasl.` or `security.` in Kafka's
clients and librdkafka. Invariant: nothing here is a setting of ours, and each has a sentence of its own: the
nearest of our names may mean another thing.
"""

from collections.abc import Mapping
from typing import Final

_PEM: Final = "with ssl.truststore.type=PEM"
_KEY: Final = (
    "ssl.keystore.location, one PEM file with the key and its certificates, with ssl.keystore.type=PEM"
)
_LEVELS: Final = "compression.gzip.level, compression.lz4.level or compression.zstd.level"

_CALLED: Final[Mapping[str, str]] = {
    # aiokafka and kafka-python
    "max.batch.size": "batch.size",
    "rebalance.timeout.ms": "max.poll.interval.ms",
    "sasl.plain.username": "sasl.username",
    "sasl.plain.password": "sasl.password",
    "ssl.cafile": f"ssl.truststore.location, {_PEM}",
    "ssl.certfile": _KEY,
    "ssl.keyfile": _KEY,
    "ssl.password": "ssl.key.password",
    "ssl.check.hostname": "ssl.endpoint.identification.algorithm: https, or nothing for any name",
    # librdkafka
    "batch.num.messages": "batch.size, in bytes",
    "compression.codec": "compression.type",
    "compression.level": _LEVELS,
    "consume.callback.max.messages": "max.poll.records",
    "coordinator.query.interval.ms": "retry.backoff.ms",
    "fetch.error.backoff.ms": "retry.backoff.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.max.bytes": "max.request.size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.kbytes": "buffer.memory, in bytes",
    "queue.buffering.max.messages": "buffer.memory, in bytes",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "socket.timeout.ms": "request.timeout.ms",
    "ssl.ca.pem": f"ssl.truststore.certificates, {_PEM}",
    "topic.metadata.refresh.fast.interval.ms": "retry.backoff.ms",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
}

_BOOTSTRAP: Final = "bootstrap servers are asked whenever no other broker answers"
_CLASSES: Final = "no class or library is loaded because a setting names it"
_CONTEXT: Final = "give the argument ssl_context, a Python ssl.SSLContext"
_DELIVERIES: Final = "send returns a future of each record's delivery"
_FETCHED: Final = "fetch.max.bytes and max.partition.fetch.bytes say how much is fetched ahead"
_KERBEROS: Final = "GSSAPI is not spoken here"
_LOGGING: Final = "clients log by Python's logging, to loggers below odradek"
_METRICS: Final = "metrics() of a client returns what it counts"
_PARTITIONER: Final = "keys are spread by murmur2, unless a function is passed as the argument partitioner"
_STORE: Final = "set enable.auto.commit to false, and call commit with the offsets"
_SYSTEM: Final = "the system chooses the sizes of a socket's buffers, and its options"
_TOKENS: Final = "pass a function that returns a token as the argument token_provider"
_VERSIONS: Final = "versions are learned from each broker"

_INSTEAD: Final[Mapping[str, str]] = {
    # Kafka's Java clients
    "client.dns.lookup": "all addresses of a name are tried",
    "config.providers": "no class is loaded because a setting names it",
    "connections.max.idle.ms": "connections stay open; brokers end those that are idle",
    "enable.metrics.push": "no metrics are sent to brokers",
    "interceptor.classes": "pass objects as the argument interceptors",
    "key.deserializer": "pass a function as the argument key_deserializer of a consumer",
    "key.serializer": "pass a function as the argument key_serializer of a producer",
    "metadata.recovery.rebootstrap.trigger.ms": _BOOTSTRAP,
    "metadata.recovery.strategy": _BOOTSTRAP,
    "metric.reporters": _METRICS,
    "metrics.recording.level": "all metrics are recorded",
    "partitioner.class": _PARTITIONER,
    "receive.buffer.bytes": _SYSTEM,
    "send.buffer.bytes": _SYSTEM,
    "socket.connection.setup.timeout.max.ms": "each attempt has socket.connection.setup.timeout.ms",
    "value.deserializer": "pass a function as the argument value_deserializer of a consumer",
    "value.serializer": "pass a function as the argument value_serializer of a producer",
    # aiokafka and kafka-python
    "api.version": _VERSIONS,
    "bootstrap.timeout.ms": "nothing is connected when a client is made; calls have times of their own",
    "consumer.timeout.ms": "poll(timeout) returns an empty list when its time is over",
    "default.offset.commit.callback": "pass an object with on_commit in the argument interceptors",
    "enable.incremental.fetch.sessions": "brokers that have sessions are asked with them",
    "kafka.client": "a client makes its own connections",
    "listener": "pass it as the argument listener of a consumer",
    "loop": "a client belongs to the loop that runs when it is made or first used",
    "metric.group.prefix": "metrics have Kafka's names",
    "metrics.enabled": _METRICS,
    "proxy.url": "no proxy is used",
    "receive.message.max.bytes": _FETCHED,
    "sasl.kerberos.domain.name": _KERBEROS,
    "sasl.kerberos.name": _KERBEROS,
    "sasl.kerberos.service.name": _KERBEROS,
    "sasl.oauth.token.provider": _TOKENS,
    "selector": "the loop has its own",
    "socket.options": _SYSTEM,
    "socks5.proxy": "no proxy is used",
    "ssl.ciphers": _CONTEXT,
    "ssl.context": "pass it as the argument ssl_context",
    "ssl.crlfile": _CONTEXT,
    "token.provider": _TOKENS,
    # librdkafka and confluent-kafka
    "api.version.fallback.ms": _VERSIONS,
    "api.version.request": _VERSIONS,
    "api.version.request.timeout.ms": _VERSIONS,
    "broker.address.family": "all addresses of a name are tried",
    "broker.address.ttl": "names are looked up for every connection",
    "broker.version.fallback": _VERSIONS,
    "builtin.features": "nothing is left out when it is built",
    "debug": _LOGGING,
    "default.topic.config": "give its settings beside the others",
    "delivery.report.only.error": _DELIVERIES,
    "dr.cb": _DELIVERIES,
    "dr.msg.cb": _DELIVERIES,
    "enable.auto.offset.store": _STORE,
    "enable.gapless.guarantee": "records that must not be missing are written in transactions",
    "enable.partition.eof": "lag(partition) is 0 at the end, and why() says at_end",
    "enable.random.seed": "each client has a seed of its own",
    "enable.sparse.connections": "only brokers that are needed are connected to",
    "enable.ssl.certificate.verification": f"certificates are verified; for other rules {_CONTEXT}",
    "error.cb": "calls raise errors, or try again; why() says what a client waits for",
    "fetch.queue.backoff.ms": _FETCHED,
    "group.protocol.type": "it is consumer",
    "log.connection.close": _LOGGING,
    "log.level": _LOGGING,
    "log.queue": _LOGGING,
    "log.thread.name": _LOGGING,
    "logger": _LOGGING,
    "message.copy.max.bytes": "nothing is copied",
    "oauth.cb": _TOKENS,
    "offset.store.method": _STORE,
    "on.commit": "pass a callback to commit_async, or an object with on_commit in the argument interceptors",
    "on.delivery": _DELIVERIES,
    "partitioner": _PARTITIONER,
    "plugin.library.paths": _CLASSES,
    "queued.max.messages.kbytes": _FETCHED,
    "queued.min.messages": _FETCHED,
    "queuing.strategy": "records are sent in their order",
    "rebalance.cb": "pass a RebalanceListener as the argument listener",
    "reconnect.backoff.jitter.ms": "waits of reconnect.backoff.ms are drawn around it",
    "socket.keepalive.enable": _SYSTEM,
    "socket.max.fails": "a connection is closed when a request is not answered in time",
    "socket.nagle.disable": "it is disabled",
    "socket.receive.buffer.bytes": _SYSTEM,
    "socket.send.buffer.bytes": _SYSTEM,
    "ssl.certificate.pem": f"say {_KEY}",
    "ssl.crl.location": _CONTEXT,
    "ssl.curves.list": _CONTEXT,
    "ssl.key.pem": f"say {_KEY}",
    "ssl.sigalgs.list": _CONTEXT,
    "statistics.interval.ms": _METRICS,
    "stats.cb": _METRICS,
    "sticky.partitioning.linger.ms": "records without a key stay with a partition until batch.size is full",
    "throttle.cb": "brokers delay what they throttle",
    "topic.blacklist": "only topics that are used are asked about",
    "topic.metadata.propagation.max.ms": "a new topic is waited for as long as max.block.ms",
    "topic.metadata.refresh.sparse": "only topics that are used are asked about",
}

NAMES: Final = (*_CALLED, *_INSTEAD)
"""All of them, with dots."""


def ours_for(name: str) -> str | None:
    """What a setting with another name is called here; None if it is not such a one."""
    return _CALLED.get(name)


def said_of(name: str, written: str) -> str:
    """Why one of `NAMES` is refused, as the user wrote it, and what to do instead."""
    if name in _CALLED:
        return f"{written} is called {_CALLED[name]} here"
    return f"{written} has no effect here: {_INSTEAD[name]}"
