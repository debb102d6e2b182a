"""The clients, over blocking connections: admin of topics, settings, groups and transactions; records."""
