"""Settings of Apache Kafka 4.3 that Odradek does not read. They are declared so that a file written for Kafka
loads, a value of the wrong kind is refused, and the user is told that the setting has no effect.

One line is one setting: its name, its kind, how it may change while the broker runs (nothing: it may not),
and its bounds. They are parsed when the first of them is asked for; a start without them does not pay for it.
"""

from functools import cache
from typing import Final

from odradek.base.settings.definition import Kind, Setting, Update

_AREAS: Final[dict[str, str]] = {
    "no listener uses SSL or SASL yet": """
        connection.failed.authentication.delay.ms int 0..
        connections.max.reauth.ms long
        principal.builder.class class per-broker
        sasl.client.callback.handler.class class
        sasl.enabled.mechanisms list per-broker
        sasl.jaas.config password per-broker
        sasl.kerberos.kinit.cmd string per-broker
        sasl.kerberos.min.time.before.relogin long per-broker
        sasl.kerberos.principal.to.local.rules list per-broker
        sasl.kerberos.service.name string per-broker
        sasl.kerberos.ticket.renew.jitter double per-broker
        sasl.kerberos.ticket.renew.window.factor double per-broker
        sasl.login.callback.handler.class class
        sasl.login.class class
        sasl.login.connect.timeout.ms int
        sasl.login.read.timeout.ms int
        sasl.login.refresh.buffer.seconds short per-broker
        sasl.login.refresh.min.period.seconds short per-broker
        sasl.login.refresh.window.factor double per-broker
        sasl.login.refresh.window.jitter double per-broker
        sasl.login.retry.backoff.max.ms long
        sasl.login.retry.backoff.ms long
        sasl.mechanism.controller.protocol string
        sasl.mechanism.inter.broker.protocol string per-broker
        sasl.oauthbearer.assertion.algorithm string
        sasl.oauthbearer.assertion.claim.aud string
        sasl.oauthbearer.assertion.claim.exp.seconds int 0..86400
        sasl.oauthbearer.assertion.claim.iss string
        sasl.oauthbearer.assertion.claim.jti.include boolean
        sasl.oauthbearer.assertion.claim.nbf.seconds int 0..3600
        sasl.oauthbearer.assertion.claim.sub string
        sasl.oauthbearer.assertion.file string
        sasl.oauthbearer.assertion.private.key.file string
        sasl.oauthbearer.assertion.private.key.passphrase password
        sasl.oauthbearer.assertion.template.file string
        sasl.oauthbearer.client.credentials.client.id string
        sasl.oauthbearer.client.credentials.client.secret password
        sasl.oauthbearer.clock.skew.seconds int
        sasl.oauthbearer.expected.audience list
        sasl.oauthbearer.expected.issuer string
        sasl.oauthbearer.jwks.endpoint.refresh.ms long
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long
        sasl.oauthbearer.jwks.endpoint.url string
        sasl.oauthbearer.jwt.retriever.class class
        sasl.oauthbearer.jwt.validator.class class
        sasl.oauthbearer.scope string
        sasl.oauthbearer.scope.claim.name string
        sasl.oauthbearer.sub.claim.name string
        sasl.oauthbearer.token.endpoint.url string
        sasl.server.callback.handler.class class
        sasl.server.max.receive.size int
        security.inter.broker.protocol string
        security.providers string
        ssl.allow.dn.changes boolean
        ssl.allow.san.changes boolean
        ssl.cipher.suites list per-broker
        ssl.client.auth string per-broker
        ssl.enabled.protocols list per-broker
        ssl.endpoint.identification.algorithm string per-broker
        ssl.engine.factory.class class per-broker
        ssl.key.password password per-broker
        ssl.keymanager.algorithm string per-broker
        ssl.keystore.certificate.chain password per-broker
        ssl.keystore.key password per-broker
        ssl.keystore.location string per-broker
        ssl.keystore.password password per-broker
        ssl.keystore.type string per-broker
        ssl.principal.mapping.rules string
        ssl.protocol string per-broker
        ssl.provider string per-broker
        ssl.secure.random.implementation string per-broker
        ssl.trustmanager.algorithm string per-broker
        ssl.truststore.certificates password per-broker
        ssl.truststore.location string per-broker
        ssl.truststore.password password per-broker
        ssl.truststore.type string per-broker
    """,
    "no authorizer is served yet": """
        allow.everyone.if.no.acl.found boolean
        super.users string
    """,
    "delegation tokens are not served yet": """
        delegation.token.expiry.check.interval.ms long 1..
        delegation.token.expiry.time.ms long 1..
        delegation.token.max.lifetime.ms long 1..
        delegation.token.secret.key password
        delegation.token.master.key password
    """,
    "quotas are not served yet": """
        client.quota.callback.class class
        controller.quota.window.num int 1..
        controller.quota.window.size.seconds int 1..
        quota.window.num int 1..
        quota.window.size.seconds int 1..
        quota.consumer.default long 1..
        quota.producer.default long 1..
    """,
    "metrics are read at the admin listener, odradek.admin.port": """
        kafka.metrics.polling.interval.secs int 1..
        kafka.metrics.reporters list
        metric.reporters list cluster-wide
        metrics.num.samples int 1..
        metrics.recording.level string
        metrics.sample.window.ms long 1..
        telemetry.max.bytes int 1..
    """,
    "there is no remote log storage": """
        follower.fetch.last.tiered.offset.enable boolean cluster-wide
        log.local.retention.bytes long cluster-wide -2..
        log.local.retention.ms long cluster-wide -2..
        remote.fetch.max.wait.ms int cluster-wide 1..
        remote.list.offsets.request.timeout.ms long cluster-wide 1..
        remote.log.index.file.cache.total.size.bytes long cluster-wide 1..
        remote.log.manager.copier.thread.pool.size int cluster-wide 1..
        remote.log.manager.copy.max.bytes.per.second long cluster-wide 1..
        remote.log.manager.copy.quota.window.num int 1..
        remote.log.manager.copy.quota.window.size.seconds int 1..
        remote.log.manager.expiration.thread.pool.size int cluster-wide 1..
        remote.log.manager.fetch.max.bytes.per.second long cluster-wide 1..
        remote.log.manager.fetch.quota.window.num int 1..
        remote.log.manager.fetch.quota.window.size.seconds int 1..
        remote.log.manager.follower.thread.pool.size int cluster-wide 1..
        remote.log.manager.task.interval.ms long 1..
        remote.log.manager.thread.pool.size int 1..
        remote.log.metadata.custom.metadata.max.bytes int 0..
        remote.log.metadata.manager.class.name string
        remote.log.metadata.manager.class.path string
        remote.log.metadata.manager.impl.prefix string
        remote.log.metadata.manager.listener.name string
        remote.log.reader.max.pending.tasks int 1..
        remote.log.reader.threads int cluster-wide 1..
        remote.log.storage.manager.class.name string
        remote.log.storage.manager.class.path string
        remote.log.storage.manager.impl.prefix string
        remote.log.storage.system.enable boolean
    """,
    "share groups are not served": """
        group.share.assignment.interval.ms int cluster-wide 0..
        group.share.assignors list
        group.share.delivery.count.limit int 2..10
        group.share.heartbeat.interval.ms int 1..
        group.share.max.assignment.interval.ms int 0..
        group.share.max.delivery.count.limit int 5..25
        group.share.max.heartbeat.interval.ms int 1..
        group.share.max.partition.max.record.locks int 2000..10000
        group.share.max.record.lock.duration.ms int 30000..3600000
        group.share.max.session.timeout.ms int 1..
        group.share.max.share.sessions int 1..
        group.share.max.size int 1..1000
        group.share.min.assignment.interval.ms int 0..
        group.share.min.delivery.count.limit int 2..5
        group.share.min.heartbeat.interval.ms int 1..
        group.share.min.partition.max.record.locks int 100..2000
        group.share.min.record.lock.duration.ms int 1000..30000
        group.share.min.session.timeout.ms int 1..
        group.share.partition.max.record.locks int 100..10000
        group.share.record.lock.duration.ms int 1000..3600000
        group.share.session.timeout.ms int 1..
        share.coordinator.append.linger.ms int -1..
        share.coordinator.cached.buffer.max.bytes int cluster-wide 524288..
        share.coordinator.load.buffer.size int 1..
        share.coordinator.snapshot.update.records.per.snapshot int 0..500
        share.coordinator.state.topic.compression.codec int
        share.coordinator.state.topic.min.isr short 1..
        share.coordinator.state.topic.num.partitions int 1..
        share.coordinator.state.topic.replication.factor short 1..
        share.coordinator.state.topic.segment.bytes int 1..
        share.coordinator.threads int 1..
        share.coordinator.write.timeout.ms int 1..
        share.fetch.purgatory.purge.interval.requests int
    """,
    "streams groups are not served": """
        group.streams.assignment.interval.ms int cluster-wide 0..
        group.streams.heartbeat.interval.ms int 1..
        group.streams.initial.rebalance.delay.ms int 0..
        group.streams.max.assignment.interval.ms int 0..
        group.streams.max.heartbeat.interval.ms int 1..
        group.streams.max.session.timeout.ms int 1..
        group.streams.max.size int 1..
        group.streams.max.standby.replicas int 0..
        group.streams.min.assignment.interval.ms int 0..
        group.streams.min.heartbeat.interval.ms int 1..
        group.streams.min.session.timeout.ms int 1..
        group.streams.num.standby.replicas int 0..
        group.streams.session.timeout.ms int 1..
    """,
    "this broker is its own controller, without a KRaft quorum": """
        controller.quorum.append.linger.ms int 0..
        controller.quorum.auto.join.enable boolean
        controller.quorum.election.backoff.max.ms int 0..
        controller.quorum.election.timeout.ms int 0..
        controller.quorum.fetch.max.bytes int 1..
        controller.quorum.fetch.snapshot.max.bytes int 1..
        controller.quorum.fetch.timeout.ms int 0..
        controller.quorum.request.timeout.ms int 0..
        controller.quorum.retry.backoff.ms int 0..
        metadata.log.dir string
        metadata.log.max.record.bytes.between.snapshots long 1..
        metadata.log.max.snapshot.interval.ms long 0..
        metadata.log.segment.bytes int 8388608..
        metadata.log.segment.ms long
        metadata.max.idle.interval.ms int 0..
        metadata.max.retention.bytes long
        metadata.max.retention.ms long
    """,
    "brokers here reach each other and their controller in another way": """
        broker.heartbeat.interval.ms int
        controller.socket.timeout.ms int
        early.start.listeners list
        initial.broker.registration.timeout.ms int
        log.dir.failure.timeout.ms long 1..
        replica.socket.receive.buffer.bytes int
    """,
    "nothing is encrypted or protected in ZooKeeper yet": """
        zookeeper.clientCnxnSocket string
        zookeeper.set.acl boolean
        zookeeper.ssl.client.enable boolean
        zookeeper.ssl.keystore.location string
        zookeeper.ssl.keystore.password password
        zookeeper.ssl.truststore.location string
        zookeeper.ssl.truststore.password password
    """,
    "Apache Kafka has no such setting any more either": """
        zookeeper.sync.time.ms int
        auto.include.jmx.reporter boolean
        control.plane.listener.name string
        inter.broker.protocol.version string
        log.message.downconversion.enable boolean
        log.message.format.version string
        log.message.timestamp.difference.max.ms long 0..
        offsets.commit.required.acks short
        password.encoder.secret password
        reserved.broker.max.id int 0..
    """,
    "a consumer group is assigned anew with the first heartbeat after each change": """
        group.consumer.assignment.interval.ms int cluster-wide 0..
        group.consumer.max.assignment.interval.ms int 0..
        group.consumer.min.assignment.interval.ms int 0..
    """,
    "the broker works in another way here": """
        add.partitions.to.txn.retry.backoff.max.ms int 0..
        add.partitions.to.txn.retry.backoff.ms int 1..
        alter.config.policy.class.name class
        config.providers list cluster-wide
        cordoned.log.dirs list per-broker
        create.topic.policy.class.name class
        group.coordinator.background.threads int 1..
        group.coordinator.cached.buffer.max.bytes int cluster-wide 524288..
        group.coordinator.rebalance.protocols list
        log.cleaner.io.buffer.load.factor double cluster-wide
        log.cleaner.io.buffer.size int cluster-wide 0..
        max.connection.creation.rate int cluster-wide 0..
        max.connections.per.ip.overrides string cluster-wide
        queued.max.request.bytes long
        transaction.two.phase.commit.enable boolean
    """,
}

_FORMS: Final = {update.value: update for update in Update}


@cache
def settings_without_effect() -> dict[str, Setting]:
    """Kafka's settings that Odradek does not read, by name; each says why it has no effect."""
    settings: dict[str, Setting] = {}
    for reason, lines in _AREAS.items():
        for line in lines.split("\n"):
            if line.strip():
                known = _parsed(line.split(), reason)
                settings[known.name] = known
    return settings


def _parsed(words: list[str], reason: str) -> Setting:
    name, kind, *rest = words
    update, least, most = Update.READ_ONLY, "", ""
    for word in rest:
        if word in _FORMS:
            update = _FORMS[word]
        else:
            least, _, most = word.partition("..")
    return Setting(
        name,
        Kind[kind.upper()],
        None,
        "A setting of Apache Kafka.",
        least=int(least) if least else None,
        most=int(most) if most else None,
        update=update,
        no_effect=reason,
    )
