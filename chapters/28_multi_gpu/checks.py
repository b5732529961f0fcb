"""Specifications and data for the checks of lab 28."""

import ast
import itertools
import math

import numpy as np

from weft.checking.slips import result_if
from weft.checking.source import at_line, tree_of
from weft.ranks.words import ranks_named

COLLECTIVES = (
    *("all_reduce", "broadcast"),
    *("all_gather_into_tensor", "reduce_scatter_tensor"),
)


def shifted(given):
    """Return, for every rank, the first argument of the rank before it in the ring."""
    return [given[rank - 1][0] for rank in range(len(given))]


def vectors_and_room(rng, size, n):
    """Return, for every rank, a tensor of n rows, and zeros for another."""
    f32 = np.float32
    return [
        (rng.standard_normal((n, 2)).astype(f32), np.zeros((n, 2), f32))
        for _ in range(size)
    ]


def received_from(given, rank, got):
    """Say whose x a rank has instead of that of the rank before it, or ""."""
    before = (rank - 1) % len(given)
    found = [other for other, (x, _) in enumerate(given) if np.array_equal(x, got)]
    if len(found) != 1 or before in found:
        return ""
    (source,) = found
    whose = "its own x" if source == rank else f"rank {source}'s x"
    said = f"`out` on rank {rank} has {whose}, and should have rank {before}'s."
    if source == (rank + 1) % len(given):
        said += (
            f" Rank {source} is the next rank. With 2 ranks, the next rank and the "
            "previous rank are the same."
        )
    return said


def summed(given):
    """Return, for every rank, the sum of all ranks' first arguments."""
    return [sum(own[0] for own in given)] * len(given)


def vectors(rng, size, n):
    """Return a vector of n numbers for every rank."""
    return [(rng.standard_normal(n).astype(np.float32),) for _ in range(size)]


def shares(values, start, given, tolerance=1e-3):
    """Return how often some values contain each rank's numbers, or None if unknown.

    start: the first of the elements of the vectors that the values belong to. Values
    without any rank's numbers are unknown, too.
    """
    own = np.stack([vector[start : start + len(values)] for (vector,) in given])
    for counts in itertools.product(range(4), repeat=len(given)):
        if not len(values) or not any(counts):
            continue
        if np.allclose(np.array(counts) @ own, values, atol=tolerance):
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


def weighed(values, given):
    """Return how often a whole vector contains each rank's numbers, or None if unknown.

    It is unknown if there are fewer elements than ranks.
    """
    own = np.stack([vector for (vector,) in given]).astype(np.float64)
    values = np.asarray(values, np.float64).ravel()
    p, n = own.shape
    if n < p or len(values) != n or not np.isfinite(values).all():
        return None
    counts = np.rint(np.linalg.lstsq(own.T, values, rcond=None)[0])
    if counts.min() < 0 or not np.allclose(counts @ own, values, atol=1e-3):
        return None
    return tuple(int(count) for count in counts)


def numbers(counts):
    """Name the numbers that a sum contains, as in 'the numbers of ranks 0 and 1'."""
    return f"the numbers {held(counts)}"


