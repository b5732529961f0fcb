"""What the registrations of lab 32's operators buy."""

import torch

import weft

from .kernels import DEVICE
from .prepared import differentiate, lean


def attempt(title, test):
    """Print what a test says, or its error."""
    try:
        print(f"{title:24}{test()}")
    except Exception as error:
        first = str(error).strip().splitlines()[0][:50]
        print(f"{title:24}{type(error).__name__}: {first}")


def doubles(*shape):
    """Return random numbers in double precision that require a gradient."""
    made = torch.rand(shape, dtype=torch.float64, device=DEVICE)
    return made.requires_grad_(True)


def derivatives(poly):
    """Compare first and second derivatives of an operator with finite differences."""
    curve = lambda x: poly(x, 0.5, -1.25)  # noqa: E731
    attempt("gradcheck", lambda: torch.autograd.gradcheck(curve, doubles(5)))
    attempt("gradgradcheck", lambda: torch.autograd.gradgradcheck(curve, doubles(5)))


def half_precision(poly):
    """Call an operator with float16, without autocast and with it."""
    half = torch.tensor([1.0, 2.0], dtype=torch.float16, device=DEVICE)
    attempt("without autocast", lambda: poly(half, 1.0, 0.0).dtype)
    with torch.autocast(DEVICE):
        attempt("with autocast", lambda: poly(half, 1.0, 0.0).dtype)


def export(poly):
    """Print the operators in the graph of an exported model that calls `poly`."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return poly(2 * x, 0.5, -1.25).sum(0)

    def exported():
        example = torch.rand(4, 3, device=DEVICE)
        program = torch.export.export(Model(), (example,))
        called = [node.target for node in program.graph.nodes]
        return [str(each) for each in called if "." in str(each)]

    attempt("exported", exported)


def compiled(BUILT):
    """Compile a model with the operator launched in C++, or else the prepared one."""
    chosen = torch.ops.lab32_cpp.poly.default if BUILT else lean
    differentiate()

    def model(x):
        return chosen(torch.sin(x), 0.5, -1.25) + 1

    backend = "inductor" if weft.GPU else "aot_eager"
    whole = torch.compile(model, fullgraph=True, backend=backend)
    x = torch.linspace(-1, 1, 12, device=DEVICE, requires_grad=True)
    print(f"graph breaks: {torch._dynamo.explain(model)(x).graph_break_count}")
    print(f"the same result: {torch.allclose(whole(x), model(x))}")
    slopes = [torch.autograd.grad(f(x).sum(), x)[0] for f in (whole, model)]
    print(f"the same gradient: {torch.allclose(*slopes)}")
