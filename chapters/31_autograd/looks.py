"""What lab 31 shows beside its exercises."""

import operator

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn import functional

from weft import bench

from .checks import losses_and_gradient
from .engine import Tensor, gradients_of, ready
from .kernels import DEVICE, launch, relu_kernel
from .training import my_loss, parameters, torch_loss


def fit(Value, backward):
    """Fit a line to eight points with the learner's `backward`; print the steps."""
    rng = np.random.default_rng(31)
    xs = np.linspace(-1, 1, 8)
    ys = 2 * xs + 1 + rng.normal(0, 0.05, 8)

    def squared_error(w, b):
        loss = Value(0.0)
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            error = w * Value(x) + b + Value(-y)
            loss = loss + error * error
        return loss

    w, b = 0.0, 0.0
    for step in range(61):
        w_now, b_now = Value(w), Value(b)
        loss = squared_error(w_now, b_now)
        gradients = backward(loss, 1.0, operator.add)
        if gradients is None:
            print("Solve exercise 1 first.")
            return
        if step % 20 == 0:
            print(f"step {step:2}  w {w:.3f}  b {b:.3f}  loss {loss.data:.4f}")
        w -= 0.05 * gradients[w_now]
        b -= 0.05 * gradients[b_now]


def what_is_kept():
    """Print which tensors PyTorch keeps for the backward pass of six operations."""
    x, y = (torch.rand(3, 3, requires_grad=True) for _ in "xy")
    names = {"x": x, "y": y, "gelu": functional.gelu}

    for line in ("x + y", "x * y", "x @ y", "x.relu()", "x.log()", "gelu(x)"):
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor, kept=kept: kept.append(tensor.data_ptr()), lambda _: None
        ):
            z = eval(line, names)
        owners = {x.data_ptr(): "x", y.data_ptr(): "y", z.data_ptr(): "the output"}
        said = " and ".join(sorted(owners[p] for p in kept)) or "nothing"
        print(f"{line:10} {type(z.grad_fn).__name__:16} keeps {said}")


def loss64(x, target, w1, b1, w2, b2):
    """Return the loss of the network in NumPy, in the precision it is given."""
    hidden = np.maximum(x @ w1 + b1, 0)
    losses, _ = losses_and_gradient(hidden @ w2 + b2, target)
    return losses.sum()


def slopes(function, array, h):
    """Return the slope of a function for each element, by central differences.

    function: takes no arguments and reads `array`, which is nudged in place.
    """
    found = np.empty_like(array)
    for index in np.ndindex(array.shape):
        middle = array[index]
        array[index] = middle + h
        above = function()
        array[index] = middle - h
        found[index] = (above - function()) / (2 * h)
        array[index] = middle
    return found


def two_opinions():
    """Compare the engine's gradients with differences, and with PyTorch."""
    if not ready():
        return
    rng = np.random.default_rng(31)
    x = rng.normal(0, 1, (6, 3)).astype(np.float32)
    x = torch.tensor(x, device=DEVICE)
    target = torch.tensor(rng.integers(0, 3, 6), device=DEVICE)
    start = parameters(3, 5, 3)
    mine = [Tensor(p.clone(), needs=True) for p in start]
    theirs = [p.clone().requires_grad_() for p in start]

    ours = gradients_of(my_loss(x, target, *mine), mine)
    torchs = torch.autograd.grad(torch_loss(x, target, *theirs), theirs)
    wide = [p.cpu().numpy().astype(np.float64) for p in (x, *start)]
    numbers = wide[0], target.cpu().numpy(), *wide[1:]
    print("largest difference    from slopes   from PyTorch")
    for name, array, got, other in zip(
        ("w1", "b1", "w2", "b2"), wide[1:], ours, torchs, strict=True
    ):
        slope = slopes(lambda: loss64(*numbers), array, 1e-6)
        far = np.abs(got.cpu().numpy() - slope).max()
        print(f"{name:20} {far:12.1e} {(got - other).abs().max():14.1e}")
        bench.always(f"gradient of {name}", far < 1e-5)


STEPS = 10.0 ** np.arange(-9, 0)  # of a central difference


