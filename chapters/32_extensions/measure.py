"""The measurements of chapter 32. Each function times, and returns a table."""

import torch

import weft
from weft import bench, doing

from .checks import poly_spec
from .kernels import contiguous_fake, poly_single
from .launcher import KERNEL_CU, LAUNCHER_CPP, build, handle_of
from .prepared import differentiate, lean, slope_single


def built():
    """Compile the two extensions, where that is possible; return whether it was."""
    doing.now("compiling C++, and CUDA C++")
    BUILT = weft.on_gpu("nothing to launch from C++") and (
        build("lab32_cpp", cpp=LAUNCHER_CPP) and build("lab32_cuda", cu=KERNEL_CU)
    )
    if BUILT:
        torch.ops.lab32_cpp.use(handle_of(poly_single), handle_of(slope_single))
        torch.library.register_fake("lab32_cpp::poly", contiguous_fake)
        torch.library.register_fake("lab32_cpp::slope", contiguous_fake)
    return BUILT


def triton_operators():
    """Return the polynomial in Triton, as two operators."""
    import triton
    import triton.language as tl

    @triton.jit
    def poly_program(x, a, b, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n)
        tl.store(out + i, (a * value * value + b) * value, mask=i < n)

    def through(wrap):
        def poly(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
            x = x.contiguous()
            out = torch.empty_like(x)
            n = x.numel()
            if n:
                blocks = triton.cdiv(n, 256)
                wrap(poly_program)[(blocks,)](x, a, b, out, n, BLOCK=256)
            return out

        return poly

    wrapped = torch.library.triton_op("lab32_triton::wrapped", mutates_args=())
    lean = torch.library.Library("lab32_triton", "FRAGMENT")
    lean.define("lean(Tensor x, float a, float b) -> Tensor")
    lean.impl("lean", through(lambda program: program), "CUDA")
    triton_operators.library = lean  # lives as long as the operator is needed
    op = wrapped(through(torch.library.wrap_triton))
    return op, torch.ops.lab32_triton.lean.default


def hundred(call, *arguments):
    """Return a function that makes a hundred calls."""

    def run():
        for _ in range(100):
            call(*arguments)

    return run


def formula(x, a, b):
    return (a * x * x + b) * x


def overhead(poly_forward, BUILT, guess=None):
    """Call operators that are registered and launched in different ways."""

    def calls():
        """Return what is timed, each of them tried."""
        x = torch.linspace(-1, 1, 1000, device="cuda")
        in_triton, lean_triton = triton_operators()
        operators = {
            "formula": formula,
            "formula, compiled": torch.compile(formula),
            "Numba, custom_op": poly_forward,
            "Numba, Library": torch.ops.lab32_lean.plain.default,
            "Numba, prepared": lean,
            "Triton, triton_op": in_triton,
            "Triton": lean_triton,
        }
        if BUILT:
            operators["CUDA C++"] = torch.ops.lab32_cuda.poly.default
            operators["Numba, C++ launcher"] = torch.ops.lab32_cpp.poly.default
        for name, operator in operators.items():
            right = torch.allclose(operator(x, 0.5, -1.25), poly_spec(x, 0.5, -1.25))
            assert right, name
        timed = {"torch.add": hundred(torch.add, x, x)}
        return timed | {
            name: hundred(operator, x, 0.5, -1.25)
            for name, operator in operators.items()
        }

    return bench.compare(
        "100 calls, 1,000 numbers",
        calls,
        baseline="CUDA C++" if BUILT or not weft.GPU else "torch.add",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def with_gradient(BUILT):
    """Call operators and their backward."""
    differentiate()

    def steps():
        """Return forward and backward, a hundred times."""
        x = torch.linspace(-1, 1, 1000, device="cuda", requires_grad=True)
        grad = torch.ones_like(x)

        def step(function):
            out = function(x, 0.5, -1.25)
            return torch.autograd.grad(out, x, grad)[0]

        functions = {
            "formula": formula,
            "formula, compiled": torch.compile(formula),
            "Python": lean,
        }
        if BUILT:
            functions["C++"] = torch.ops.lab32_cpp.poly.default
        for name, function in functions.items():
            wanted = (1.5 * x * x - 1.25).detach()
            assert torch.allclose(step(function), wanted, atol=1e-5), name
        return {name: hundred(step, each) for name, each in functions.items()}

    return bench.compare(
        "100 steps, 1,000 numbers",
        steps,
        baseline="formula",
        host=True,
        unsteady="the host's time is part of it",
    )


def graphs(poly_forward, BUILT):
    """Replay calls from a CUDA graph."""

    def in_graph():
        """Return calls that can be captured."""
        x = torch.linspace(-1, 1, 1000, device="cuda")
        operators = {"Numba, custom_op": poly_forward, "Numba, prepared": lean}
        if BUILT:
            operators["CUDA C++"] = torch.ops.lab32_cuda.poly.default
            operators["Numba, C++ launcher"] = torch.ops.lab32_cpp.poly.default
        return {
            name: lambda operator=operator: operator(x, 0.5, -1.25)
            for name, operator in operators.items()
        }

    return bench.compare(
        "in a CUDA graph, 1,000 numbers",
        in_graph,
        baseline="Numba, custom_op",
        graph=True,
    )