def along(given, rank, got, *, world):
    """Return what the messages of a tree show about a rank's wrong result, or "".

    With the cause come the lines of the messages that it names.
    """
    p, end = len(given), weighed(got, given)
    sends = [work for work in world.works if work.sends]
    sums = {id(work): weighed(work.kept, given) for work in sends}
    if end is None or None in sums.values():
        return ""
    order = {id(work): number for number, work in enumerate(world.works)}

    def coming(to, before=math.inf):
        """Return the sends of the messages that a rank has begun to receive."""
        return [
            work.other
            for work in world.works
            if work.receives and work.rank == to and order[id(work)] < before
        ]

    def lines(*works):
        """Return the line of each side, with the ranks."""
        notes = {}
        for work in works:
            way = ("to", work.peers[0]) if work.sends else ("from", work.peers[0])
            said = "sends" if work.sends else "receives"
            notes.setdefault(work.place, f"rank {work.rank} {said} {way[0]} {way[1]}")
        return list(notes.items())

    comes = coming(rank)
    if not comes:
        return ""
    if max(end) > 1:
        return twice(rank, end, comes, sums, lines, coming, order)
    last = comes[-1]
    came, sender = sums[id(last)], last.rank
    if end == came and not end[rank]:
        return (
            f"At the end, rank {rank} has exactly what it has received from rank "
            f"{sender}: {numbers(came)}, without its own. When are these added?",
            lines(last.other),
        )
    missing = [other for other in range(p) if not end[other] and other != rank]
    silent = [r for r in missing if all(work.rank != r for work in sends)]
    if silent:
        nothing = "sends" if len(silent) == 1 else "send"
        return (
            f"Rank {rank} never gets the numbers of {ranks_named(silent)}, which "
            f"{nothing} nothing. How many levels does a tree of {p} ranks need?"
        )
    later = [
        work
        for work in coming(sender)
        if order[id(work.other)] > order[id(last)] and min(sums[id(work)]) > 0
    ]
    if end == came and later:
        return (
            f"Rank {rank} ends with what rank {sender} sends it, which has only "
            f"{numbers(came)}. Rank {sender} receives the complete sum only after "
            f"that, from rank {later[0].rank}. In which order do the messages have to "
            "go down?",
            lines(last, later[0].other),
        )
    for work in comes:
        lost = [r for r in missing if sums[id(work)][r]]
        if lost:
            return (
                f"Rank {rank} receives the numbers of {ranks_named(lost)} from rank "
                f"{work.rank}, and does not have them at the end. What happens there "
                "to what has arrived?",
                lines(work.other),
            )
    if end == came:
        return (
            f"Rank {rank} ends with what rank {sender} sends it, which has only "
            f"{numbers(came)}. What does rank {sender} have to receive before?",
            lines(last),
        )
    return (
        f"At the end, rank {rank} has {numbers(end)} only. No message brings it those "
        f"of {ranks_named(missing)}."
    )


def twice(rank, end, comes, sums, lines, coming, order):
    """Return why a rank has numbers more than once at the end of a tree, with lines."""
    again = [r for r, count in enumerate(end) if count > 1]
    of = f"the numbers of {ranks_named(again)}"
    last = comes[-1]
    if set(sums[id(last)]) == {1}:
        return (
            f"Rank {rank} receives the complete sum from rank {last.rank}, and at the "
            f"end it has {of} more than once. What happens there to what has arrived?",
            lines(last.other),
        )
    one = again[0]
    double = next((work for work in comes if sums[id(work)][one] > 1), None)
    if double is None:
        brought = [work.rank for work in comes if sums[id(work)][one]]
        if not brought:
            return f"At the end, rank {rank} has {of} more than once."
        return (
            f"At the end, rank {rank} has {of} more than once. Those of rank {one} "
            f"come from {ranks_named(brought)}. Which message brings numbers that "
            f"rank {rank} already has?",
            lines(*(work.other for work in comes if sums[id(work)][one])),
        )
    while earlier := [
        work
        for work in coming(double.rank, order[id(double)])
        if sums[id(work)][one] > 1
    ]:
        double = earlier[0]
    return (
        f"Rank {double.rank} sends rank {double.peers[0]} a sum that already has the "
        f"numbers of rank {one} more than once. Which messages have brought these to "
        f"rank {double.rank}?",
        lines(double),
    )


def added_elsewhere(function):
    """Return a sum that makes a new tensor of a part of x, and its line, or None.

    It is the right side of `part = part + arrived`, where another line sets `part` to a
    view.
    """
    tree = tree_of(function)
    views, sums = set(), []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        (target,), value = node.targets, node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = zip(target.elts, value.elts, strict=False)
        for into, part in pairs:
            name = ast.unparse(into)
            match part:
                case ast.Subscript():
                    views.add(name)
                case ast.BinOp(left, ast.Add(), right):
                    if name in (ast.unparse(left), ast.unparse(right)):
                        sums.append((name, ast.unparse(part), node.lineno))
    found = [(said, line) for name, said, line in sums if name in views]
    return found[0] if len(found) == 1 else None


