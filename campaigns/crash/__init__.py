"""`./dev crash`: kill -9 under load, again and again, and look whether anything promised is gone.

Real clients work while the broker is killed at a random moment, now and then a second time while it starts,
and started again on the same directory. What they were promised is written down and held against what is
there.

    __main__       the command
    campaign       kills, restarts and counts; what a load must offer
    produces       acknowledged records
    commits        acknowledged offsets of groups
    rebalances     groups whose members come and go
    transactions   consume, transform, produce: whole or not at all, and once
    *_check        what must hold, apart from clients and brokers: tests/campaigns tries that it can fail
"""
