"""Vector types such as `float32x4`: one to four numbers, `x`, `y`, `z` and `w`."""

from typing import Any

from weft.simulator.stand_in.types import NUMBERS, Type

_SHORT = {
    "int8": ("char",),
    "int16": ("short",),
    "int32": ("int",),
    "int64": ("long", "longlong"),
    "uint8": ("uchar",),
    "uint16": ("ushort",),
    "uint32": ("uint",),
    "uint64": ("ulong", "ulonglong"),
    "float32": ("float",),
    "float64": ("double",),
}


_HERE = {"__module__": __name__}


class Vector:
    """One to four numbers of one type, made from numbers, shorter vectors, or both."""

    num_elements = 0
    base_type: Type

    def __init__(self, *parts: Any) -> None:
        values = [v for p in parts for v in (p if isinstance(p, Vector) else (p,))]
        if len(values) != self.num_elements:
            name, wanted = type(self).__name__, self.num_elements
            raise TypeError(f"{name} expects {wanted} elements, got {len(values)}")
        for name, value in zip("xyzw", values, strict=False):
            setattr(self, name, value)

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in "xyzw"[: self.num_elements])


def named() -> dict[str, type[Vector]]:
    """Return the vector types by name, such as `float4`."""
    found: dict[str, type[Vector]] = {}
    for item, short in _SHORT.items():
        for size in (1, 2, 3, 4):
            members = {"num_elements": size, "base_type": NUMBERS[item]}
            kind = type(f"{item}x{size}", (Vector,), {**members, **_HERE})
            found[kind.__name__] = kind
            found |= {f"{name}{size}": kind for name in short}
    return found


VECTORS = named()
