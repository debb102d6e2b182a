"""`./dev kills`: pipelines whose drivers, executors or brokers are killed by `kill -9`, on each sink.

load       what a pipeline reads, and the check of what it wrote: `plain`, or `staged` with its `visits`
drivers    runs that kill themselves (`driver`)
others     executors or a broker killed beside a run: `guide` orders the runs of a process (`guided_run`),
           `strike` kills one of the `victims` at one of the `moments`
"""
