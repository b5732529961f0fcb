"""PyTorch's own tests, run after our stages, and explanations of their failures."""

import traceback

import torch
from torch.autograd.gradcheck import GradcheckError

from weft.checking.cases import Case, as_tuple
from weft.checking.compare import close
from weft.checking.room import Facts
from weft.checking.source import returns
from weft.checking.verdict import Failed
from weft.torch_ops.calls import Calls, first_line, quiet
from weft.torch_ops.exercise import TorchExercise
from weft.torch_ops.tensors import array, is_tensor, tensors
from weft.wording import sentence

TESTS = {
    "test_schema": "schema",
    "test_autograd_registration": "autograd",
    "test_faketensor": "fake",
    "test_aot_dispatch_dynamic": "graph-break",
}


def opcheck(exercise: TorchExercise, calls: Calls) -> Facts:
    """Run `torch.library.opcheck`. Raises `Failed` if one of its tests fails."""
    case = smallest(exercise)
    if case is None:
        return []
    grad = exercise.gradient is not False
    given = tuple(tensors(case.inputs, device=calls.device, grad=grad))
    operator = exercise.written.thing
    with quiet(), torch.random.fork_rng(devices=[]):
        found = torch.library.opcheck(
            operator, given, test_utils=list(TESTS), raise_exception=False
        )
    for test, result in found.items():
        if isinstance(result, BaseException):
            raise failing(exercise, test, result, case.label)
    return ["torch.library.opcheck finds nothing"]


def smallest(exercise: TorchExercise) -> Case | None:
    """Return the smallest listed case without empty tensors, or None.

    Cases with a size of 1 come last, because compilers treat that size specially.
    """
    found: list[tuple[bool, int, int, Case]] = []
    for case in map(exercise.case, exercise.sizes):
        shapes = [v.shape for v in tensors(case.inputs) if is_tensor(v)]
        elements = sum(shape.numel() for shape in shapes)
        if all(shape.numel() for shape in shapes):
            ones = any(1 in shape for shape in shapes)
            found.append((ones, elements, len(found), case))
    return min(found)[-1] if found else None


def failing(
    exercise: TorchExercise, test: str, error: BaseException, when: str
) -> Failed:
    """Return the error that ends the check when a test of `opcheck` has failed."""
    written = exercise.written
    places = written.raised_at(error)
    inside = {place.function for place, _ in places}
    for part in (written.backward, written.setup):
        if part is not None and part.__name__ in inside:
            return exercise.failed(
                "graph-break",
                f"torch.compile cannot follow `{part.__name__}`, {cause(error)}.",
                "It traces this function with tensors that have no data. A kernel "
                "launched here is not an operation that it knows: what made the "
                "forward one?",
                places,
                when=when,
                headline="right, but torch.compile cannot follow its backward",
            )
    return exercise.failed(
        TESTS[test],
        f"torch.library.opcheck, {test}: {sentence(first_line(error))}",
        "This is PyTorch's own test of an operator; our stages before it found "
        "nothing.",
        places,
        when=when,
        headline="PyTorch's own test refuses it",
    )


def cause(error: BaseException) -> str:
    """Return a clause that says why a function cannot be traced."""
    frames = traceback.extract_tb(error.__traceback__)
    tools = ("/weft/simulator/", "/numba/")
    if any(tool in frame.filename for frame in frames for tool in tools):
        return "which launches a kernel"
    return f"which raises {type(error).__name__}: {first_line(error).rstrip('.')}"


def gradcheck(exercise: TorchExercise, calls: Calls, case: Case) -> None:
    """Run `torch.autograd.gradcheck`, if the kernels can compute in float64.

    It finds what our stages do not: results that differ from call to call, and
    gradients that are wrong when a result is unused. Raises `Failed` if the test fails.
    """
    given = tensors(case.inputs, device=calls.device, grad=True, dtype=torch.float64)
    try:
        with quiet():
            results = exercise.results(*given)
    except Exception:
        return
    got = [array(r) for r in as_tuple(results) if is_tensor(r)]
    exact = len(got) == len(case.expected) and all(
        g.dtype == w.dtype and bool(close(g, w, 1e-12).all())
        for g, w in zip(got, case.expected, strict=True)
    )
    if not exact:
        return
    try:
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.autograd.gradcheck(exercise.results, given, fast_mode=True)
    except GradcheckError as error:
        raise exercise.failed(
            "gradient",
            f"torch.autograd.gradcheck, in float64: {first_line(error)}",
            "This is PyTorch's own test of a gradient; our stages before it found "
            "nothing.",
            returns(exercise.written.backward),
            when=case.label,
            headline="PyTorch's own test refuses it",
        ) from None
