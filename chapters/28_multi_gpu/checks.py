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


def sharded(given):
    """Return every rank's shards after a step with the batches of all."""
    size, rate = len(given), given[0][3]
    weights, momentum = (np.concatenate([own[0][k] for own in given]) for k in (0, 1))
    x = np.concatenate([own[1] for own in given])
    y = np.concatenate([own[2] for own in given])
    means = gradients(as_weights(weights, x, y), x, y)
    flat = np.concatenate([g.ravel() for g in means])
    flat = np.pad(flat, (0, len(weights) - len(flat)))
    momentum = MOMENTUM * momentum + flat
    weights = weights - rate * momentum
    shards = zip(np.split(weights, size), np.split(momentum, size), strict=True)
    return [list(shard) for shard in shards]


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
