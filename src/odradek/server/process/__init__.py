"""The broker as a process or a thread: composition root, loop, executor, start and stop."""
