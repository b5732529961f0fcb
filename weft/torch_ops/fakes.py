"""The fake of an operator: does it describe the real results correctly?"""

import inspect
from typing import Any

import torch
from torch._library.fake_impl import FakeImplCtx, set_ctx_getter
from torch._library.utils import can_generate_trivial_fake_impl
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from weft.checking.cases import Case
from weft.checking.room import Facts
from weft.checking.source import at_line, line_with, raised_at, returns
from weft.checking.verdict import Failed
from weft.kernels.launched import intercepted
from weft.torch_ops.calls import Calls, first_line, quiet
from weft.torch_ops.exercise import TorchExercise, is_array
from weft.torch_ops.tensors import (
    GAPS,
    STRIDED,
    clones,
    dtype_name,
    has_strides,
    is_tensor,
    results_of,
    tensors,
    written_shape,
)
from weft.wording import sentence, several

Seen = list[tuple[str, str]]  # shapes: the fake's, and the real one

# PyTorch without CUDA says this about `x[::2]` for a fake tensor on a GPU.
NOT_BUILT = "not linked with support for cuda"

CAUSES = {
    "shape": "A fake has to compute the shape from its inputs, for every size.",
    "dtype": "From what does the line that makes the tensor take its dtype?",
    "device": "From what does the line that makes the tensor take its device?",
    "strides": "torch.compile relies on what the fake says, so the two have to agree. "
    "Which layout does the exercise ask for, and which of the two has another?",
}
HEADLINES = {
    "shape": "the fake gives another shape",
    "dtype": "the fake gives another dtype",
    "device": "the fake is on another device",
    "strides": "the fake gives other strides",
}


def run(exercise: TorchExercise, calls: Calls) -> Facts:
    """Compare the fake's results with the real ones for each case.

    Returns facts: none if PyTorch makes the fake itself. Raises `Failed` if the results
    differ, or if a fake is missing.
    """
    operator, fake = exercise.written.thing, exercise.written.fake
    if fake is None:
        if can_generate_trivial_fake_impl(operator._opoverload):
            return []
        raise exercise.failed(
            "fake",
            f"{exercise.name} has no fake.",
            "torch.compile never runs the kernel to find out what comes back: it asks "
            "the fake for the shape, dtype and device. Which line registers one? If it "
            "is in another cell, run that cell again: this one has made a new "
            "operator.",
            line_with(exercise.written.forward, "def "),
            headline="no fake is registered",
        )
    seen: Seen = []
    for case in exercise.cases(exercise.written.seed):
        given = tensors(case.inputs, device=calls.device)
        compare(exercise, calls, given, case.label, seen)
        double = tensors(case.inputs, device=calls.device, dtype=torch.float64)
        if works(exercise, calls, double):
            when = f"{case.label}, in float64"
            compare(exercise, calls, double, when, seen)
    case = exercise.case(exercise.sizes[-1])
    for layout in (STRIDED, GAPS) if exercise.strided else ():
        given = tensors(case.inputs, layout=layout, device=calls.device)
        if has_strides(given):
            compare(exercise, calls, given, f"{case.label}, {layout}", seen)
    elsewhere(exercise, case)
    symbolic(exercise, calls)
    return ["its fake gives the shape, dtype, device and strides of the results"]


def works(exercise: TorchExercise, calls: Calls, given: list[Any]) -> bool:
    """Return whether the operator accepts these float64 inputs.

    Returns False if none of the inputs is a float64 tensor.
    """
    if all(not is_tensor(v) or v.dtype != torch.float64 for v in given):
        return False
    try:
        with quiet():
            exercise.results(*clones(given))
    except Exception:
        return False
    return True


def compare(
    exercise: TorchExercise, calls: Calls, given: list[Any], when: str, seen: Seen
) -> None:
    """Compare the fake's results with the real ones. Raises `Failed` if they differ."""
    real = results_of(exercise.results(*clones_like(given)))
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fakes = [
            mode.from_tensor(v, static_shapes=True) if is_tensor(v) else v
            for v in given
        ]
        got = described(exercise, mode, fakes, when)
    if len(got) != len(real):
        message = (
            f"The fake gives {several(len(got), 'result')}, and {exercise.name} gives "
            f"{len(real):,}."
        )
        raise wrong(exercise, message, "", when)
    for number, (one, other) in enumerate(zip(got, real, strict=True)):
        name = "" if len(real) == 1 else f" for result {number + 1}"
        seen.append((written_shape(one.shape), written_shape(other.shape)))
        for what, (found, wanted) in differences(one, other).items():
            message = (
                f"The fake gives the {what} {found}{name}, and {exercise.name} gives "
                f"{wanted}."
            )
            why = CAUSES[what]
            if what == "shape" and same_for_all(seen):
                why = f"It gives {found} for every size. {why}"
            raise wrong(exercise, message, why, when, what)


