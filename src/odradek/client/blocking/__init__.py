"""The blocking shells of the clients: each runs the asyncio client on a network thread of its own.

So heartbeats and requests go on while the application works. The application's own exceptions and
KeyboardInterrupt come through.

- `network_thread`: the thread, and calls that wait for it; `calls`: what it has called on the waiting thread.
- `outbox`, `delivery`: records on their way to it, and their outcomes on the way back.
- `shared_lock`: a lock that Ctrl-C does not leave held; `lasting_pool`: threads that outlive the main thread.
- `producer_life`, `at_exit`: how a producer ends that was closed, dropped, or neither when the program ends.
"""
