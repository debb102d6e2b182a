"""`./dev kills`: pipelines whose drivers, executors or brokers are killed by `kill -9`, on each sink."""
