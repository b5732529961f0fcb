"""Operators of PyTorch and autograd functions, as learners write them.

Each wrong one must be rejected for the reason that it is wrong.
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import weft

from numba import cuda, float32  # isort: skip
from weft import check, current_stream
from weft.checking.verdict import Verdict
from weft.errors import LearnerError
from weft.torch_ops.values import others_blank

SIZES = [1, 40, 97]


@pytest.fixture(autouse=True)
def _a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def vector(rng: Any, n: int) -> Any:
    return rng.uniform(0.5, 1.5, n).astype(np.float32)


def cubed(thing: Any, **options: Any) -> Verdict:
    """The verdict on what should give x³."""
    asked = {"spec": lambda x: x**3, "inputs": vector, "sizes": SIZES}
    return check(thing, **(asked | options))


def said(verdict: Verdict, kind: str, line: str = "") -> None:
    """Assert the kind of a verdict, and the text of the line that it names first."""
    assert verdict.kind == kind, verdict
    if line:
        assert verdict.places, verdict
        assert verdict.places[0][0].text == line, verdict


@cuda.jit
def cube_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * x[i] * x[i]


@cuda.jit
def cube_back_kernel(grad, x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = grad[i] * 3 * x[i] * x[i]


@cuda.jit
def unguarded(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i] * x[i]


@cuda.jit
def in_place(x, out):
    i = cuda.grid(1)
    if i < out.size:
        x[i] = x[i] * x[i] * x[i]
        out[i] = x[i]


@cuda.jit
def racy(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    if i < x.size:
        out[i] = tile[t] * tile[t] * tile[t ^ 0]
        tile[(t + 1) % 32] = out[i]


def launched(kernel: Any, *tensors: Any) -> None:
    """Launch with a thread per element of the last tensor."""
    kernel[-(-tensors[-1].numel() // 32), 32](*(t.detach() for t in tensors))


def forward(x):
    out = torch.empty_like(x)
    launched(cube_kernel, x, out)
    return out


def fake(x):
    return torch.empty_like(x)


def setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


@torch.library.custom_op("weft_tests::cube_back", mutates_args=())
def cube_back(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    launched(cube_back_kernel, grad, x, out)
    return out


cube_back.register_fake(lambda grad, x: torch.empty_like(x))


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return cube_back(grad, x)


def operator(
    body: Any = forward,
    fake: Any = fake,
    backward: Any = backward,
    setup: Any = setup,
    name: str = "",
) -> Any:
    """An operator of these parts; those that are None are not registered."""
    body.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    qualified = f"weft_tests::{name or body.__name__}"
    made = torch.library.custom_op(qualified, mutates_args=())(body)
    if fake is not None:
        made.register_fake(fake)
    if backward is not None:
        made.register_autograd(backward, setup_context=setup)
    return made


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return cube_back(grad, x)


class CubeBySetup(torch.autograd.Function):
    @staticmethod
    def forward(x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        row = x.detach().reshape(-1)
        cube_kernel.forall(row.numel())(row, out.view(-1))
        return out

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


# Right


def test_a_right_operator_passes() -> None:
    verdict = cubed(operator())
    assert verdict, verdict
    assert verdict.name == "forward"
    assert any("the gradient is right" in fact for fact in verdict.facts)
    assert any("no race" in fact for fact in verdict.facts)


def test_another_right_operator_passes() -> None:
    def other(x):
        given = x.detach().contiguous().flatten()
        out = torch.empty_like(given)
        cube_kernel[1, 128](given, out)
        return out.view(x.shape)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    verdict = cubed(
        operator(
            other,
            lambda x: x.new_empty(x.shape),
            lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
            keep,
        ),
        launches=True,
    )
    assert verdict, verdict


def test_right_autograd_functions_pass() -> None:
    assert cubed(Cube)
    verdict = cubed(CubeBySetup.apply, spec=lambda x: torch.pow(x, 3))
    assert verdict, verdict
    assert verdict.name == "CubeBySetup"


# Values, inputs, memory


def test_a_thread_outside_the_array_is_named_with_its_launch() -> None:
    def no_guard(x):
        out = torch.empty_like(x)
        launched(unguarded, x, out)
        return out

    verdict = cubed(operator(no_guard, backward=None), gradient=False)
    said(verdict, "out-of-bounds", "out[i] = x[i] * x[i] * x[i]")
    assert "launched here" in verdict.places[-1][1]


def test_a_race_in_the_kernel_is_found() -> None:
    def race(x):
        out = torch.empty_like(x)
        launched(racy, x, out)
        return out

    verdict = cubed(operator(race, backward=None), gradient=False)
    said(verdict, "race")
    assert "in `racy`" in verdict.places[0][1]


def test_a_silent_mutation() -> None:
    def silent(x):
        out = torch.empty_like(x)
        in_place.forall(x.numel())(x.detach(), out)
        return out

    verdict = cubed(operator(silent))
    said(verdict, "mutation", "in_place.forall(x.numel())(x.detach(), out)")
    assert "silent changes x; its schema names nothing." in verdict.message

    def by_torch(x):
        held = x.detach()
        held *= held * held
        return held.clone()

    said(cubed(operator(by_torch)), "mutation", "held *= held * held")


def test_a_declared_mutation_is_a_result() -> None:
    @torch.library.custom_op("weft_tests::cube_", mutates_args={"x"})
    def cube_(x: torch.Tensor) -> None:
        launched(in_place, x, torch.empty_like(x))

    verdict = cubed(cube_, gradient=False)
    assert verdict, verdict


def test_the_input_itself_comes_back() -> None:
    def same(x):
        return x

    said(cubed(operator(same), spec=lambda x: x), "alias", "return x")

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad

    said(cubed(Same, spec=lambda x: x), "alias", "return x.view(-1)")


def test_float64_by_accident() -> None:
    def leak(x):
        out = torch.from_numpy(np.empty(x.shape)).to(x.device)
        launched(cube_kernel, x, out)
        return out

    verdict = cubed(operator(leak))
    said(verdict, "dtype")
    assert "float64, and float32 is wanted" in verdict.message


def test_half_of_the_elements_are_never_written() -> None:
    def one_block(x):
        out = torch.empty_like(x)
        cube_kernel[1, 32](x.detach(), out)
        return out

    verdict = cubed(operator(one_block))
    said(verdict, "unwritten")
    assert "result[32] never gets a value, nor do 7 others of 40" in verdict.message
    assert "The launch has 32 threads in all, for 40 elements." in verdict.message


@cuda.jit
def across(x, out):
    row, col = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = x[row, col]


def test_a_column_without_values_is_named_with_the_store_and_the_launch() -> None:
    def swapped(x):
        out = torch.empty_like(x)
        across[(2, 1), (16, 16)](x.detach(), out)
        return out

    options = {"inputs": matrix, "sizes": [(5, 17)], "spec": lambda x: x}
    verdict = cubed(operator(swapped), **options)
    said(verdict, "unwritten", "out[row, col] = x[row, col]")
    assert (
        "result[0, 16] never gets a value, nor does any other element of column 16"
        in (verdict.message)
    )
    (_, note), (launch, launched_here) = verdict.places
    assert note == "stores other elements, in `across`"
    assert launch.text.startswith("across[(2, 1)"), verdict
    assert launched_here == "launched here"


def test_which_elements_are_blank() -> None:
    blank = np.zeros((4, 5), bool)
    blank[1:3] = True
    assert others_blank(blank) == ", nor does any other element of rows 1 to 2"
    blank[:, 2] = True
    assert others_blank(blank) == ", nor do 11 others of 20"
    assert not others_blank(np.arange(3) == 1)


def test_a_wrong_result_is_shown_with_its_store_and_its_name() -> None:
    @cuda.jit
    def halved(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] / float32(2)

    def both(x):
        outs = torch.empty_like(x), torch.empty_like(x)
        launched(cube_kernel, x, outs[0])
        launched(halved, x, outs[1])
        return outs

    options = {
        "spec": lambda x: (x**3, x),
        "tensors": True,
        "gradient": False,
        "outputs": ("y", "vjp(g)"),
        "sized": lambda n: f"{n} rows",
    }
    verdict = cubed(both, **options)
    said(verdict, "wrong-value", "out[i] = x[i] / float32(2)")
    assert verdict.message.startswith("vjp(g) is") or "vjp(g)[0] is" in verdict.message
    assert verdict.why.endswith("`y` is right.")
    assert [note for _, note in verdict.places] == [
        "stored here, in `halved`",
        "launched here",
    ]
    assert verdict.places[1][0].text.startswith("kernel[-(-tensors[-1]"), verdict
    assert verdict.thread == (0,)
    assert verdict.when == "1 rows"

    def doubled(x):
        first, second = both(x)
        return first, 3 * second

    said(cubed(doubled, **options), "wrong-value", "return first, 3 * second")
    verdict = cubed(lambda x: (x**3, x[:0]), **options)
    said(verdict, "shape")
    assert verdict.message == "vjp(g) has the shape (0,), and (1,) is wanted."


def matrix(rng: Any, m: int, n: int) -> Any:
    return rng.uniform(0.5, 1.5, (m, n)).astype(np.float32)


def test_a_strided_input_is_read_wrongly() -> None:
    def flat(x):
        row = x.detach().reshape(-1)
        out = torch.empty_like(x)
        cube_kernel.forall(row.numel())(row, out.reshape(-1))
        return out

    verdict = cubed(operator(flat), inputs=matrix, sizes=[(1, 3), (5, 7)])
    said(verdict, "strides", "return out")

    def viewed(x):
        out = torch.empty(x.shape, device=x.device)
        cube_kernel.forall(out.numel())(x.view(-1), out.view(-1))
        return out

    verdict = cubed(operator(viewed), inputs=matrix, sizes=[(1, 3), (5, 7)])
    said(
        verdict,
        "strides",
        "cube_kernel.forall(out.numel())(x.view(-1), out.view(-1))",
    )


def test_a_matrix_with_gaps_is_read_wrongly() -> None:
    def by_memory(x):
        out = torch.empty_like(x)
        row = x.detach().as_strided((x.numel(),), (1,))
        cube_kernel.forall(x.numel())(row, out.as_strided((x.numel(),), (1,)))
        return out

    asked = {"inputs": matrix, "sizes": [(1, 3), (5, 7)], "gradient": False}
    verdict = cubed(operator(by_memory, backward=None), **asked)
    said(verdict, "strides", "return out")
    assert "with strided inputs that have gaps" in verdict.when


@pytest.mark.parametrize(
    ("source", "target", "message", "why"),
    [
        ("x.contiguous()", "torch.empty_like(x)", "", "x was read row by row, and the"),
        (
            "x",
            "torch.empty(x.shape)",
            "",
            "x was read column by column, and the result, whose strides are (7, 1),",
        ),
        ("x", "torch.zeros_like(x)", "puts into the gaps of x.", "has gaps"),
    ],
)
def test_a_matrix_is_read_in_one_order_and_written_in_another(
    source: str, target: str, message: str, why: str
) -> None:
    def by_memory(x):
        given, out = eval(source), eval(target)
        row = given.detach().as_strided((x.numel(),), (1,))
        cube_kernel.forall(x.numel())(row, out.as_strided((x.numel(),), (1,)))
        return out

    asked = {"inputs": matrix, "sizes": [(1, 3), (5, 7)], "gradient": False}
    verdict = cubed(operator(by_memory, backward=None), **asked)
    said(verdict, "strides", "return out")
    assert message in verdict.message
    assert why in verdict.why


def test_a_tensor_that_requires_a_gradient_cannot_go_to_a_kernel() -> None:
    def attached(x):
        out = torch.empty_like(x)
        cube_kernel[4, 32](x, out)
        return out

    verdict = cubed(operator(attached))
    said(verdict, "type", "cube_kernel[4, 32](x, out)")
    assert "requires a gradient" in verdict.message


def test_no_kernel_of_ones_own() -> None:
    def borrowed(x):
        return x.pow(3)

    said(cubed(operator(borrowed), launches=True), "library", "return x.pow(3)")


def test_an_empty_tensor_is_a_size_like_any_other() -> None:
    verdict = cubed(operator(), sizes=[0, 5])
    said(verdict, "launch", "launched(cube_kernel, x, out)")

    def careful(x):
        return forward(x) if x.numel() else torch.empty_like(x)

    assert cubed(operator(careful, backward=None), sizes=[0, 5], gradient=False)


@pytest.mark.parametrize(
    "function", [torch.nn.functional.softplus, torch.nn.functional.silu]
)
def test_a_function_of_a_forbidden_module(function: Any) -> None:
    def borrowed(x):
        return function(x)

    asked = {"spec": lambda x: function(x), "tensors": True}
    assert cubed(borrowed, **asked)
    verdict = cubed(borrowed, **asked, without=("torch.nn.functional",))
    said(verdict, "library", "return function(x)")


# The fake


def test_no_fake() -> None:
    verdict = cubed(operator(fake=None))
    said(verdict, "fake", "def forward(x):")
    assert verdict.title == "✗ forward — no fake is registered"


# with a GPU the first comparison sees it, without one the last, on pretended tensors
ON_THE_HOST = (
    "The fake gives the device cpu, and forward gives cuda:0."
    if weft.GPU
    else "For tensors on a GPU the fake gives one on the cpu."
)


@pytest.mark.parametrize(
    ("fake", "headline", "message"),
    [
        (
            lambda x: torch.empty(40),
            "the fake gives another shape",
            "The fake gives the shape (40,), and forward gives (1,).",
        ),
        (
            lambda x: torch.empty_like(x, dtype=torch.float64),
            "the fake gives another dtype",
            "The fake gives the dtype float64, and forward gives float32.",
        ),
        (
            lambda x: torch.empty(x.shape, device=x.device),
            "the fake gives another dtype",
            "The fake gives the dtype float32, and forward gives float64.",
        ),
        (
            lambda x: torch.empty(x.shape, dtype=x.dtype),
            "the fake is on another device",
            ON_THE_HOST,
        ),
        (
            lambda x: torch.empty_like(x, device="cpu"),
            "the fake is on another device",
            ON_THE_HOST,
        ),
        (lambda x: None, "the fake does not fit the operator", "returns nothing"),
        (
            lambda x: (x, x),
            "the fake does not fit the operator",
            "The fake gives 2 results, and forward gives 1.",
        ),
        (forward, "the fake asks for data", "The fake launches a kernel."),
        (
            lambda x: x.new_empty(int(x.sum())),
            "the fake asks for data",
            "The fake asks for the value of an element.",
        ),
    ],
)
def test_a_wrong_fake(fake: Any, headline: str, message: str) -> None:
    verdict = cubed(operator(fake=fake))
    said(verdict, "fake")
    assert verdict.title.endswith(headline)
    assert message in verdict.message, verdict


def test_a_fake_that_slices_is_given_tensors_on_a_gpu_too() -> None:
    def every_second(x):
        return x[::2].clone()

    def sliced(x):
        return torch.empty_like(x[::2])

    def on_the_host(x):
        return torch.empty_like(x[::2], device="cpu")

    asked = {"spec": lambda x: x[::2], "gradient": False}
    assert cubed(operator(every_second, sliced, backward=None), **asked)
    verdict = cubed(operator(every_second, on_the_host, backward=None), **asked)
    said(verdict, "fake")
    assert verdict.title.endswith("the fake is on another device")


def test_a_fake_whose_size_depends_on_the_data() -> None:
    def positive(x):
        return x[x > 1]

    def some(x):
        return x.new_empty(torch.library.get_ctx().new_dynamic_size())

    made = operator(positive, some, backward=None)
    verdict = cubed(made, spec=lambda x: x[x > 1], sizes=[8, 40], gradient=False)
    assert verdict, verdict


@pytest.mark.parametrize(
    ("half", "line"),
    [
        (lambda x: x.new_empty(int(x.shape[0]) // 2), "int(x.shape[0])"),
        (lambda x: x.new_empty(len(x[1::2])), "len(x[1::2])"),
        (lambda x: x.new_empty(x.shape[0] // 2), ""),
        (lambda x: torch.empty_like(x[1::2]), ""),
        (lambda x: torch.empty_like(x[1::2]) if len(x.shape) else None, ""),
    ],
)
def test_a_fake_that_turns_a_symbol_into_a_number(half: Any, line: str) -> None:
    def every_second(x):
        return x[1::2].clone()

    verdict = cubed(
        operator(every_second, half, None),
        spec=lambda x: x[1::2],
        gradient=False,
        sizes=[1, 9, 40],
        strided=False,
    )
    assert bool(verdict) is not bool(line), verdict
    if line:
        said(verdict, "fake")
        assert line in verdict.places[0][0].text
        assert "a number, 20, for dimension 0 of the result" in verdict.message


def test_a_fake_with_other_strides() -> None:
    def by_rows(x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        cube_kernel.forall(x.numel())(x.detach().reshape(-1), out.view(-1))
        return out

    verdict = cubed(
        operator(by_rows, backward=None),
        inputs=matrix,
        sizes=[(1, 3), (5, 7)],
        gradient=False,
    )
    said(verdict, "fake", "return torch.empty_like(x)")
    assert "the strides (1, 5), and by_rows gives (7, 1)" in verdict.message


# The gradient


def test_no_backward_is_registered() -> None:
    said(cubed(operator(backward=None)), "autograd", "def forward(x):")
    assert cubed(operator(backward=None), gradient=False)

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

    said(cubed(Forward), "autograd", "def forward(ctx, x):")


def of(function: Any) -> Any:
    """An autograd function that cubes, with this backward."""
    made = type("Cubes", (Cube,), {"backward": staticmethod(function)})
    made.__module__ = __name__
    return made


def test_a_backward_that_ignores_the_incoming_gradient() -> None:
    def local(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x

    for verdict in (cubed(of(local)), cubed(operator(backward=local))):
        said(verdict, "gradient", "return 3 * x * x")
        assert "the incoming gradient has no part in it" in verdict.title


def test_a_backward_with_a_wrong_factor() -> None:
    def twice(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 6 * x * x

    verdict = cubed(of(twice))
    said(verdict, "gradient", "return grad * 6 * x * x")
    assert "Every element is exactly twice what it should be." in verdict.why
    assert "The gradient of x[0] is" in verdict.message


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, factor):
        ctx.save_for_backward(x, w)
        ctx.factor = factor
        return x * w * factor

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w * ctx.factor, grad * x * ctx.factor, None


def scaled(backward: Any) -> Verdict:
    """The verdict on a function of two tensors and a number."""
    made = type("Scales", (Scale,), {"backward": staticmethod(backward)})
    made.__module__ = __name__
    return check(
        made,
        spec=lambda x, w, factor: x * w * factor,
        inputs=lambda rng, n: (vector(rng, n), vector(rng, n), 2.5),
        sizes=SIZES,
    )


def test_a_right_function_of_two_tensors_and_a_number() -> None:
    assert scaled(Scale.backward)


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("grad * grad * 3 * x * x", "it gives four times it."),
        ("(grad + 1) * 3 * x * x", "twice the gradient of x, and it does not."),
        ("x * 3 * grad * grad", "the incoming gradient and x are exchanged."),
        ("grad * 3 * x**6", "the backward uses the result in place of x."),
        ("grad * 3 * x", "if x is not squared."),
    ],
)
def test_what_a_wrong_gradient_is(returned: str, why: str) -> None:
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return eval(returned, {"x": x, "grad": grad})

    slips = {"x is not squared": lambda x: 1.5 * x**2}
    verdict = cubed(of(backward), because_gradient=slips)
    said(verdict, "gradient")
    assert why in verdict.why


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("grad * x, grad * x * 2.5, None", "not with those in `w`. It should be the"),
        ("grad * w, grad * x * 2.5, None", "change with the numbers in `factor`."),
        ("grad * w * 3, grad * x * 3, None", "change with the numbers in `factor`."),
    ],
)
def test_what_a_wrong_gradient_depends_on(returned: str, why: str) -> None:
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return eval(returned, {"x": x, "w": w, "grad": grad})

    verdict = scaled(backward)
    said(verdict, "gradient")
    assert why in verdict.why


def test_a_backward_that_takes_one_number_for_another() -> None:
    class Line(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a, b):
            ctx.save_for_backward(x)
            ctx.b, ctx.a = a, b
            return a * x * x + b * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * (2 * ctx.a * x + ctx.b), None, None

    verdict = check(
        Line,
        spec=lambda x, a, b: a * x * x + b * x,
        inputs=lambda rng, n: (vector(rng, n), 2.5, -0.5),
        sizes=SIZES,
    )
    said(verdict, "gradient")
    assert "if a and b are exchanged. What is saved" in verdict.why


def test_a_gradient_that_keeps_a_dimension() -> None:
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return (grad * w)[None], grad * x

    verdict = product(backward)
    said(verdict, "gradient")
    assert "(1, 40) for x, and x has (40,)" in verdict.message
    assert "drops each leading dimension of size 1" in verdict.why


@pytest.mark.parametrize(
    ("returned", "headline"),
    [
        (lambda ctx, grad: grad, "not one gradient per input"),
        (lambda ctx, grad: (grad, grad, grad), "a gradient of what is no tensor"),
        (lambda ctx, grad: (grad[:1], grad, None), "a gradient of another shape"),
        (lambda ctx, grad: (None, grad, None), "a gradient is missing"),
        (lambda ctx, grad: (grad.cpu().numpy(), grad, None), "that is no tensor"),
    ],
)
def test_what_a_backward_returns(returned: Any, headline: str) -> None:
    verdict = scaled(returned)
    said(verdict, "gradient")
    assert headline in verdict.title


def test_a_gradient_of_another_shape_is_named_with_its_input() -> None:
    verdict = scaled(lambda ctx, grad: (grad, grad.sum(), None))
    assert "of shape () for w, whose shape is (40,)." in verdict.message


def test_a_gradient_of_one_input_belongs_to_another() -> None:
    def swapped(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * x * ctx.factor, grad * w * ctx.factor, None

    verdict = scaled(swapped)
    said(
        verdict, "gradient", "return grad * x * ctx.factor, grad * w * ctx.factor, None"
    )
    assert "The gradient of x[0]" in verdict.message


def test_a_backward_that_writes_into_what_it_was_given() -> None:
    def reuse(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.mul_(3 * x * x)

    verdict = cubed(of(reuse))
    said(verdict, "gradient")
    assert "writes into the incoming gradient" in verdict.message


def test_a_saved_tensor_that_the_backward_uses_up() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.twice = 2 * x
            return x * x

        @staticmethod
        def backward(ctx, grad):
            ctx.twice *= grad
            return ctx.twice.clone()

    verdict = cubed(Square, spec=lambda x: x * x)
    said(verdict, "gradient", "return ctx.twice.clone()")
    assert "what was saved has been changed" in verdict.title


def test_a_saved_result_that_the_backward_overwrites() -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(out := x.exp())
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            return out.mul_(grad)

    verdict = cubed(Exp, spec=np.exp)
    said(verdict, "gradient", "(out,) = ctx.saved_tensors")  # where PyTorch looks
    assert "what was saved has been changed" in verdict.title


def test_state_that_the_calls_share() -> None:
    class Shared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            Shared.x = x
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * Shared.x**2

    verdict = cubed(Shared)
    said(verdict, "gradient")
    assert "the calls share what they keep" in verdict.title


def test_a_backward_that_expects_a_dense_gradient() -> None:
    def viewed(ctx, grad):
        (x,) = ctx.saved_tensors
        return cube_back(grad.as_strided(grad.shape, (1,)), x)

    verdict = cubed(of(viewed))
    said(verdict, "gradient", "return cube_back(grad.as_strided(grad.shape, (1,)), x)")
    assert "not after `.sum()`" in verdict.title


def test_a_hazard_in_the_backward() -> None:
    def wide(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        unguarded[4, 32](x.detach(), out)
        return out

    verdict = cubed(of(wide))
    said(verdict, "out-of-bounds", "out[i] = x[i] * x[i] * x[i]")
    assert verdict.places[-1][0].text == "unguarded[4, 32](x.detach(), out)"


def test_forward_called_directly() -> None:
    class Ctx:
        def save_for_backward(self, *tensors: Any) -> None: ...

    def direct(x):
        return Cube.forward(Ctx(), x)

    verdict = cubed(direct, tensors=True)
    said(verdict, "autograd", "return Cube.forward(Ctx(), x)")
    assert "`forward` is called directly" in verdict.message

    def applied(x):
        return Cube.apply(x)

    assert cubed(applied, tensors=True)


def test_a_backward_that_launches_its_kernel_directly() -> None:
    def launches(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        launched(cube_back_kernel, grad, x, out)
        return out

    verdict = cubed(operator(backward=launches))
    said(verdict, "graph-break")
    assert "cannot follow `launches`, which launches" in verdict.message
    assert cubed(of(launches))


# torch.compile


def shifted(x):
    return x - x.mean() * 0


def test_a_function_that_is_one_graph() -> None:
    op = operator()

    def whole(x):
        return shifted(op(x))

    verdict = cubed(whole, tensors=True, limits={"graph_breaks": 0})
    assert verdict, verdict
    assert "one graph: no graph break" in verdict.facts


def test_a_number_taken_out_of_a_tensor_breaks_the_graph() -> None:
    def by_item(x):
        most = x.max().item()
        return (x / most) ** 3 * most**3

    verdict = cubed(by_item, tensors=True, gradient=False, limits={"graph_breaks": 0})
    said(verdict, "graph-break", "most = x.max().item()")
    assert "a number is taken out of a tensor" in verdict.message


def test_printing_breaks_the_graph(capsys: pytest.CaptureFixture[str]) -> None:
    def talkative(x):
        y = x * x
        print("half way")
        return y * x

    verdict = cubed(talkative, tensors=True, limits={"graph_breaks": 0})
    said(verdict, "graph-break", 'print("half way")')


def test_a_decision_on_a_value_breaks_the_graph() -> None:
    def branch(x):
        if x.sum() > 0:
            return x**3
        return x * x * x

    verdict = cubed(branch, tensors=True, limits={"graph_breaks": 0})
    said(verdict, "graph-break", "if x.sum() > 0:")


def test_a_kernel_launched_directly_breaks_the_graph() -> None:
    def direct(x):
        out = torch.empty_like(x)
        cube_kernel[4, 32](x, out)
        return out

    verdict = cubed(direct, tensors=True, gradient=False, limits={"graph_breaks": 0})
    said(verdict, "graph-break", "cube_kernel[4, 32](x, out)")


# Modules and steps


class Linear(torch.nn.Module):
    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(m, n))

    def forward(self, x):
        return x @ self.weight.T


class Transposed(Linear):
    def forward(self, x):
        return x @ self.weight.reshape(x.shape[1], -1)


def layer(cls: Any) -> Verdict:
    return check(
        cls,
        spec=lambda x, weight: x @ weight.T,
        inputs=lambda rng, k, n, m: (matrix(rng, k, n), matrix(rng, m, n)),
        sizes=[(1, 1, 1), (3, 5, 4)],
        call=lambda cls, x, weight: torch.func.functional_call(
            cls(x.shape[1], len(weight)), {"weight": weight}, (x,)
        ),
    )


def test_a_module_is_checked_with_the_gradient_of_its_weights() -> None:
    assert layer(Linear)
    verdict = layer(Transposed)
    said(
        verdict,
        "wrong-value",
        "return x @ self.weight.reshape(x.shape[1], -1)",
    )


def test_a_step_that_changes_its_parameters() -> None:
    def sgd(weight, grad, rate):
        weight -= rate * grad

    def descent(weight, grad, rate):
        weight += rate * grad

    asked = {
        "spec": lambda weight, grad, rate: weight - rate * grad,
        "inputs": lambda rng, n: (vector(rng, n), vector(rng, n), 0.1),
        "mutates": ("weight",),
        "tensors": True,
        "gradient": False,
    }
    assert cubed(sgd, **asked)
    said(cubed(descent, **asked), "wrong-value")
    verdict = cubed(sgd, **(asked | {"mutates": ()}))
    said(verdict, "mutation")
    assert verdict.message == "sgd changes weight, which is an input."


# Cells


def test_a_starter_is_to_be_begun() -> None:
    def begun(x):
        # your code here
        return None

    said(cubed(operator(begun, fake=None, backward=None)), "begin")


def test_a_cell_that_runs_again_replaces_its_operator() -> None:
    assert cubed(operator())
    assert cubed(operator())


def test_an_operator_whose_name_was_taken_is_refused_and_not_called() -> None:
    first = operator(name="shared_name")

    def another(x):
        return x + 1

    operator(another, name="shared_name")
    verdict = cubed(first)
    said(verdict, "stale", "def another(x):")
    assert '"weft_tests::shared_name"' in verdict.message


def test_pytorch_is_not_imported_for_what_is_not_its_own() -> None:
    code = (
        "import sys, weft\n"
        "from weft import check\n"
        "assert check(lambda n: n, spec=lambda n: n, inputs=[(1,)])\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_this_room_does_not_know_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"lauches means nothing .* mean launches"):
        cubed(operator(), lauches=True)
    with pytest.raises(ValueError, match="a class of modules needs call="):
        cubed(Linear)
    with pytest.raises(ValueError, match='"sectors" is a limit of a kernel'):
        cubed(operator(), limits={"sectors": 4})


# The current stream


def on(stream: Any) -> Any:
    """An operator whose kernel is launched on what `stream` returns."""

    def streamed(x):
        out = torch.empty_like(x)
        cube_kernel[-(-x.numel() // 32), 32, stream()](x.detach(), out)
        return out

    def streamed_back(ctx, grad):
        (x,) = ctx.saved_tensors
        return cube_back_streamed(grad, x)

    return operator(streamed, backward=streamed_back)


@torch.library.custom_op("weft_tests::cube_back_streamed", mutates_args=())
def cube_back_streamed(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    cube_back_kernel[8, 32, current_stream()](grad.contiguous(), x.detach(), out)
    return out


cube_back_streamed.register_fake(lambda grad, x: torch.empty_like(x))

ASKED_EARLY = current_stream()


def test_a_launch_on_the_current_stream() -> None:
    verdict = cubed(on(current_stream), stream=True)
    assert verdict, verdict
    assert "every launch is on the current stream" in verdict.facts

    def by_hand():
        return cuda.external_stream(torch.cuda.current_stream().cuda_stream)

    here = by_hand if weft.GPU else current_stream
    assert cubed(on(here), stream=True)


@pytest.mark.parametrize(
    "stream", [lambda: 0, lambda: ASKED_EARLY, lambda: cuda.default_stream()]
)
def test_a_launch_on_the_default_stream(stream: Any) -> None:
    assert cubed(on(stream))
    verdict = cubed(on(stream), stream=True)
    line = "cube_kernel[-(-x.numel() // 32), 32, stream()](x.detach(), out)"
    said(verdict, "stream", line)
    assert "launches its kernel on the default stream" in verdict.message


def test_a_launch_on_a_stream_of_its_own() -> None:
    own = [cuda.stream()] + ([] if weft.GPU else [cuda.external_stream(7)])
    for stream in own:
        verdict = cubed(on(lambda stream=stream: stream), stream=True)
        said(verdict, "stream")
        assert "on another stream" in verdict.message


def test_a_backward_on_the_default_stream() -> None:
    verdict = cubed(operator(), stream=True)
    said(verdict, "stream")


# Gradients that no input requires


def product(backward: Any) -> Verdict:
    """The verdict on an operator of two tensors, with this backward."""

    @torch.library.custom_op("weft_tests::product", mutates_args=())
    def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x * w

    product.register_fake(lambda x, w: torch.empty_like(x))
    product.register_autograd(backward, setup_context=setup)
    return check(
        product,
        spec=lambda x, w: x * w,
        inputs=lambda rng, n: (vector(rng, n), vector(rng, n)),
        sizes=SIZES,
        frozen=True,
    )


def test_a_backward_that_computes_what_is_needed() -> None:
    def needed(ctx, grad):
        x, w = ctx.saved_tensors
        for_x, for_w = ctx.needs_input_grad
        return grad * w if for_x else None, grad * x if for_w else None

    assert product(needed)


def test_a_backward_that_computes_too_much() -> None:
    def both(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w, grad * x

    verdict = product(both)
    said(verdict, "gradient", "return grad * w, grad * x")
    assert "Only x requires a gradient" in verdict.message


def test_a_gradient_too_few_of_an_operator() -> None:
    verdict = product(lambda ctx, grad: grad)
    said(verdict, "gradient")
    assert "returns 1 gradient, and product has 2 inputs." in verdict.message


def test_what_a_call_refuses_is_said_without_python() -> None:
    def twice(x):
        return [x, x]

    def alone(thing: Any, x: Any) -> Any:
        if isinstance(thing(x), list):
            raise LearnerError("it returns a list, and not a tensor")

    verdict = cubed(twice, call=alone, tensors=True, gradient=False)
    said(verdict, "exception", "return [x, x]")
    assert verdict.headline == "not what was asked for"
    assert verdict.message == "It returns a list, and not a tensor."

    def nested(x):
        def pair():
            return [x, x]

        return pair()

    verdict = cubed(nested, call=alone, tensors=True, gradient=False)
    said(verdict, "exception", "return pair()")


def test_what_a_call_refuses_is_said_at_the_line_that_led_to_it() -> None:
    def refuse(x):
        raise LearnerError("a tensor has to be two")

    def early(x):
        y = refuse(x)
        return y

    verdict = cubed(early, tensors=True, gradient=False)
    said(verdict, "exception", "y = refuse(x)")
    assert verdict.message == "A tensor has to be two."
