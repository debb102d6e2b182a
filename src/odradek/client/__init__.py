"""The clients: consumer, producer, admin.

- `core`: all that decides, without I/O; `aio` and `blocking`: its shells.
- `settings`: the table of settings. `choices` and `reset_policy` say what some of them may be,
  `setting_types` gives their types to type checkers, and `other_settings` says what to use instead of other
  clients' settings.
- `protection`, `jaas`: TLS and logins. `bootstrap`, `configuration`: addresses, and the commands' properties.
- `partitioning`, `classic_assignors`, `metrics`: what is equal to Kafka's own.
- `topic_reader`, `cluster`, `leader_connections`: reads over blocking connections, for tests and for Spark's
  executors.
"""
