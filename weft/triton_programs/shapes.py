"""Describe the shapes of the blocks that an operation of Triton did not accept."""

from types import FrameType
from typing import Any

from weft.triton_programs.wording import words
from weft.wording import joined

Shape = tuple[int, ...]
# the parameters of loads, stores and atomics, as a verdict names them
NAMED = {
    "pointer": "pointers",
    "value": "values",
    "val": "values",
    "cmp": "compared with",
    "mask": "mask",
    "other": "other",
}


def told(row: str, error: BaseException) -> dict[str, str]:
    """Return what a verdict on blocks that do not fit is filled in with.

    row: its row in the table of words. The result is that without shapes if the error
    does not come from an operation on several blocks.
    """
    blocks = given(error)
    if not blocks:
        return {"shapes": ""}
    if "pointer" in blocks:
        parts = [f"{NAMED[k]} {v}" if v else "one pointer" for k, v in blocks.items()]
        why = words("shapes-of-a-call") if blocks["pointer"] else {}
        return {"shapes": f": {', '.join(parts)}", **why}
    shapes = list(blocks.values())
    if row in ("dot", "accumulator"):
        left, right, *rest = shapes
        if row == "accumulator" and rest == [(left[0], right[1])]:
            return {"shapes": ""}  # its type does not fit
        more = f", added to {rest[0]}" if rest else ""
        return {"shapes": f": {left} times {right}{more}"}
    why = words("shapes-of-two") if {*map(len, shapes)} == {2} else {}
    return {"shapes": f": {joined(shapes)}", **why}


def given(error: BaseException) -> dict[str, Shape]:
    """Return the shapes of the blocks that the failed operation got, by parameter.

    It is the outermost of Triton's functions that got several blocks. Returns {} if
    there is none.
    """
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).startswith("triton."):
            found = blocks_of(frame)
            if len(found) > 1:
                return found
        trace = trace.tb_next
    return {}


def blocks_of(frame: FrameType) -> dict[str, Shape]:
    """Return the shapes of the blocks among a call's arguments, and of its pointer."""
    code = frame.f_code
    values = {name: frame.f_locals.get(name) for name in parameters(code)}
    shapes = {name: shape_of(value) for name, value in values.items()}
    return {
        name: shape
        for name, shape in shapes.items()
        if shape or (shape is not None and name == "pointer")
    }


def parameters(code: Any) -> tuple[str, ...]:
    return tuple(code.co_varnames[: code.co_argcount])


def shape_of(value: Any) -> Shape | None:
    """Return the shape of a block, () for a number of Triton's, or None."""
    from triton.language import tensor

    if not isinstance(value, tensor):
        return None
    return tuple(int(getattr(n, "value", n)) for n in value.shape)
