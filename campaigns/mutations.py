"""Ways to damage a framed request: what a broken client, a broken network or a hostile peer would send."""

import random
import struct

_FRAME_LENGTH = 4
_EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def mutated(frame: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """One to three kinds of damage; mostly the length prefix is right again, so that the rest is read."""
    damaged = bytearray(frame)
    for _ in range(chance.choice((1, 1, 2, 3))):
        damaged = chance.choice(_KINDS)(damaged, others, chance)
    if chance.random() < 0.9 and len(damaged) >= _FRAME_LENGTH:
        struct.pack_into(">i", damaged, 0, len(damaged) - _FRAME_LENGTH)
    return bytes(damaged)


def _flip_bits(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    for _ in range(chance.choice((1, 1, 2, 8))):
        if frame:
            frame[chance.randrange(len(frame))] ^= 1 << chance.randrange(8)
    return frame


def _set_bytes(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    if frame:
        frame[chance.randrange(len(frame))] = chance.choice(_EXTREMES)
    return frame


def _huge_number(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    """An extreme int32 anywhere: counts and lengths are among them."""
    if len(frame) > 8:
        position = chance.randrange(_FRAME_LENGTH, len(frame) - 4)
        struct.pack_into(
            ">I", frame, position, chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x00FFFFFF, 100_001))
        )
    return frame


def _huge_varint(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    position = chance.randrange(len(frame) + 1)
    frame[position : position + 1] = b"\xff" * chance.choice((2, 4, 5, 10)) + b"\x7f"
    return frame


def _truncate(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    return frame[: chance.randrange(len(frame) + 1)]


def _repeat(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    start = chance.randrange(len(frame) + 1)
    piece = frame[start : start + chance.randrange(1, 32)]
    return frame[:start] + piece * chance.randrange(1, 50) + frame[start:]


def _splice(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    other = chance.choice(others)
    return frame[: chance.randrange(len(frame) + 1)] + other[chance.randrange(len(other)) :]


def _other_version(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    if len(frame) >= 8:
        struct.pack_into(">h", frame, 6, chance.choice((-1, 0, 1, 2, 3, 5, 8, 12, 13, 14, 99, 32767)))
    return frame


def _other_api(frame: bytearray, others: list[bytes], chance: random.Random) -> bytearray:
    if len(frame) >= 8:
        struct.pack_into(">h", frame, 4, chance.randrange(-1, 100))
    return frame


_KINDS = (
    _flip_bits,
    _set_bytes,
    _huge_number,
    _huge_varint,
    _truncate,
    _repeat,
    _splice,
    _other_version,
    _other_api,
)
