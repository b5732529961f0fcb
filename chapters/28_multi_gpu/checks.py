"""Specifications and data for the checks of lab 28."""

import itertools
import math

import numpy as np

from weft.checking.slips import result_if
from weft.ranks.words import ranks_named

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


def shares(values, start, given, tolerance=1e-3):
    """Return how often some values contain each rank's numbers, or None if unknown.

    start: the first of the elements of the vectors that the values belong to.
    """
    own = np.stack([vector[start : start + len(values)] for (vector,) in given])
    for counts in itertools.product(range(4), repeat=len(given)):
        if len(values) and np.allclose(np.array(counts) @ own, values, atol=tolerance):
            return counts
    return None


def message(send, given):
    """Return the elements of x that a rank sends, and their shares, or None.

    The elements are a pair: the first, and their number. A tensor that is not a part of
    x has none.
    """
    if send.tensor.untyped_storage().nbytes() != given[0][0].nbytes:
        return None
    start, values = send.tensor.storage_offset(), send.kept.numpy().ravel()
    counts = shares(values, start, given)
    return counts and ((start, len(values)), counts)


def elements(part):
    """Name the elements of x in a part, as in 'elements 0 to 5'."""
    start, count = part
    return f"elements {start} to {start + count - 1}" if count > 1 else f"x[{start}]"


def held(counts):
    """Name the ranks whose numbers a sum contains, as in 'of ranks 0 and 1'."""
    return "of " + ranks_named([rank for rank, count in enumerate(counts) if count])


def around(given, rank, got, *, world):
    """Return what the messages of a ring show about a rank's wrong result, or "".

    Each rank should send p - 1 partial sums, the last of which completes one chunk of
    its receiver, and then p - 1 complete chunks.
    """
    p = len(given)
    if p > 4:  # too many shares to try
        return ""
    own = [work for work in world.works if work.rank == rank]
    sends = [message(work, given) for work in own if work.sends]
    comes = [message(work.other, given) for work in own if work.receives]
    if len(sends) != len(comes) or len(sends) < p - 1 or None in [*sends, *comes]:
        return ""
    last, sum_of_others = comes[p - 2]
    for step, (came, sent) in enumerate(zip(comes, sends[1:p], strict=False), 1):
        if came == sent and not came[1][rank]:
            return (
                f"In step {step}, rank {rank} receives {elements(came[0])}, and in "
                f"step {step + 1} it sends them on as they have arrived, without its "
                "own numbers. When does it add these?"
            )
    if sum_of_others != tuple(int(other != rank) for other in range(p)):
        return ""
    complete = (
        f"With what rank {rank} receives in step {p - 1}, its {elements(last)} are "
        "complete"
    )
    if len(sends) == p - 1:
        return f"{complete}. How do they reach the other ranks?"
    part, counts = sends[p - 1]
    if part != last and min(counts) == 0:
        return (
            f"{complete}. But in step {p}, where the second half begins, it sends "
            f"{elements(part)}, which have only the numbers {held(counts)}. Which "
            "chunk can it send then?"
        )
    if part == last and min(counts) == 0:
        return (
            f"In step {p - 1}, rank {rank} receives {elements(part)} as the sum of the "
            f"other ranks, but in step {p} it sends {elements(part)} with only the "
            f"numbers {held(counts)}. To which elements is the sum added?"
        )
    for step, (part, counts) in enumerate(comes[p - 1 :], p):
        start, count = part
        found = shares(got[start : start + count], start, given)
        if set(counts) == {1} and found and max(found) > 1:
            twice = [r for r, n in enumerate(found) if n > 1]
            return (
                f"In step {step}, rank {rank} receives the complete sum of "
                f"{elements(part)}, and at the end these have the numbers of "
                f"{ranks_named(twice)} more than once. What happens there to what has "
                "arrived?"
            )
    return ""


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


def step_with(factors):
    """Return a slip: a step with the ranks' gradients times these factors.

    factors: rows of each rank, this rank -> a factor for each rank.
    """

    def slip(given, rank):
        (weights, _, _, rate), rows = given[0], [len(own[1]) for own in given]
        parts = [gradients(weights, *own[1:3]) for own in given]
        pairs = list(zip(factors(rows, rank), parts, strict=True))
        return [
            w - rate * sum(factor * part[k] for factor, part in pairs)
            for k, w in enumerate(weights)
        ]

    return slip


