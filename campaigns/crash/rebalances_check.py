"""What must hold of a stable group: every partition has one owner, and that member reads it.

The check compares both what members say and what the broker says.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from campaigns.crash.campaign import Broken

SHOWN = 5


def misplaced(owned: Mapping[str, Collection[int]], partitions: int) -> list[str]:
    """Return the faults in words: none when each partition has one owner and each member owns some.

    A member without partitions is still joining, and will take some of the others'.
    """
    owners = Counter(partition for theirs in owned.values() for partition in theirs)
    ownerless = [number for number in range(partitions) if number not in owners]
    shared = [number for number, count in owners.items() if count > 1]
    unknown = [number for number in owners if not 0 <= number < partitions]
    found = {"nobody has": ownerless, "several have": shared, "there is no": unknown}
    idle = [f"{member} has none" for member, theirs in owned.items() if not theirs]
    return [f"{what} {sorted(numbers)}" for what, numbers in found.items() if numbers] + idle


def check_read(group: str, expected: Collection[int], read: Mapping[str, Iterable[int]]) -> None:
    """Records written while a group was at rest were read by its members, each once. Raises Broken."""
    readers: dict[int, list[str]] = {number: [] for number in expected}
    for member, numbers in read.items():
        for number in numbers:
            if number in readers:
                readers[number].append(member)
    missing = [number for number, those in readers.items() if not those]
    if missing:
        raise Broken(f"group {group} does not read on: {len(missing)} records missing: {missing[:SHOWN]}")
    twice = [(number, those) for number, those in readers.items() if len(those) > 1]
    if twice:
        raise Broken(f"{len(twice)} records were read twice in group {group}: {twice[:SHOWN]}")