def slope_errors(dtype):
    """Return the error of a central difference in a given precision, per h."""
    inputs = np.random.default_rng(31).normal(0, 1, 8)
    weight = np.array([0.7])

    def loss(weight, inputs):
        return np.log(np.exp(weight * inputs).sum())

    powers = np.exp(weight * inputs)
    exact = (powers * inputs).sum() / powers.sum()
    narrow, inputs = weight.astype(dtype), inputs.astype(dtype)
    errors = []
    for h in STEPS:
        slope = slopes(lambda: loss(narrow, inputs), narrow, dtype(h))
        errors.append(max(abs(float(slope[0]) - exact), 1e-17))
    return errors


def slopes_by_step():
    """Plot the error of a slope for many steps h; return it, in two precisions."""
    errors = {
        "float32": slope_errors(np.float32),
        "float64": slope_errors(np.float64),
    }
    _, axes = plt.subplots(figsize=(7, 4), dpi=72)
    for (name, values), mark in zip(errors.items(), ("o--", "s-"), strict=True):
        axes.loglog(STEPS, values, mark, label=name)
    axes.set_xlabel("h")
    axes.set_ylabel("error of the slope")
    axes.grid(alpha=0.3)
    axes.legend()
    plt.show()
    return errors


def show(node, depth=0):
    """Print a graph of PyTorch's, from the output down."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    saved_here = [name for name in names if getattr(node, name) is not None]
    print("   " * depth + type(node).__name__, *saved_here)
    for source, _ in node.next_functions:
        if source is not None:
            show(source, depth + 1)


def multiplied(y):
    y.mul_(3)


def through_a_view(y):
    y[0].zero_()


def through_detach(y):
    y.detach().zero_()


def through_data(y):
    y.data.zero_()


def by_a_kernel(y):
    launch(relu_kernel, y.shape, torch.zeros_like(y), y.detach())


def outcome(function, change):
    """Return "error" if PyTorch refuses, or else the first gradient."""
    x = torch.ones(2, 2, device=DEVICE, requires_grad=True)
    y = function(x)
    change(y)
    try:
        return f"{torch.autograd.grad(y.sum(), x)[0][0, 0]:.3f}"
    except RuntimeError:
        return "error"


CHANGES = multiplied, through_a_view, through_detach, through_data, by_a_kernel


def what_is_noticed():
    """Print what PyTorch makes of five changes in place, after three operations."""
    operations = {"exp": torch.exp, "sin": torch.sin, "3 * x": lambda x: 3 * x}
    print(f"{'gradient after':16}", *(f"{name:>8}" for name in operations))
    for change in CHANGES:
        found = [outcome(function, change) for function in operations.values()]
        print(f"{change.__name__:16}", *(f"{text:>8}" for text in found))


def versions():
    """Print a tensor's version before and after a kernel of ours has changed it."""
    y = torch.ones(2, 2, device=DEVICE, requires_grad=True).exp()
    versions = [y._version]
    by_a_kernel(y)
    versions.append(y._version)
    torch.autograd.graph.increment_version(y)
    print("version at first, after our kernel, after increment_version:")
    print(*versions, y._version)


def jacobians():
    """Compute a Jacobian by rows and by columns, and print that they agree."""
    matrix = torch.rand(2, 3, dtype=torch.float64)

    def two_of_three(x):
        return torch.sin(matrix @ x)

    x = torch.rand(3, dtype=torch.float64)
    _, vjp = torch.func.vjp(two_of_three, x)
    seeds = torch.eye(2, dtype=torch.float64)
    rows = torch.stack([vjp(seed)[0] for seed in seeds])
    columns = torch.stack(
        [
            torch.func.jvp(two_of_three, (x,), (direction,))[1]
            for direction in torch.eye(3, dtype=torch.float64)
        ],
        dim=1,
    )
    print("2 VJPs and 3 JVPs agree:", torch.allclose(rows, columns))
    print("with jacrev:", torch.allclose(rows, torch.func.jacrev(two_of_three)(x)))
    print("with jacfwd:", torch.allclose(rows, torch.func.jacfwd(two_of_three)(x)))
