"""Runs unmodified asyncio applications against simulated brokers, in virtual time. Start with `simulate`.

- `simulate`: the decorator: seeds, reports.
- `simulation`: one run of one seed.
- `cluster`: the brokers as a test holds them: topics, faults, checks.
- `process`: a process of the application, which can be killed.
- `loop`, `tasks`, `transport`, `network`: asyncio on the steps of a `World`.
- `machine`, `libraries`, `refusals`: clocks and chance of Python; what is not simulated.
- `traffic`, `words`, `history`, `stacks`: what happened, for reports.
- `checks`: whether the cluster keeps Kafka's promises.
"""
