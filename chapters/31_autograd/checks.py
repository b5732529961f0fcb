"""Specifications and data for the checks of lab 31."""

import ast
import linecache
import math
import operator
import re
import sys
import traceback
from collections import Counter
from graphlib import TopologicalSorter

import numpy as np
import torch

from weft.checking.slips import result_if
from weft.checking.verdict import Failed, Verdict
from weft.errors import LearnerError
from weft.places import Place
from weft.torch_ops.tensors import equal
from weft.wording import several

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


PROGRAMS = (
    "a",
    "a * b",
    "a + a",
    "a * b + a",
    "c * (a + c), where c = a * b",
    "c * c + c, where c = a + b",
    "c * a + c * c, where c = a + b",
    "c * c + c * a, where c = a + b",
    "c * c + d * b, where c = a + b, d = c * a",
    "c + (d + d * c), where c = a * a, d = c * b",
    "3,000 times a = a + b",
    "40 times a = a + a",
)


def compute(program, leaves, name_it=lambda value, name: None):
    """Run one of the programs. leaves: the values of a, b and so on, by name.

    name_it: called with every value that is computed, and a name for it.
    """
    values = dict(leaves)
    if found := re.fullmatch(r"([\d,]+) times (\w) = (.*)", program):
        step = ast.parse(found[3], mode="eval").body
        for k in range(int(found[1].replace(",", ""))):
            value = values[found[2]] = evaluate(step, values, name_it)
            name_it(value, f"{found[2]} after {several(k + 1, 'step')}")
        return value
    result, _, where = program.partition(", where ")
    for definition in filter(None, where.split(", ")):
        name, _, text = definition.partition(" = ")
        values[name] = evaluate(ast.parse(text, mode="eval").body, values, name_it)
        name_it(values[name], name)
    return evaluate(ast.parse(result, mode="eval").body, values, name_it)


def evaluate(node, values, name_it):
    """Compute a sum or a product of named values; see `compute`."""
    if isinstance(node, ast.Name):
        return values[node.id]
    one, other = (evaluate(n, values, name_it) for n in (node.left, node.right))
    made = one + other if isinstance(node.op, ast.Add) else one * other
    name_it(made, ast.unparse(node))
    return made


