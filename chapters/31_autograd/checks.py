"""Specifications and data for the checks of lab 31."""

import linecache
import math
import operator
import sys
from graphlib import TopologicalSorter

import numpy as np
import torch

from weft.checking.slips import result_if
from weft.checking.verdict import Failed, Verdict
from weft.errors import LearnerError
from weft.places import Place

from .engine import Tensor
from .kernels import mm


class Share(float):
    """A gradient that only `add_shares` can add."""

    def __mul__(self, number):
        return Share(float(self) * number)

    def __add__(self, other):
        raise TypeError("gradients may be arrays: add them with plus(a, b)")

    __radd__ = __add__


def add_shares(a, b):
    if not (isinstance(a, Share) and isinstance(b, Share)):
        raise TypeError(f"plus({a!r}, {b!r}): both should be gradients")
    return Share(float(a) + float(b))


def repeated(step, times):
    """Return a function that applies a step to its argument many times."""

    def program(x, *others):
        for _ in range(times):
            x = step(x, *others)
        return x

    return program


PROGRAMS = {
    "a": lambda a: a,
    "a * b": lambda a, b: a * b,
    "a + a": lambda a: a + a,
    "a * b + a": lambda a, b: a * b + a,
    "c * (a + c), where c = a * b": lambda a, b: (lambda c: c * (a + c))(a * b),
    "c * c + c, where c = a + b": lambda a, b: (lambda c: c * c + c)(a + b),
    "c + (d + d * c), where c = a * a, d = c * b": lambda a, b: (
        lambda c: (lambda d: c + (d + d * c))(c * b)
    )(a * a),
    "3,000 times a = a + b": repeated(lambda a, b: a + b, 3000),
    "40 times a = a + a": repeated(lambda a: a + a, 40),
}


def traced(value, name, program, numbers):
    """Run a program on Values, of the class `value`; note how it was made."""
    named = zip(numbers, "abc", strict=False)
    leaves = [value(number, name=letter) for number, letter in named]
    output = program(*leaves)
    if output not in leaves:
        output.name = name
    output.program, output.leaves = program, leaves
    output.complete, output.calls = complete(output), {}
    for each in output.complete:
        output.calls[each] = [[] for _ in each.edges]
        each.edges = [
            (source, noted(vjp, each, seen))
            for (source, vjp), seen in zip(each.edges, output.calls[each], strict=True)
        ]
    return output


def complete(output):
    """Return the gradients of all values for a seed of 1, a value before its inputs."""
    graph, left = {}, [output]
    while left:
        value = left.pop()
        if value not in graph:
            graph[value] = [source for source, _ in value.edges]
            left += graph[value]
    gradients = {output: 1.0}
    order = [*TopologicalSorter(graph).static_order()][::-1]
    for value in order:
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            gradients[source] = gradients.get(source, 0.0) + share
    return {value: gradients[value] for value in order}


MANY = 1000  # calls of one vjp: those of 40 doublings would be a trillion


def noted(vjp, value, seen):
    """Return a vjp that notes in `seen` what it is called with."""

    def call(gradient):
        seen.append(gradient)
        if len(seen) > MANY:
            message = (
                f"The vjp of one edge from {value} has been called {MANY:,} times."
            )
            why = (
                "So a path is followed for each way through the graph, and there may "
                "be a trillion of them. Each edge should be followed once, when the "
                "gradient of its value is complete."
            )
            raise Failed(Verdict("backward", "answer", message, why, caller()))
        return vjp(gradient)

    return call


