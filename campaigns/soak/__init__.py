"""`./dev soak`: our own clients in groups and transactions, for long, while brokers end and come back.

- `writers`: idempotent producers of numbered records.
- `copiers`: consumers and transactional producers that copy the records, and come and go.
- `check`: each record is in each copy once; no task, thread or memory is left over.
- `soak`: the cluster, its restarts, and the time.
"""
