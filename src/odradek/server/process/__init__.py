"""The broker as a process or a thread: loop, executor, timer driver, start and stop."""
