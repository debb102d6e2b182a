"""When Python's garbage collector runs in the process of a broker.

Nearly all objects of a broker are freed by their reference counts; the collector only looks for cycles. It
holds the loop meanwhile, for about half a microsecond of each object that it examines:

    generation   is examined after                 so one collection examines     which takes
    0            2,000 objects more than freed     2,000                          1 ms
    1            4 of these                        8,000                          4 ms
    2            8,000 of those                    all that lives since the start

Only `odradek serve` calls this: a process that embeds a broker keeps its collector as it is. With 50,000
and 20, an order for 10,000 new partitions met collections of 66 ms (docs/performance.md).
"""

import gc
from typing import Final

THRESHOLDS: Final = (2_000, 3, 8_000)


def begin() -> None:
    """Called when the modules are loaded: they are not examined again."""
    gc.freeze()
    gc.enable()


def serve() -> None:
    """Called when the broker has started: what the start made is not examined again.

    There is no collection before, which would delay the first answer by 12 ms for 200 KB.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
