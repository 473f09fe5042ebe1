"""A second implementation of the kernel's machine for filters of system calls."""

import struct
from collections.abc import Sequence


def judge(program: bytes, *, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What a filter says of a call of the system."""
    data = struct.pack("IIQ6Q", number, architecture, 0, *[*arguments, *[0] * (6 - len(arguments))])
    place, accumulator = 0, 0
    while True:
        code, matched, unmatched, value = struct.unpack_from("HBBI", program, 8 * place)
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("I", data, value)
        elif code == 0x15:
            place += matched if accumulator == value else unmatched
        else:
            assert code == 0x06
            return int(value)
