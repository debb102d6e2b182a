"""The admin clients, over blocking connections: topics, settings, offsets, groups and transactions."""
