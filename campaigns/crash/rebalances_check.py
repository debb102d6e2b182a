"""What must hold of a group that has come to rest: every partition has one owner, and that one reads it.

What members say and what the broker says are both looked at.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from campaigns.crash.campaign import Broken

SHOWN = 5


def misplaced(owned: Mapping[str, Iterable[int]], partitions: int) -> list[str]:
    """What is amiss in who owns what, in words; nothing when every partition has exactly one owner."""
    owners = Counter(partition for theirs in owned.values() for partition in theirs)
    ownerless = [number for number in range(partitions) if number not in owners]
    shared = [number for number, count in owners.items() if count > 1]
    unknown = [number for number in owners if not 0 <= number < partitions]
    found = {"nobody has": ownerless, "several have": shared, "there is no": unknown}
    return [f"{what} {sorted(numbers)}" for what, numbers in found.items() if numbers]


def check_read(group: str, expected: Collection[int], read: Iterable[int]) -> None:
    """Records written while a group was at rest were read by it, each once. Raises Broken."""
    times = Counter(read)
    missing = sorted(set(expected) - times.keys())
    if missing:
        raise Broken(f"group {group} does not read on: {len(missing)} records missing: {missing[:SHOWN]}")
    twice = sorted(number for number in expected if times[number] > 1)
    if twice:
        raise Broken(f"two members of group {group} read the same records: {twice[:SHOWN]}")