def around(given, rank, got, *, world, function=None):
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
    to = {work.peers for work in own if work.sends}
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
        only_own = sent[1] == tuple(int(other == rank) for other in range(p))
        if step < p - 1 and came[0] != sent[0] and only_own and len(to) == 1:
            have = "has" if sent[0][1] == 1 else "have"
            return (
                f"In step {step + 1}, rank {rank} sends {elements(sent[0])}, which "
                f"{have} only its own numbers. Which chunk has it just received?"
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
        new = added_elsewhere(function)
        added, line = new or ("", 0)
        where = f"`{added}` is a new tensor, outside of x. " * bool(new)
        return (
            f"In step {p - 1}, rank {rank} receives {elements(part)} as the sum of the "
            f"other ranks, but in step {p} it sends {elements(part)} with only the "
            f"numbers {held(counts)}. {where}To which elements is the sum added?",
            [(at_line(function, line), "makes a new tensor")] if new else [],
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
    return left_over(given, rank, got, [*sends, *comes])


def left_over(given, rank, got, messages):
    """Name the elements that are in no message, if exactly these are wrong, or ""."""
    p, n = len(given), len(got)
    sent = {k for (first, count), _ in messages for k in range(first, first + count)}
    left = [k for k in range(n) if k not in sent]
    wrong = np.flatnonzero(~np.isclose(got, summed(given)[rank], atol=1e-3))
    if not left or left != wrong.tolist() or left[-1] - left[0] >= len(left):
        return ""
    name = elements((left[0], len(left)))
    uneven = f": {n} elements cannot be divided evenly among {p} ranks" * bool(n % p)
    do = "does" if len(left) == 1 else "do"
    return (
        f"No message of rank {rank} contains {name}{uneven}. To which chunk {do} "
        f"{name} belong?"
    )


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


def step_from(starts):
    """Return a slip: each weight takes its gradient from here in the flat gradient.

    starts: weights -> an index for each.
    """

    def slip(given, rank):
        weights, _, _, rate = given[0]
        x, y = (np.concatenate([own[k] for own in given]) for k in (1, 2))
        flat = np.concatenate([g.ravel() for g in gradients(weights, x, y)])
        return [
            w - rate * flat[start:][: w.size].reshape(w.shape)
            for w, start in zip(weights, starts(weights), strict=True)
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
        "only this rank's rows count, divided by the number of all rows": (
            step_with(
                lambda rows, rank: [
                    n / sum(rows) * (r == rank) for r, n in enumerate(rows)
                ]
            )
        ),
        "only this rank's rows have an effect": step_with(
            lambda rows, rank: [r == rank for r in range(len(rows))]
        ),
        "every weight is changed by the first numbers of the flat gradient": (
            step_from(lambda weights: [0 for _ in weights])
        ),
        "each part of the flat gradient begins `len(w)` numbers after the one before, "
        "and not as many as `w` has": step_from(
            lambda weights: [0, *itertools.accumulate(map(len, weights[:-1]))]
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


def mlp_with(first, then=lambda y, b2: y + b2, own=lambda z: z):
    """Return a slip: the MLP with another hidden layer or another end.

    first: x @ w1, b1 -> the hidden layer. then: the sum, b2 -> the result. own: the
    product of a rank with w2 -> its term of the sum.
    """

    def slip(given, rank):
        parts = [own(first(x @ w1, b1) @ w2) for x, w1, b1, w2, _ in given]
        return then(sum(parts), given[0][4])

    return slip


def relu(z):
    """Return the larger of z and 0, for each element."""
    return np.maximum(z, 0)


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
        "relu is applied to the sum over the ranks, and not to the hidden layer, "
        "`x @ w1 + b1`": mlp_with(lambda z, b1: z + b1, lambda y, b2: relu(y) + b2),
        "relu is applied to the result, and not to the hidden layer, `x @ w1 + b1`": (
            mlp_with(lambda z, b1: z + b1, lambda y, b2: relu(y + b2))
        ),
        "relu is applied to each rank's product with `w2`, and not to the hidden "
        "layer, `x @ w1 + b1`": mlp_with(lambda z, b1: z + b1, own=relu),
        "relu is missing": mlp_with(lambda z, b1: z + b1),
        "b1 is missing": mlp_with(lambda z, b1: relu(z)),
        "b1 is added after relu": mlp_with(lambda z, b1: relu(z) + b1),
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
