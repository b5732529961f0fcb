"""The program that reads a case, calls a learner's function and writes its results.

Every array is in a separate block of exactly its size, so that the address sanitizer
notices an access to the first byte outside it.
"""

import struct
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

TYPES = {
    "f4": "float", "f8": "double", "i4": "int", "i8": "long long", "i1": "signed char",
    "u1": "unsigned char", "u4": "unsigned int", "u8": "unsigned long long",
    "i2": "short", "u2": "unsigned short",
}  # fmt: skip
CPU_SECONDS = 2

TEXT = Template(Path(__file__).with_suffix(".c").read_text(encoding="utf-8"))


def program(file: str, prototype: str, names: list[str], case: Any, call: str) -> str:
    """Return the text of a program that calls the learner's function in `file`.

    names, case: the arguments' names, and values that have the types of the arguments.
    call: the C statements that call the function.
    """
    text, arrays = "", []
    for name, value in zip(names, case, strict=True):
        if isinstance(value, np.ndarray):
            arrays.append(name)
            axes = ("size",) if value.ndim == 1 else ("rows", "cols")
            for axis in axes:
                text += f"    size_t {name}_{axis};\n"
                text += f"    fread(&{name}_{axis}, sizeof(size_t), 1, weft_in);\n"
            count = " * ".join(f"{name}_{axis}" for axis in axes)
            kind = TYPES[value.dtype.str[1:]]
            taken = f'weft_take("{name}", {count} * sizeof({kind}))'
            text += f"    {kind} *{name} = {taken};\n"
        else:
            kind = _scalar(value)
            text += f"    {kind} {name};\n"
            text += f"    fread(&{name}, sizeof {name}, 1, weft_in);\n"
    text += "".join(f"    {line}\n" for line in call.strip().splitlines())
    text += "".join(f"    free({name});\n" for name in arrays)
    return TEXT.substitute(
        file=file, prototype=prototype, seconds=CPU_SECONDS, call=text.rstrip()
    )


def _scalar(value: Any) -> str:
    if isinstance(value, np.generic):
        return TYPES[value.dtype.str[1:]]
    return "double" if isinstance(value, float) else "size_t"


def packed(case: Any) -> bytes:
    """Return one case in the format that the program reads."""
    data = b""
    for value in case:
        if isinstance(value, np.ndarray):
            data += b"".join(struct.pack("=Q", n) for n in value.shape)
            data += np.ascontiguousarray(value).tobytes()
        elif isinstance(value, np.generic):
            data += value.tobytes()
        else:
            data += struct.pack("=d" if isinstance(value, float) else "=Q", value)
    return data


def unpacked(data: bytes) -> tuple[list[np.ndarray[Any, Any]], bool]:
    """Return the results that a program wrote, and whether it completed."""
    found: list[np.ndarray[Any, Any]] = []
    at = 0
    while at + 17 <= len(data):
        kind = chr(data[at])
        size, count = struct.unpack_from("=QQ", data, at + 1)
        at += 17
        if kind == "e":
            return found, True
        found.append(np.frombuffer(data, f"{kind}{size}", count, at))
        at += size * count
    return found, False
