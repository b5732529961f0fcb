"""`check`, the one call a learner makes: it finds the room that checks the object."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from weft.checking.room import Room, judge
from weft.checking.verdict import Verdict

# The packages that check something, in the order in which they are asked. The last one
# takes whatever no other does.
ROOMS = tuple(
    (
        "weft.captures weft.cuda_cpp weft.triton_programs weft.tile_programs "
        "weft.kernels weft.libraries weft.torch_ops weft.ranks weft.functions"
    ).split()
)


def check(
    function: Any,
    spec: Callable[..., Any] | None = None,
    inputs: Any = None,
    **exercise: Any,
) -> Verdict:
    """Check what a learner wrote, and say what is wrong with it.

    function: a kernel made by `@cuda.jit`, called as `kernel(*inputs, *outputs)`; a
        function that chooses the launch of the kernel passed as `kernel=`; a PyTorch
        operator, autograd function or module; or a plain Python function, whose return
        value is compared.
    spec: a NumPy function of the inputs that returns the output, or a tuple of outputs.
    inputs: for a kernel, `(rng, *size)` → inputs; for a function, its argument tuples.
    exercise: further arguments, the fields of the exercise's class: for kernels
        `weft.kernels.exercise.KernelExercise` (sizes, launch, full, out, limits,
        constants, cluster, without), for PyTorch
        `weft.torch_ops.exercise.TorchExercise`, for functions
        `weft.functions.exercise.FunctionExercise` (because, without, same, lines), for
        kernels in CUDA C++ `weft.cuda_cpp.exercise.CudaCppExercise`
        (prototype, sizes, launch, call, out, full), for calls to a library
        `weft.libraries.exercise.LibraryExercise` (library, given, result, refuses,
        because), for functions of several ranks `weft.ranks.exercise.RankExercise`
        (ranks, result, without), for functions that capture a step
        `weft.captures.room.CaptureExercise` (captured, made), for all of them tolerance
        and unseen.

    Returns a Verdict, which is true if all is well. With WEFT_STRICT=1 in the
    environment, a failure raises CheckFailed. Raises ValueError if the exercise itself
    is wrong, as with an argument or a limit that this kind of exercise does not have.
    """
    asked = {"spec": spec, "inputs": inputs, **exercise}
    asked = {name: value for name, value in asked.items() if value is not None}
    return judge(room_of(function, asked), function, asked)


def room_of(thing: Any, asked: dict[str, Any]) -> Room:
    """Return the room that checks `thing`."""
    for package in ROOMS:
        room: Room = import_module(f"{package}.room").ROOM
        if room.takes(thing, asked):
            return room
    raise AssertionError("the last room takes everything")
