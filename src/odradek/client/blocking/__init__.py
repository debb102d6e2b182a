"""The blocking shells of the clients: each runs the asyncio client on a network thread of its own.

So heartbeats and requests go on while the application works. The application's own exceptions and
KeyboardInterrupt come through.
"""