def clones_like(given: list[Any]) -> list[Any]:
    """Copy tensors, keeping the strides of the originals."""
    return [
        torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device=v.device).copy_(
            v
        )
        if is_tensor(v)
        else v
        for v in given
    ]


def described(
    exercise: TorchExercise, mode: FakeTensorMode, fakes: list[Any], when: str
) -> list[Any]:
    """Return the fake's results.

    Raises `Failed` if the fake raises, or returns anything but tensors.
    """
    fake, operator = exercise.written.fake, exercise.written.thing._opoverload
    context: Any = FakeImplCtx
    try:
        with (
            quiet(),
            intercepted(refuse_launch),
            set_ctx_getter(lambda: context(mode, operator)),
        ):
            got = results_of(fake(*fakes))
    except Exception as error:
        raise raised(exercise, error, when) from error
    odd = next((r for r in got if not is_tensor(r)), None)
    if not got or odd is not None:
        said = "nothing" if odd is None else f"a value of type {type(odd).__name__}"
        message = f"The fake returns {said}, and it should return a tensor."
        why = "torch.compile knows no more of a result than what the fake returns."
        raise wrong(exercise, message, why, when)
    return got


class LaunchedByFake(Exception):
    """Raised if a fake launches a kernel."""


def refuse_launch(kernel: Any, config: Any, args: tuple[Any, ...]) -> None:
    raise LaunchedByFake


def raised(exercise: TorchExercise, error: Exception, when: str) -> Failed:
    """Return the error that ends the check of a fake that raised `error`.

    Most such fakes use something that a fake tensor lacks.
    """
    name, text, fake = type(error).__name__, first_line(error), exercise.written.fake
    message = ""
    if isinstance(error, LaunchedByFake):
        message = "The fake launches a kernel."
    elif "DataDependent" in name or "GuardOnData" in name:
        message = "The fake asks for the value of an element."
    elif "numpy" in text or "data pointer" in text:
        message = "The fake asks for the memory of a tensor."
    if message:
        headline = "the fake asks for data"
        why = "What it gets has a shape, a dtype, strides and a device, and no data."
    else:
        headline = "the fake raises an error"
        message = f"{name}: {sentence(text)}"
        why = "A fake gets the arguments of the operator."
    places = (raised_at(error, fake) or line_with(fake, "def "))[:1]
    more = {"when": when, "headline": headline}
    return exercise.failed("fake", message, why, places, **more)


def differences(fake: Any, real: Any) -> dict[str, tuple[str, str]]:
    """Return the first difference between a fake tensor and the real one.

    The key is the kind of difference; the value describes the fake and the real tensor.
    Returns {} if they agree.
    """
    found: dict[str, tuple[str, str]] = {}
    if any(isinstance(size, torch.SymInt) for size in fake.shape):
        pass  # a size that depends on the data
    elif tuple(fake.shape) != tuple(real.shape):
        found["shape"] = written_shape(fake.shape), written_shape(real.shape)
    elif fake.dtype != real.dtype:
        found["dtype"] = dtype_name(fake.dtype), dtype_name(real.dtype)
    elif fake.device.type != real.device.type:
        found["device"] = str(fake.device), str(real.device)
    elif real.numel() and steps(fake) != steps(real):
        found["strides"] = written_shape(fake.stride()), written_shape(real.stride())
    return found


