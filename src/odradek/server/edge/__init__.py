"""The network edge of the broker: listeners, admission of connections, dispatch of frames to handlers."""
