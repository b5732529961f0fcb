"""Values as JSON, the form in which a page gets the cases of an exercise.

Strings, booleans, None and most numbers stay as they are, and a list stays a list.
Anything else is an object whose first key says what it is:

    {"tuple": [...]}, {"dict": [[key, value], ...]}
    {"float": "3.0"}, {"int": "9007199254740993"}    numbers JavaScript would change
    {"object": "20_layouts.layouts:Layout", "fields": {...}}   of a chapter's class
    {"array": "<base64>", "dtype": "<f4", "shape": [2, 3]}     in row-major order
    {"number": "<base64>", "dtype": "<f4"}    a NumPy scalar
"""

import base64
import math
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

CHAPTERS = "weft.chapters."
EXACT = 2**53  # up to here JavaScript's numbers are exact


class NotAValue(Exception):
    """Raised for a value that `encoded` refuses.

    The message completes "it contains …".
    """


def encoded(value: Any) -> Any:
    """Return a value as data for JSON. Raises NotAValue if it has no such form."""
    if type(value) is float and (not math.isfinite(value) or value.is_integer()):
        return {"float": str(value)}
    if type(value) is int and abs(value) > EXACT:
        return {"int": str(value)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encoded(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [encoded(part) for part in value]}
    if type(value) is dict:
        return {"dict": [[encoded(k), encoded(v)] for k, v in value.items()]}
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return _array(value)
    kind = type(value)
    if is_dataclass(value) and kind.__module__.startswith(CHAPTERS):
        name = f"{kind.__module__.removeprefix(CHAPTERS)}:{kind.__qualname__}"
        parts = {f.name: encoded(getattr(value, f.name)) for f in fields(value)}
        return {"object": name, "fields": parts}
    raise NotAValue(f"an object of {kind.__module__}.{kind.__qualname__}")


def _array(value: Any) -> Any:
    if value.dtype.hasobject or value.dtype.kind not in "biufc":
        raise NotAValue("an array of objects")
    text = base64.b64encode(value.tobytes()).decode()
    if not hasattr(value, "__setitem__"):
        return {"number": text, "dtype": value.dtype.str}
    return {"array": text, "dtype": value.dtype.str, "shape": list(value.shape)}


def decoded(data: Any) -> Any:
    """Return the value that `encoded` turned into `data`. Arrays require NumPy."""
    if isinstance(data, list):
        return [decoded(part) for part in data]
    match data:
        case {"tuple": parts}:
            return tuple(decoded(part) for part in parts)
        case {"dict": pairs}:
            return {decoded(key): decoded(value) for key, value in pairs}
        case {"float": text}:
            return float(text)
        case {"int": text}:
            return int(text)
        case {"object": name, "fields": parts}:
            module, _, kind = name.partition(":")
            made = getattr(import_module(CHAPTERS + module), kind)
            return made(**{key: decoded(value) for key, value in parts.items()})
        case {"array": text, "dtype": dtype, "shape": shape}:
            numpy: Any = import_module("numpy")
            flat = numpy.frombuffer(base64.b64decode(text), dtype)
            return flat.reshape(shape).copy()
        case {"number": text, "dtype": dtype}:
            numpy = import_module("numpy")
            return numpy.frombuffer(base64.b64decode(text), dtype)[0]
    return data


def has_array(data: Any) -> bool:
    """Return whether JSON from `encoded` contains an array or a NumPy scalar."""
    match data:
        case list():
            return any(map(has_array, data))
        case {"object": _, "fields": parts}:
            return any(map(has_array, parts.values()))
        case {"array": _} | {"number": _}:
            return True
        case {"tuple": parts} | {"dict": parts}:
            return has_array(parts)
    return False