STEPS = result_if(
    {
        "the ranks' means are averaged, as if all ranks had the same number of "
        "rows": step_with(lambda rows, rank: [1 / len(rows)] * len(rows)),
        "the ranks' means are added up, and divided by nothing": step_with(
            lambda rows, rank: [1] * len(rows)
        ),
        "the gradients of all rows are added up, and not divided by the number of all "
        "rows": step_with(lambda rows, rank: rows),
        "the sum over all rows is divided by this rank's rows, times the number of "
        "ranks": step_with(
            lambda rows, rank: [n / rows[rank] / len(rows) for n in rows]
        ),
        "the sum over all rows is divided by the number of ranks, and not by the "
        "number of all rows": step_with(
            lambda rows, rank: [n / len(rows) for n in rows]
        ),
        "the sum over all rows is divided by this rank's own number of rows": step_with(
            lambda rows, rank: [n / rows[rank] for n in rows]
        ),
        "the sum over all rows is divided by the number of all rows and by the number "
        "of ranks": step_with(
            lambda rows, rank: [n / sum(rows) / len(rows) for n in rows]
        ),
        "the ranks' means are added up as they are, and divided by the number of all "
        "rows": step_with(lambda rows, rank: [1 / sum(rows)] * len(rows)),
        "only this rank's rows have an effect, divided by the number of all rows": (
            step_with(
                lambda rows, rank: [
                    n / sum(rows) * (r == rank) for r, n in enumerate(rows)
                ]
            )
        ),
        "only this rank's rows have an effect": step_with(
            lambda rows, rank: [r == rank for r in range(len(rows))]
        ),
    }
)


def uneven_batches(rng, size, features, outputs):
    """Return weights, a batch of `2 * size + 1` rows or more, and a rate.

    Each rank has four rows more than the one before, and none has as many rows as there
    are ranks: a sum divided by one of these numbers is unlike one divided by the other.
    """
    f32 = np.float32
    weights = [
        rng.standard_normal((features, outputs)).astype(f32),
        rng.standard_normal(outputs).astype(f32),
    ]
    return [
        (
            weights,
            rng.standard_normal((rows, features)).astype(f32),
            rng.standard_normal((rows, outputs)).astype(f32),
            0.1,
        )
        for rows in range(2 * size + 1, 6 * size, 4)
    ]


def whole_mlp(given):
    """Return the result of the MLP that the ranks hold in parts."""
    x, b2 = given[0][0], given[0][4]
    w1 = np.concatenate([own[1] for own in given], axis=1)
    b1 = np.concatenate([own[2] for own in given])
    w2 = np.concatenate([own[3] for own in given])
    return [np.maximum(x @ w1 + b1, 0) @ w2 + b2] * len(given)


def terms(given):
    """Return every rank's term of the result, and b2."""
    own = [np.maximum(x @ w1 + b1, 0) @ w2 for x, w1, b1, w2, _ in given]
    return own, given[0][4]


def sum_with(factor, bias):
    """Return a slip: the sum of all terms, times a factor, and b2, times another.

    factor, bias: number of ranks -> the factor.
    """

    def slip(given, rank):
        own, b2 = terms(given)
        return factor(len(own)) * sum(own) + bias(len(own)) * b2

    return slip


SUMS = result_if(
    {
        "every rank adds b2 before the sum": sum_with(lambda p: 1, lambda p: p),
        "b2 is missing": sum_with(lambda p: 1, lambda p: 0),
        "the ranks' terms are averaged, and not added up": sum_with(
            lambda p: 1 / p, lambda p: 1
        ),
        "a rank has only its own term, with b2": lambda given, rank: (
            terms(given)[0][rank] + terms(given)[1]
        ),
        "the ranks' products with `w2`, of which each is one term of a sum, are put "
        "one after the other, and not added up": lambda given, rank: (
            np.concatenate(terms(given)[0]) + terms(given)[1]
        ),
        "the ranks' products with `w2`, of which each is one term of a sum, are kept "
        "apart, and not added up": lambda given, rank: (
            np.stack(terms(given)[0]) + terms(given)[1]
        ),
        "a rank has only its own term, without b2": lambda given, rank: terms(given)[0][
            rank
        ],
    }
)


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


def update_with(update):
    """Return a slip: another update of a rank's shards.

    update: weights, momentum, the shard of the mean gradient, that of this rank's own
    gradient, the number of ranks, the rate -> new weights and momentum.
    """

    def slip(given, rank):
        p, rate = len(given), given[0][3]
        flat = (mean_gradient(given, ranks) for ranks in (range(p), [rank]))
        mean, own = (np.split(each, p)[rank] for each in flat)
        return list(update(*given[rank][0], mean, own, p, rate))

    return slip


def momentum_step(weights, momentum, gradient, rate):
    """Return the weights and the momentum after a step."""
    new = MOMENTUM * momentum + gradient
    return weights - rate * new, new


UPDATES = result_if(
    {
        "the ranks' gradients are added up, where their mean is needed": update_with(
            lambda w, v, mean, own, p, rate: momentum_step(w, v, p * mean, rate)
        ),
        "only this rank's rows have an effect": update_with(
            lambda w, v, mean, own, p, rate: momentum_step(w, v, own, rate)
        ),
        "the momentum is neither used nor changed": update_with(
            lambda w, v, mean, own, p, rate: (w - rate * mean, v)
        ),
        "the weights move by the old momentum": update_with(
            lambda w, v, mean, own, p, rate: (w - rate * v, MOMENTUM * v + mean)
        ),
    }
)


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