def caller():
    """Return the line of `backward` that is running."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "backward":
        frame = frame.f_back
    if frame is None:
        return []
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return [(Place("backward", frame.f_lineno, text), "")]


def random_program(rng):
    """Return a program of ten random steps on a, b and c."""
    steps = rng.integers(0, [2, 1 << 30, 1 << 30], (10, 3)).tolist()

    def program(*values):
        values = list(values)
        for kind, one, other in steps:
            one, other = values[one % len(values)], values[-1 - other % 3]
            values.append(one * other if kind else one + other)
        return values[-1]

    return program


def programs(rng, value):
    """Return outputs, each with a seed, and with how to add gradients.

    value: the class of their numbers.
    """
    cases = []
    for name, program in PROGRAMS.items():
        count = program.__code__.co_argcount
        numbers = (3.0, 4.0)[: 2 if "b" in name else count]
        output = traced(value, name, program, numbers)
        cases.append((output, 1.0, operator.add))
    both = "a * b + a"
    cases.append((traced(value, both, PROGRAMS[both], (3.0, 4.0)), 3.0, operator.add))
    both = "c * c + c, where c = a + b"
    again = traced(value, both, PROGRAMS[both], (3.0, 4.0))
    cases.append((again, Share(2.0), add_shares))
    for _ in range(6):
        numbers = rng.uniform(0.5, 1.5, 3).tolist()
        program = random_program(rng)
        random = traced(value, "ten random steps", program, numbers)
        cases.append((random, float(rng.integers(1, 4)), operator.add))
    return cases


def torch_gradients(output, seed, plus):
    """Return the output, the seed, and (leaf, PyTorch's gradient, uses) per leaf."""
    wide = {"dtype": torch.float64, "requires_grad": True}
    leaves = [torch.tensor(leaf.data, **wide) for leaf in output.leaves]
    result = output.program(*leaves)
    start = torch.tensor(float(seed), dtype=torch.float64)
    found = torch.autograd.grad(result, leaves, start, allow_unused=True)
    uses, seen, left = {}, {output}, [output]
    while left:
        for source, _ in left.pop().edges:
            uses[source] = uses.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                left.append(source)
    leaves = [
        (leaf, gradient.item(), uses.get(leaf, 0))
        for leaf, gradient in zip(output.leaves, found, strict=True)
        if gradient is not None
    ]
    return output, float(seed), leaves


def same_gradients(got, wanted):
    """Return "" for the right gradients, or else what is wrong with them."""
    if not isinstance(got, dict):
        return "Return a dictionary: for each value, its gradient."
    output, seed, leaves = wanted
    strange = [key for key in got if not isinstance(key, type(output))]
    if strange:
        return f"The keys are the values themselves, and {strange[0]!r} is none."
    if seed != 1 and got.get(output) == 1:
        return f"The gradient of the output is given: the seed is {seed:g}, and not 1."
    if reason := misused(got, output, seed):
        return reason
    for leaf, aim, uses in leaves:
        if leaf not in got:
            return f"The dictionary has no gradient for {leaf}."
        if not isinstance(got[leaf], float):
            return f"The gradient of {leaf} should be a number."
        if math.isclose(got[leaf], aim, rel_tol=1e-6):
            continue
        found = got[leaf]
        reason = f"The gradient of {leaf} is {found:g} and should be {aim:g}."
        if uses > 1:
            reason += (
                f" It is used {uses:,} times, and each use adds a share. One "
                "is missing or counted twice."
            )
        return reason
    for value, aim in output.complete.items():
        if value not in got:
            return (
                f"The dictionary has no gradient for {value}. It should have one for "
                "every value, not only for the leaves."
            )
        if not math.isclose(float(got[value]), aim * seed, rel_tol=1e-6):
            return (
                f"The gradient of {value} is {got[value]:g} and should be "
                f"{aim * seed:g}."
            )
    return ""


def misused(got, output, seed):
    """Say which vjp was not called once, with the complete gradient of its value."""
    sources = [source for value in output.complete for source, _ in value.edges]
    for value, aim in output.complete.items():
        aim *= seed
        for (source, _), seen in zip(value.edges, output.calls[value], strict=True):
            if not seen:
                return (
                    f"The vjps of {value} have never been called, so {source} gets no "
                    f"share from it. Was its count ever 0? The graph has "
                    f"{len(sources):,} edges."
                )
            if len(seen) > 1:
                return (
                    f"The vjp of the edge from {value} to {source} has been called "
                    f"{len(seen):,} times. Each edge is followed once, when the "
                    f"gradient of {value} is complete."
                )
            if isinstance(seen[0], float) and math.isclose(seen[0], aim, rel_tol=1e-6):
                continue
            given = f"{seen[0]:g}" if isinstance(seen[0], float) else repr(seen[0])
            reason = f"The vjp of {value} has been called with {given}"
            if seen[0] == value.data:
                return f"{reason}, its number. It takes its gradient, which is {aim:g}."
            if seen[0] == seed and sources.count(value) == 1:
                return f"{reason}, the seed. It takes the gradient of {value}: {aim:g}."
            last = got.get(value)
            if isinstance(last, float) and math.isclose(last, aim, rel_tol=1e-6):
                reason += ": its gradient was not complete yet"
            return f"{reason}. Complete, it is {aim:g}."
    return ""


def summed_by_numpy(g, rows, cols):
    """Return the sums of g along the dimensions where out has size 1."""
    total = g.sum(axis=0, keepdims=True) if rows == 1 else g
    return total.sum(axis=1, keepdims=True) if cols == 1 else total


def to_be_summed(rng, n, m, rows, cols):
    """Return small whole numbers, whose sums are exact, and out's shape."""
    g = rng.integers(1, 10, (n, m)).astype(np.float32)
    return g, 1 if rows == 1 else n, 1 if cols == 1 else m


def every(step, g, rows, cols):
    """Return `step` of the elements of g that meet in each element of out."""
    return np.array(
        [[step(g[i::rows, j::cols]) for j in range(cols)] for i in range(rows)]
    )


TOTALS = result_if(
    {
        "rows are summed, and columns never": lambda g, rows, cols: np.resize(
            g.sum(axis=0)[:cols], (rows, cols)
        ),
        "columns are summed, and rows never": lambda g, rows, cols: (
            np.resize(g.sum(axis=1)[:rows], (cols, rows)).T
        ),
        "each element is the sum of all of g": lambda g, rows, cols: np.full(
            (rows, cols), g.sum()
        ),
        "only the first share counts": lambda g, rows, cols: g[:rows, :cols],
        "only the last share counts": lambda g, rows, cols: every(
            lambda part: part[-1, -1], g, rows, cols
        ),
        "the mean is taken, not the sum": lambda g, rows, cols: every(
            np.mean, g, rows, cols
        ),
        "`rows` and `cols` are exchanged": lambda g, rows, cols: np.array(
            [[g[i::cols, j::rows].sum() for j in range(cols)] for i in range(rows)]
        ),
    }
)


RESHAPED = result_if(
    {
        "an operand is reshaped where it should be transposed": lambda g, a, b, which: (
            a.reshape(-1, g.shape[0]) @ g if which else g @ b.reshape(g.shape[1], -1)
        ),
        "g is multiplied with the operand as it is": lambda g, a, b, which: (
            a @ g if which else g @ b
        ),
    }
)


def matmul_gradients(g, a, b, which):
    """Return the gradient of a or of b, with NumPy."""
    wanted = "ij,pj->ip" if which == 0 else "ij,ip->pj"
    return np.einsum(wanted, g, b if which == 0 else a)


def products(rng, n, k, m, which):
    """Return g, a and b, and of which of them the gradient is wanted."""
    shapes = (n, m), (n, k), (k, m)
    arrays = [rng.normal(0, 1, shape).astype(np.float32) for shape in shapes]
    return *arrays, which


def by_one_product(vjp, *inputs):
    """Call a vjp, and see that it computes one matrix product, with mm."""
    before = mm.calls
    gradient = vjp(*inputs)
    calls = mm.calls - before
    if gradient is not None and calls == 0:
        raise LearnerError(
            "it does not call mm: the gradient should be computed by our "
            "kernel, in one product"
        )
    if gradient is not None and calls > 1:
        raise LearnerError(
            f"it calls mm {calls} times, and one gradient takes one product: "
            "the gradient that is not asked for should not be computed"
        )
    return gradient


def losses_and_gradient(x, target):
    """Return each row's share of the mean loss, and the gradient of x."""
    n = len(x)
    shifted = x - x.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    right = np.arange(n), target
    gradient = np.exp(log_p)
    gradient[right] -= 1
    return -log_p[right][:, None] / n, gradient / n


def losses_with(x, target, top=None, loss=None, own=False):
    """Return losses and the gradient in float32, with something left out.

    top: the maximum of the rows, by default the right one. loss: of (logarithm of the
    sum, maximum, right score, right share). own: whether a lane's own sum is all.
    """
    x, n = x.astype(np.float32), len(x)
    top = x.max(axis=1, keepdims=True) if top is None else top(x)
    power = np.exp(x - top)
    total = power.sum(axis=1, keepdims=True)
    if own:
        lane = np.arange(x.shape[1]) % 32
        total = np.stack([power[:, lane == k].sum(axis=1) for k in lane], axis=1)
    p, right = power / total, (np.arange(n), target)
    whole = np.broadcast_to(np.log(total), x.shape)[right]
    top = np.broadcast_to(top, x.shape)[right]
    value = whole + top - x[right]
    if loss is not None:
        value = loss(whole, top, x[right], p[right])
    return (value / n)[:, None]


def zero(x):
    """Return 0 for every row."""
    return np.zeros((len(x), 1), np.float32)


def own_tops(x):
    """Return for each score the maximum of the scores of its lane."""
    lane = np.arange(x.shape[1]) % 32
    return np.stack([x[:, lane == k].max(axis=1) for k in lane], axis=1)


def lane_0_alone(x, target):
    """Return the losses of a lane 0 that uses its own maximum for them."""
    x, n = x.astype(np.float32), len(x)
    total = np.exp(x - own_tops(x)).sum(axis=1)
    right = x[np.arange(n), target]
    return ((np.log(total) + own_tops(x)[:, 0] - right) / n)[:, None]


def with_sum(total):
    """Return a slip: the losses with another sum of exponentials than the right one."""

    def losses(x, target):
        x = x.astype(np.float32)
        top = x.max(axis=1)
        right = x[np.arange(len(x)), target]
        return ((np.log(total(x, top[:, None])) + top - right) / len(x))[:, None]

    return losses


def lowest(x):
    """Return the lowest float32 for every row."""
    return np.full((len(x), 1), np.finfo(np.float32).min)


def first_loss(**options):
    """Return a slip that is compared with the losses alone."""
    return lambda x, target: losses_with(x, target, **options)


LOSSES = result_if(
    {
        "the maximum is not subtracted": first_loss(top=zero),
        "the maximum begins at 0": first_loss(
            top=lambda x: np.maximum(x.max(axis=1, keepdims=True), 0)
        ),
        "the loss forgets the maximum": first_loss(loss=lambda t, top, x, p: t - x),
        "the loss is the logarithm of a share that may be 0": first_loss(
            loss=lambda t, top, x, p: -np.log(p)
        ),
        "a lane divides by the sum that it has made alone": first_loss(own=True),
        "each lane keeps the maximum that it has found alone": first_loss(top=own_tops),
        "lane 0 keeps the maximum that it has found alone": lane_0_alone,
        "the maximum stays at LOWEST": first_loss(top=lowest),
        "the exponentials are summed without subtracting the maximum": with_sum(
            lambda x, top: np.exp(x).sum(axis=1)
        ),
        "lane 0 uses the sum that it has made alone": with_sum(
            lambda x, top: np.exp(x - top)[:, ::32].sum(axis=1)
        ),
        "a lane takes all elements from its own on: `range` lacks its step": with_sum(
            lambda x, top: (
                np.exp(x - top) * np.minimum(np.arange(x.shape[1]) + 1, 32)
            ).sum(axis=1)
        ),
        "the logarithm is one to the base 2": with_sum(
            lambda x, top: np.exp(x - top).sum(axis=1) ** (1 / np.log(2))
        ),
        "the losses are not divided by the number of rows": lambda x, target: (
            losses_and_gradient(x, target)[0] * len(x)
        ),
        "the losses are divided by the number of classes, not of rows": (
            lambda x, target: losses_and_gradient(x, target)[0] * len(x) / x.shape[1]
        ),
        "the loss has the other sign": first_loss(
            loss=lambda t, top, x, p: x - t - top
        ),
        "every lane sums the whole row, and `warp_sum` adds 32 such sums": with_sum(
            lambda x, top: 32 * np.exp(x - top).sum(axis=1)
        ),
    },
    tolerance=1e-4,
)


def shares_alone(x, target):
    """Return the gradient if each lane divides by the sum that it has made alone."""
    power = np.exp(x - x.max(axis=1, keepdims=True))
    lane = np.arange(x.shape[1]) % 32
    total = np.stack([power[:, lane == k].sum(axis=1) for k in lane], axis=1)
    return (power / total - np.eye(x.shape[1])[target]) / len(x)


def by_lane(x, target):
    """Return the gradient if 1 is subtracted wherever the lane is the right class."""
    lane = np.arange(x.shape[1]) % 32
    taken = lane == target[:, None]
    return losses_and_gradient(x, target)[1] + (
        np.eye(x.shape[1])[target] - taken
    ) / len(x)


def undivided(x, target):
    """Return the gradient if the exponentials are not divided by their sum."""
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return (power - np.eye(x.shape[1])[target]) / len(x)


SHARES = result_if(
    {
        "a lane divides by the sum that it has made alone": shares_alone,
        "the exponentials are not divided by their sum": undivided,
        "1 is added for the right class, and not subtracted": lambda x, target: (
            losses_and_gradient(x, target)[1] + 2 * np.eye(x.shape[1])[target] / len(x)
        ),
        "1 is subtracted where the lane, not `j`, is the right class": by_lane,
        "the gradient is that of the sum of the losses": lambda x, target: (
            losses_and_gradient(x, target)[1] * len(x)
        ),
        "the gradient is multiplied by the number of rows, not divided": (
            lambda x, target: losses_and_gradient(x, target)[1] * len(x) ** 2
        ),
        "nothing is subtracted for the right class": lambda x, target: (
            losses_and_gradient(x, target)[1] + np.eye(x.shape[1])[target] / len(x)
        ),
    },
    tolerance=1e-4,
)


def wrong_losses(x, target, losses, grad):
    """Say what a wrong loss, or else a wrong gradient, would follow from."""
    right, shares = losses_and_gradient(x.astype(float), target)
    if not np.allclose(losses, right, 1e-4, 1e-4):
        if (losses == 0).any() and np.allclose(grad, shares, 1e-4, 1e-4):
            return "The gradient is right. Which lanes store a loss, and which last?"
        return LOSSES(x, target, losses)
    return SHARES(x, target, grad)


def scores(rng, n, c):
    """Return scores of very different sizes, and the right classes."""
    x = rng.normal(0, 1, (n, c))
    if n > 1:
        x[0::3] *= 60
    x[1::3] += 500
    x[2::3] -= 500
    target = rng.integers(0, c, n)
    target[-1] = c - 1
    return x.astype(np.float32), target


def scores_and_gradient(rng, n, m):
    """Return numbers, and the gradient of what comes of them."""
    return tuple(rng.normal(0, 1, (n, m)).astype(np.float32) for _ in "xg")


def both_ways(operation, x, g):
    """Run an operation; then change its input in place, and run its vjp."""
    given = Tensor(x.clone(), needs=True)
    out = operation(given)
    if out is None:
        return None
    if not isinstance(out, Tensor):
        raise LearnerError("it returns the numbers alone, and not a `Tensor` with them")
    if out.node is None or len(out.node.edges) != 1:
        raise LearnerError(
            "the result has no place in the graph: it needs one edge, the pair of x "
            "and its vjp"
        )
    made = out.data.clone()
    given.data.fill_(0.5)
    bump(given)
    ((_, vjp),) = out.node.edges
    if not callable(vjp):
        raise LearnerError("the vjp is a function, which the backward pass will call")
    return made, vjp(g)


TANH = result_if(
    {
        "the vjp uses the input as it is now: it has changed since": lambda x, g: (
            np.tanh(x),
            g * (1 - np.tanh(0.5) ** 2),
        ),
        "the vjp uses x where the formula has y": lambda x, g: (
            np.tanh(x),
            g * (1 - x**2),
        ),
        "`y` has not been squared": lambda x, g: (np.tanh(x), g * (1 - np.tanh(x))),
        "the vjp leaves out g": lambda x, g: (np.tanh(x), 1 - np.tanh(x) ** 2),
    }
)

KEPT, REFUSED = "gives the numbers back", "raises RuntimeError"


SHOULD = {KEPT: "give the numbers back", REFUSED: "raise RuntimeError"}


def bump(tensor):
    """Count a change in place."""
    tensor.memory.version += 1


def change_and_undo(tensor):
    tensor.data.add_(1)
    bump(tensor)
    tensor.data.sub_(1)
    bump(tensor)


STORIES = {  # name -> (changes before it is saved, steps after that)
    "nothing happens": (0, [(None, KEPT)]),
    "the tensor is changed in place": (0, [(bump, REFUSED)]),
    "the tensor was changed before it was saved, not after": (
        3,
        [(None, KEPT)],
    ),
    "the tensor was changed before it was saved, and again after": (
        2,
        [(bump, REFUSED)],
    ),
    "the tensor is asked for twice": (0, [(None, KEPT), (None, KEPT)]),
    "the tensor is asked for, then changed, then asked for again": (
        1,
        [(None, KEPT), (bump, REFUSED)],
    ),
    "the tensor's transpose is changed": (
        0,
        [(lambda x: bump(x.t()), REFUSED)],
    ),
    "the tensor's detached twin is changed": (
        0,
        [(lambda x: bump(x.detach()), REFUSED)],
    ),
    "the tensor is changed and changed back": (
        0,
        [(change_and_undo, REFUSED)],
    ),
    "another tensor is changed": (
        0,
        [(lambda x: bump(Tensor(x.data.clone())), KEPT)],
    ),
}


class Subject(Tensor):
    """A tensor to which something happens."""

    def __repr__(self):
        return "tensor"


def subjects(rng):
    """Return one tensor for each story."""
    cases = []
    for story, (before, _) in STORIES.items():
        tensor = Subject(torch.rand(2, 3))
        tensor.story, tensor.memory.version = story, before
        cases.append((tensor,))
    return cases


def same_story(give_back, tensor):
    """Return "" if the function does what each step of the story asks for."""
    if not callable(give_back):
        return "Return a function, without calling it."
    before, steps = STORIES[tensor.story]
    for change, wanted in steps:
        if change is not None:
            change(tensor)
        try:
            got, found = give_back(), KEPT
        except RuntimeError:
            got, found = None, REFUSED
        except Exception as error:
            got, found = None, f"raises {type(error).__name__}"
        if isinstance(got, Exception):
            return (
                f"When {tensor.story}, the function returns a {type(got).__name__}. "
                "An error is raised, with `raise`."
            )
        if found != wanted:
            reason = (
                f"When {tensor.story}, the function {found}; "
                f"it should {SHOULD[wanted]}."
            )
            if wanted == REFUSED and found == KEPT:
                reason += (
                    f" The version was {before} when the tensor was saved, and is "
                    f"{tensor.memory.version} now. Only the version tells: the numbers "
                    "may be the same."
                )
            return reason
        if found == KEPT and not isinstance(got, torch.Tensor):
            return "The function should return the numbers, `tensor.data`."
        if found == KEPT and got is not tensor.data:
            return "The function returns a copy. That doubles the memory."
    return ""
