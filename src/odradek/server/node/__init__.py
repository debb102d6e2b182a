"""The synchronous parts of a broker: its core, coordinator hosts, controller host and schedule."""
