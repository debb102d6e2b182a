"""Runs the broker as a process or on a thread: loop, executor, timer driver, start and stop."""