def traced(value, program, numbers):
    """Run a program on Values, of the class `value`; note how it was made."""
    named = zip("abc", numbers, strict=False)
    leaves = {letter: value(number, name=letter) for letter, number in named}
    output = compute(program, leaves, lambda made, name: setattr(made, "name", name))
    if output not in leaves.values():
        output.name = program
    output.program, output.leaves = program, leaves
    output.complete, output.calls = complete(output), {}
    output.followed, output.arrived = Counter(), {}
    for each in output.complete:
        output.calls[each] = [[] for _ in each.edges]
        each.edges = [
            (source, noted(vjp, (each, source), seen, output))
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


def noted(vjp, edge, seen, output):
    """Return a vjp that notes in `seen` what it is called with.

    edge: a value, and the input to which the edge leads. The output of the program
    counts the edges that are followed to each input, and knows how many had been when a
    value was visited first.
    """
    value, source = edge

    def call(gradient):
        output.arrived.setdefault(value, output.followed[value])
        output.followed[source] += 1
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
    """Return a program of at most ten random steps on a, b and c."""
    steps = rng.integers(0, [2, 1 << 30, 1 << 30], (10, 3)).tolist()
    names, made = list("abc"), {}
    for name, (kind, one, other) in zip("defghijklm", steps, strict=True):
        sign = "*" if kind else "+"
        made[name] = f"{names[one % len(names)]} {sign} {names[-1 - other % 3]}"
        names.append(name)
    result, needed = made.pop("m"), []
    for name in reversed(made):
        if name in "".join([result, *(made[n] for n in needed)]):
            needed.append(name)
    where = ", ".join(f"{name} = {made[name]}" for name in reversed(needed))
    return f"{result}, where {where}"


def programs(rng, value):
    """Return outputs, each with a seed, and with how to add gradients.

    value: the class of their numbers.
    """

    def case(program, seed=1.0, plus=operator.add, numbers=(3.0, 4.0)):
        return traced(value, program, numbers), seed, plus

    cases = [case(program) for program in PROGRAMS]
    cases.append(case("a * b + a", 3.0))
    cases.append(case("c * c + c, where c = a + b", Share(2.0), add_shares))
    for _ in range(6):
        numbers = rng.uniform(0.5, 1.5, 3).tolist()
        program = random_program(rng)
        cases.append(case(program, float(rng.integers(1, 4)), numbers=numbers))
    return cases


def torch_gradients(output, seed, plus):
    """Return the output, the seed, and (leaf, PyTorch's gradient, uses) per leaf."""
    wide = {"dtype": torch.float64, "requires_grad": True}
    leaves = {x: torch.tensor(leaf.data, **wide) for x, leaf in output.leaves.items()}
    result = compute(output.program, leaves)
    start = torch.tensor(float(seed), dtype=torch.float64)
    found = torch.autograd.grad(result, leaves.values(), start, allow_unused=True)
    uses, seen, left = {}, {output}, [output]
    while left:
        for source, _ in left.pop().edges:
            uses[source] = uses.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                left.append(source)
    leaves = [
        (leaf, gradient.item(), uses.get(leaf, 0))
        for leaf, gradient in zip(output.leaves.values(), found, strict=True)
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
        name = "the output" if value is output else repr(value)
        for (source, _), seen in zip(value.edges, output.calls[value], strict=True):
            if not seen:
                return (
                    f"The vjps of {name} have never been called, so {source} gets no "
                    f"share from it. {never_ready(output, value)}"
                )
            if len(seen) > 1:
                return (
                    f"The vjp of the edge from {name} to {source} has been called "
                    f"{len(seen):,} times. Each edge is followed once, when the "
                    f"gradient of {name} is complete."
                )
            if isinstance(seen[0], float) and math.isclose(seen[0], aim, rel_tol=1e-6):
                continue
            given = f"{seen[0]:g}" if isinstance(seen[0], float) else repr(seen[0])
            reason = f"The vjp of {name} has been called with {given}"
            if seen[0] == value.data:
                return f"{reason}, its number. It takes its gradient, which is {aim:g}."
            if seen[0] == seed and sources.count(value) == 1:
                return f"{reason}, the seed. It takes the gradient of {name}: {aim:g}."
            last = got.get(value)
            if isinstance(last, float) and math.isclose(last, aim, rel_tol=1e-6):
                reason += ": its gradient was not complete yet"
            return f"{reason}. Complete, it is {aim:g}.{too_early(output, value)}"
    return ""


def never_ready(output, value):
    """Say why the count of a value may never have been 0."""
    paths, edges = Counter({output: 1}), Counter()
    ready = {output}  # the values that are visited if a count is that of the paths
    for each in output.complete:
        if each is not output and edges[each] == paths[each]:
            ready.add(each)
        for source, _ in each.edges:
            paths[source] += paths[each]
            edges[source] += each in ready
    visited = {each for each, seen in output.calls.items() if all(seen) and each.edges}
    if visited == {each for each in ready if each.edges}:
        lead = "edge leads" if edges[value] == 1 else "edges lead"
        return (
            f"{edges[value]} {lead} to {value}, but {paths[value]:,} paths: the edges "
            "of each value should be counted once."
        )
    total = sum(len(each.edges) for each in output.complete)
    return f"Was its count ever 0? The graph has {total:,} edges."


def too_early(output, value):
    """Say which edges to a value had not been followed when it was visited."""
    users = Counter(
        user for user in output.complete for source, _ in user.edges if source is value
    )
    arrived = output.arrived[value]
    if arrived >= users.total():
        return ""
    said = f" {arrived} of the {users.total()} edges to {value} had been followed."
    for user, count in users.items():
        if arrived == len(users) and count > 1:
            said += f" Two edges lead from {user} to {value}, and both count."
            break
    return said


def summed_by_numpy(g, rows, cols):
    """Return the sums of g along the dimensions where out has size 1."""
    total = g.sum(axis=0, keepdims=True) if rows == 1 else g
    return total.sum(axis=1, keepdims=True) if cols == 1 else total


def to_be_summed(rng, n, m, rows, cols):
    """Return small whole numbers, whose sums are exact, and out's shape."""
    g = rng.integers(1, 10, (n, m)).astype(np.float32)
    return g, 1 if rows == 1 else n, 1 if cols == 1 else m


def sum_size(n, m, rows, cols):
    """Name the size of g and that of out."""
    high, wide = (1 if part == 1 else whole for part, whole in ((rows, n), (cols, m)))
    return f"size {n} × {m}, rows = {high}, cols = {wide}"


def every(step, g, rows, cols):
    """Return `step` of the elements of g that meet in each element of out."""
    return np.array(
        [[step(g[i::rows, j::cols]) for j in range(cols)] for i in range(rows)]
    )


def summed_along(axis):
    """Return a slip: each element of out is the sum of one column, or of one row."""

    def sums(g, rows, cols):
        if rows == cols == 1:
            raise ValueError("where both are 1, `summed_alone` is said")
        found = g.sum(axis=axis)
        if axis == 0:
            return np.resize(found[:cols], (rows, cols))
        return np.resize(found[:rows], (cols, rows)).T

    return sums


def summed_alone(part):
    """Return a slip: where rows and cols are both 1, a part of g is summed."""

    def sums(g, rows, cols):
        if rows > 1 or cols > 1:
            raise ValueError("this is about a single element")
        return np.full((1, 1), part(g).sum())

    return sums


TOTALS = result_if(
    {
        "each element is the sum of column `col` of g, whatever `rows` is": (
            summed_along(0)
        ),
        "each element is the sum of row `row` of g, whatever `cols` is": (
            summed_along(1)
        ),
        "only the first column of g is summed where `rows` and `cols` are both 1": (
            summed_alone(lambda g: g[:, 0])
        ),
        "only the first row of g is summed where `rows` and `cols` are both 1": (
            summed_alone(lambda g: g[0])
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


def product_size(n, k, m, which):
    """Name the size of a product, and which gradient is wanted."""
    return f"size {n} × {k} × {m}, which = {which}"


def by_one_product(vjp, g, a, b, which):
    """Call a vjp, and see that it computes one matrix product, with mm."""
    before = mm.calls
    gradient = vjp(g, a, b, which)
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
        "the loss subtracts the maximum, where it should add it": first_loss(
            loss=lambda t, top, x, p: t - top - x
        ),
        "the loss is -log(p[target]), and p[target] has rounded to 0": first_loss(
            loss=lambda t, top, x, p: -np.log(p)
        ),
        "the sum of exponentials has only the first 32 classes": with_sum(
            lambda x, top: np.exp(x - top)[:, :32].sum(axis=1)
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
        "1 is subtracted for the right class after the division by n": (
            lambda x, target: (
                losses_and_gradient(x, target)[1]
                + np.eye(x.shape[1])[target] * (1 / len(x) - 1)
            )
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
    wrong = ~np.isclose(losses, right, 1e-4, 1e-4)
    if wrong.any():
        if not losses[wrong].any() and np.allclose(grad, shares, 1e-4, 1e-4):
            return "The gradient is right. Which lanes store a loss, and which last?"
        return LOSSES(x, target, losses)
    return SHARES(x, target, grad)


def scores(rng, n, c):
    """Return scores of very different sizes, and the right classes.

    If there are several rows, float32 rounds p of the first one's class to 0.
    """
    x = rng.normal(0, 1, (n, c))
    if n > 1:
        x[0::3] *= 60
    x[1::3] += 500
    x[2::3] -= 500
    target = rng.integers(0, c, n)
    target[-1] = c - 1
    if n > 1:
        target[0] = x[0].argmin()
        x[0, target[0]] = x[0].max() - 110
    return x.astype(np.float32), target


def scores_and_gradient(rng, n, m):
    """Return numbers, and the gradient of what comes of them."""
    return tuple(rng.normal(0, 1, (n, m)).astype(np.float32) for _ in "xg")


def both_ways(operation, x, g):
    """Run an operation; then change its input in place, and run its vjp."""
    given = Tensor(x.clone(), needs=True)
    try:
        out = operation(given)
    except (TypeError, AttributeError, ValueError) as error:
        if reason := wrong_edges(error):
            raise LearnerError(reason).with_traceback(error.__traceback__) from None
        raise
    if out is None:
        return None
    if not isinstance(out, Tensor):
        raise LearnerError("it returns the numbers alone, and not a `Tensor` with them")
    if not equal(given.data, x):
        raise LearnerError("it changes `x.data`, which the caller still needs")
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
    gradient = vjp(g)
    if not equal(out.data, made):
        raise LearnerError("the vjp changes the result, which others may need")
    return out.data, gradient


def wrong_edges(error):
    """Say what is wrong with the edges of a Tensor that could not be made, or ""."""
    edges = next(
        (
            frame.f_locals["edges"]
            for frame, _ in traceback.walk_tb(error.__traceback__)
            if frame.f_code is Tensor.__init__.__code__
        ),
        None,
    )
    if edges is None:
        return ""
    pairs = isinstance(edges, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in edges
    )
    if not pairs:
        return "the edges of a `Tensor` are a list of pairs: `[(x, vjp)]`"
    for source, _ in edges:
        if isinstance(source, torch.Tensor):
            return "an edge leads to a `torch.Tensor`, such as `x.data`, and not to `x`"
    return ""


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
        "the vjp is g (1 - x²), with `x.data` as it is now: the formula has y": (
            lambda x, g: (np.tanh(x), g * (1 - 0.5**2))
        ),
        "the vjp is g (1 - y)², the square of the difference, and not g (1 - y²)": (
            lambda x, g: (np.tanh(x), g * (1 - np.tanh(x)) ** 2)
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


Subject.__name__ = "Tensor"  # as Python's errors call it


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
        if isinstance(give_back, np.ndarray):
            return "Return a function that will return the data, not the data."
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
                    f" `tensor.memory.version` was {before} when the tensor was saved, "
                    f"and is {tensor.memory.version} now. Only the version tells: the "
                    "numbers may be the same."
                )
            return reason
        if found == KEPT and not isinstance(got, torch.Tensor):
            return "The function should return the numbers, `tensor.data`."
        if found == KEPT and got is not tensor.data:
            return "The function returns a copy. That doubles the memory."
    return ""
