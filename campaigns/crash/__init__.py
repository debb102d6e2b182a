"""`./dev crash`: kill -9 under load, again and again, and check that no promise is broken.

Real clients work while the broker is killed at a random moment, sometimes a second time while it starts, and
started again on the same directory. The load records what the broker promised to clients, and compares it
with what the broker then has.

    __main__       the command
    campaign       kills, restarts and counts; the interface of a load
    produces       acknowledged records
    commits        acknowledged offsets of groups
    rebalances     groups whose members come and go
    transactions   consume, transform, produce: whole or not at all, and once
    *_check        what must hold, without clients or brokers; tests/campaigns proves that each check can fail
"""
