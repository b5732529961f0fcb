"""Specifications and data for the checks of lab 28."""

import math

import numpy as np

COLLECTIVES = (
    *("all_reduce", "broadcast"),
    *("all_gather_into_tensor", "reduce_scatter_tensor"),
)


def summed(given):
    """Return, for every rank, the sum of all ranks' first arguments."""
    return [sum(own[0] for own in given)] * len(given)


def vectors(rng, size, n):
    """Return a vector of n numbers for every rank."""
    return [(rng.standard_normal(n).astype(np.float32),) for _ in range(size)]


def gradients(weights, x, y):
    """Return the gradients of the mean over rows of |x @ w + b - y|²."""
    w, b = weights
    error = x @ w + b - y
    return [2 * x.T @ error / len(x), 2 * error.mean(0)]


def stepped(given):
    """Return the weights after a step with the batches of all ranks."""
    weights, _, _, rate = given[0]
    x = np.concatenate([own[1] for own in given])
    y = np.concatenate([own[2] for own in given])
    means = gradients(weights, x, y)
    new = [w - rate * g for w, g in zip(weights, means, strict=True)]
    return [new] * len(given)


def fitting(got, causes):
    """Return the first text whose arrays are those of a result, "" if none is."""
    for text, arrays in causes.items():
        pairs = zip(got, arrays, strict=True)
        if all(np.allclose(a, b, 1e-3, 1e-5) for a, b in pairs):
            return text
    return ""


def why_not_stepped(given, rank, got):
    """Return which other average of gradients has led to these weights."""
    (weights, _, _, rate), p = given[0], len(given)
    parts = [gradients(weights, *own[1:3]) for own in given]
    rows = [len(own[1]) for own in given]

    def after(factors):
        pairs = list(zip(factors, parts, strict=True))
        return [
            w - rate * sum(factor * part[k] for factor, part in pairs)
            for k, w in enumerate(weights)
        ]

    causes = {
        "This is the mean of the ranks' means, as if all ranks had the same number of "
        "rows.": [1 / p] * p,
        "The ranks' means are added up: their sum is divided by nothing.": [1] * p,
        "The gradients of all rows are added up, and not divided by the number of all "
        "rows.": rows,
        "The sum over all rows is divided by this rank's rows, times the number of "
        "ranks.": [n / rows[rank] / p for n in rows],
        "Only this rank's rows have had an effect.": [r == rank for r in range(p)],
    }
    return fitting(got, {text: after(factors) for text, factors in causes.items()})


def uneven_batches(rng, size, features, outputs):
    """Return weights, as many rows as the rank's number and more, a rate."""
    f32 = np.float32
    weights = [
        rng.standard_normal((features, outputs)).astype(f32),
        rng.standard_normal(outputs).astype(f32),
    ]
    return [
        (
            weights,
            rng.standard_normal((2 + 3 * rank, features)).astype(f32),
            rng.standard_normal((2 + 3 * rank, outputs)).astype(f32),
            0.1,
        )
        for rank in range(size)
    ]


def whole_mlp(given):
    """Return the result of the MLP that the ranks hold in parts."""
    x, b2 = given[0][0], given[0][4]
    w1 = np.concatenate([own[1] for own in given], axis=1)
    b1 = np.concatenate([own[2] for own in given])
    w2 = np.concatenate([own[3] for own in given])
    return [np.maximum(x @ w1 + b1, 0) @ w2 + b2] * len(given)


def why_not_whole(given, rank, got):
    """Return which sum of the ranks' terms and of b2 a wrong result is."""
    terms = [np.maximum(x @ w1 + b1, 0) @ w2 for x, w1, b1, w2, _ in given]
    total, b2, p = sum(terms), given[0][4], len(given)
    causes = {
        f"It contains b2 {p} times: every rank has added it before the sum.": total
        + p * b2,
        "b2 is missing.": total,
        "This is only the term of this rank, with b2.": terms[rank] + b2,
        "This is only the term of this rank, without b2.": terms[rank],
        "The ranks' terms are averaged; the result is their sum.": total / p + b2,
    }
    return fitting([got], {text: [array] for text, array in causes.items()})


def parts_of_mlp(rng, size, rows, width):
    """Return, for every rank, x, its parts of the weights, and b2."""

    def random(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    x, b2 = random(rows, width), 3 + random(width + 1)
    hidden = [4 + 2 * rank for rank in range(size)]
    return [(x, random(width, n), random(n), random(n, width + 1), b2) for n in hidden]


MOMENTUM = 0.9


def as_weights(flat, x, y):
    """Return [w, b] as views of a flat vector."""
    features, outputs = x.shape[1], y.shape[1]
    w = flat[: features * outputs].reshape(features, outputs)
    return [w, flat[features * outputs :][:outputs]]


def flat_state(given):
    """Return all weights and all of the momentum."""
    return [np.concatenate([own[0][k] for own in given]) for k in (0, 1)]


def mean_gradient(given, ranks):
    """Return the gradient for the rows of some ranks, flat and padded."""
    weights, _ = flat_state(given)
    x, y = (np.concatenate([given[r][k] for r in ranks]) for k in (1, 2))
    flat = [g.ravel() for g in gradients(as_weights(weights, x, y), x, y)]
    flat = np.concatenate(flat)
    return np.pad(flat, (0, len(weights) - len(flat)))


def sharded(given):
    """Return every rank's shards after a step with the batches of all."""
    weights, momentum = flat_state(given)
    momentum = MOMENTUM * momentum + mean_gradient(given, range(len(given)))
    weights = weights - given[0][3] * momentum
    halves = (np.split(each, len(given)) for each in (weights, momentum))
    return [list(shard) for shard in zip(*halves, strict=True)]


def why_not_sharded(given, rank, got):
    """Return which wrong update has led to a rank's shards."""
    p, rate = len(given), given[0][3]
    mean, own = (mean_gradient(given, ranks) for ranks in (range(p), [rank]))
    mean, own = (np.split(flat, p)[rank] for flat in (mean, own))
    weights, momentum = given[rank][0]

    def after(gradient):
        new = MOMENTUM * momentum + gradient
        return [weights - rate * new, new]

    moved = [weights - rate * momentum, after(mean)[1]]
    causes = {
        "The ranks' gradients are added up; their mean is needed.": after(p * mean),
        "Only this rank's rows have had an effect.": after(own),
        "The momentum is neither used nor changed.": [weights - rate * mean, momentum],
        "The weights have moved by the old momentum.": moved,
    }
    return fitting(got, causes)


def shards(rng, size, features, outputs):
    """Return, for every rank, its state, five rows of a batch, a rate."""
    f32 = np.float32
    count = (features + 1) * outputs
    length = math.ceil(count / size) * size
    state = rng.standard_normal((2, length)).astype(f32)
    state[:, count:] = 0
    return [
        (
            [part.copy() for part in np.split(state, size, axis=1)[rank]],
            rng.standard_normal((5, features)).astype(f32),
            rng.standard_normal((5, outputs)).astype(f32),
            0.1,
        )
        for rank in range(size)
    ]