def steps(tensor: Any) -> list[int]:
    """Return the strides of all dimensions whose size is not 1."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in pairs if size != 1]


def same_for_all(seen: Seen) -> bool:
    """Return whether the fake gave one shape although the real results had several."""
    return len({fake for fake, _ in seen}) == 1 < len({real for _, real in seen})


def elsewhere(exercise: TorchExercise, case: Any) -> None:
    """Call the fake with fake tensors that claim to be on a GPU.

    No GPU is needed. If PyTorch is built without CUDA, their device is "meta". Raises
    `Failed` if a result is on another device.
    """
    given = tensors(case.inputs)
    if not any(map(is_tensor, given)):
        return
    device = "cuda"
    try:
        got = described_on(device, exercise, given)
    except Failed as failed:
        if NOT_BUILT not in str(failed.__cause__):
            raise
        device = "meta"
        got = described_on(device, exercise, given)
    odd = next((r for r in got if r.device.type != device), None)
    if odd is not None:
        message = f"For tensors on a GPU the fake gives one on the {odd.device}."
        why = CAUSES["device"]
        raise wrong(exercise, message, why, "tensors on a GPU", "device")


def described_on(device: str, exercise: TorchExercise, given: list[Any]) -> list[Any]:
    """Return what the fake gives for inputs like `given`, with tensors on `device`."""
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fakes = [
            torch.empty(v.shape, dtype=v.dtype, device=device) if is_tensor(v) else v
            for v in given
        ]
        return described(exercise, mode, fakes, "tensors on a GPU")


def symbolic(exercise: TorchExercise, calls: Calls) -> None:
    """Call the fake with a symbol for each size that is not the same in all cases.

    Raises `Failed` if a size of the result that depends on such a symbol is a number.
    """
    cases = [exercise.case(size) for size in exercise.sizes]
    one, *others = sorted(cases, key=least, reverse=True)
    given = tensors(one.inputs, device=calls.device)
    varying = [
        [any(differ(one, other, k, axis) for other in others) for axis in range(v.ndim)]
        if is_tensor(v)
        else []
        for k, v in enumerate(given)
    ]
    if least(one) < 2:  # a compiler treats these sizes specially
        return
    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment) as mode:
        fakes = [
            mode.from_tensor(v, symbolic_context=symbols(axes)) if is_tensor(v) else v
            for v, axes in zip(given, varying, strict=True)
        ]
        try:
            got = described(exercise, mode, fakes, one.label)
        except Failed:  # `opcheck` traces with symbols too
            return
    for number, result in enumerate(got):
        for axis, size in enumerate(result.shape):
            if isinstance(size, torch.SymInt):
                continue
            if any(grows(one, other, number, axis) for other in others):
                found = f"{size}, for dimension {axis}"
                raise fixed(exercise, environment, one.label, found)


def symbols(axes: list[bool]) -> StatelessSymbolicContext[Any, Any]:
    """Return what makes a fake tensor with a symbol for the size of some axes."""
    kinds = {True: DimDynamic.DYNAMIC, False: DimDynamic.STATIC}
    return StatelessSymbolicContext(dynamic_sizes=[kinds[axis] for axis in axes])


def least(case: Case) -> int:
    """Return the smallest size of a case's arrays."""
    return min((n for v in case.inputs if is_array(v) for n in v.shape), default=0)


def differ(one: Case, other: Case, k: int, axis: int) -> bool:
    """Return whether a size of input `k` is not the same in two cases."""
    shapes = one.inputs[k].shape, other.inputs[k].shape
    return len(shapes[0]) != len(shapes[1]) or shapes[0][axis] != shapes[1][axis]


def grows(one: Case, other: Case, number: int, axis: int) -> bool:
    """Return whether a result's size is another, and only arrays differ in the inputs.

    Then that size depends on the sizes of the arrays.
    """
    plain = [[v for v in case.inputs if not is_array(v)] for case in (one, other)]
    shapes = one.expected[number].shape, other.expected[number].shape
    same = plain[0] == plain[1] and len(shapes[0]) == len(shapes[1])
    return same and shapes[0][axis] != shapes[1][axis]


def fixed(
    exercise: TorchExercise, environment: ShapeEnv, when: str, number: str
) -> Failed:
    """Return the error for a fake that turns a symbol into a number.

    environment: has a guard for each decision about a symbol, with the line that made
    it.
    """
    function = inspect.unwrap(exercise.written.fake)
    places, file = returns(function), function.__code__.co_filename
    for guard in environment.guards:
        frame = getattr(getattr(guard, "sloc", None), "framework_loc", None)
        equal = type(guard.expr).__name__ == "Equality"
        if equal and frame is not None and frame.filename == file:
            places = [(at_line(function, frame.lineno), "")]
            break
    return exercise.failed(
        "fake",
        "With a symbol for each size of the inputs, the fake gives a number, "
        f"{number} of the result.",
        "With symbols, torch.compile makes one graph for all sizes. A fake that turns "
        "a symbol into a number makes the graph fit only the sizes with that number, "
        "and torch.compile has to start again for the others. Which operation returns "
        "a number?",
        places,
        when=when,
        headline="right, but the fake turns a symbol into a number",
    )


def wrong(
    exercise: TorchExercise, message: str, why: str, when: str, what: str = ""
) -> Failed:
    """Return the error that ends the check of a fake that misdescribes a result."""
    places = returns(exercise.written.fake)
    if what == "strides":
        places = [(place, "the fake") for place, _ in places] + [
            (place, "the operator") for place, _ in returns(exercise.written.main)
        ]
    more = {"when": when, "headline": HEADLINES.get(what, "")}
    return exercise.failed("fake", message, why, places, **more)
