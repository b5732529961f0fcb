"""Specifications, inputs and explanations for the checks of lab 25."""

import itertools

import numpy as np
import torch

from weft.checking.slips import result_if
from weft.libraries import cublasLt
from weft.libraries.cublas import Operation

N, T = Operation.N, Operation.T
MOST = 20  # runs of an algorithm
ROOM = 1 << 20  # bytes of workspace


def packed(x):
    """Return a matrix as it is read without the gaps between its rows."""
    return torch.as_strided(x, x.shape, (x.shape[1], 1)).double()


LINEAR = result_if(
    {
        "rows of w are read without the gaps between them": lambda x, w, y: (
            x.double() @ packed(w).T
        ),
        "rows of x are read without the gaps between them": lambda x, w, y: (
            packed(x) @ w.double().T
        ),
    }
)


def for_binding(rng, m, n, k):
    """Return A, B and C column by column, with gaps of 1, 2 and 3."""
    shapes = (k, m + 1), (k, n + 2), (n, m + 3)
    return tuple(rng.standard_normal(s).astype(np.float32) for s in shapes)


def all_arguments(on, a, b, c):
    """Return the arguments of one call: C = 2 A Bᵀ + C, column by column."""
    (k, lda), ldb, (n, ldc) = a.shape, b.shape[1], c.shape
    head = (on.library, on.handle, N, T, lda - 1, n, k, 2.0)
    return (*head, a.data_ptr(), lda, b.data_ptr(), ldb, 1.0, c.data_ptr(), ldc)


def by_columns(a, b, c):
    """Return what C's memory holds after C = 2 A Bᵀ + C."""
    c = c.copy()
    c[:, :-3] += 2 * (b[:, :-2].T @ a[:, :-1])
    return c


def part(rng, rows, cols, pad, dtype=torch.float32):
    """Return a matrix whose rows are `pad` elements apart."""
    whole = rng.standard_normal((rows, cols + pad)).astype(np.float32)
    return torch.from_numpy(whole).to(dtype)[:, :cols]


def result(rows, cols, pad=0, dtype=torch.float32):
    """Return a matrix that has not been written yet."""
    return torch.full((rows, cols + pad), torch.nan, dtype=dtype)[:, :cols]


def three(rng, m, n, k, pad):
    """Return a, b and the place for a @ b."""
    a, b = part(rng, m, k, pad), part(rng, k, n, 2 * pad)
    return a, b, result(m, n, 3 * pad)


def layer(rng, m, n, k, pad=0):
    """Return activations, weights and the place for the result."""
    x = part(rng, m, k, pad, torch.bfloat16)
    w = part(rng, n, k, 2 * pad, torch.bfloat16)
    return x, w, result(m, n, 3 * pad)


def attention(rng, heads, m, n, d):
    """Return queries, shared keys and the place for the scores."""
    q = rng.standard_normal((heads, m, d)).astype(np.float32)
    s = torch.full((heads, m, n), torch.nan, dtype=torch.bfloat16)
    return torch.from_numpy(q).bfloat16(), part(rng, n, d, 0, torch.bfloat16), s


def scaled(q, k, s):
    """Return the scores in double precision."""
    return q @ k.T / q.shape[-1] ** 0.5


def biased(rng, m, n, k):
    """Return activations, weights, bias and the place for the result."""
    x, w, _ = layer(rng, m, n, k)
    bias = torch.from_numpy(rng.standard_normal(n).astype(np.float32)).bfloat16()
    return x, w, bias, result(m, n, 0, torch.bfloat16)


def gelu(x):
    """Return GELU of x, by the formula with tanh."""
    return x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2


def all_of_it(on, x, w, bias, y):
    """Return the arguments of the layer."""
    return on.light_handle, on.stream, x, w, bias, y, on.workspace(ROOM)


class Clocked:
    """Algorithms on a GPU that gets slower while it is used."""

    def __init__(self, times, cold, slow=(), refuse=()):
        self.times, self.cold, self.slow, self.refuse = (
            times,
            cold,
            slow,
            refuse,
        )
        self.start_again()

    def start_again(self):
        """Forget all runs."""
        self.runs, self.calls = [0] * len(self.times), 0
        self.took = [[] for _ in self.times]  # milliseconds of each run
        self.order = []  # the algorithms, as they were run

    def __call__(self, i):
        """Run algorithm `i` once and return its milliseconds."""
        if i in self.refuse:
            raise cublasLt.cuBLASLtError(15, "cublasLtMatmul")
        if self.runs[i] == MOST:
            self.start_again()
            raise RuntimeError(f"algorithm {i} has been run {MOST} times, and again")
        self.calls += 1
        self.runs[i] += 1
        ms = self.times[i] * (1 + 0.004 * min(self.calls, 400))
        if self.runs[i] == 1:
            ms += self.cold[i]
        ms *= 4 if (i, self.runs[i]) in self.slow else 1
        self.took[i].append(ms)
        self.order.append(i)
        return ms

    def __repr__(self):
        return f"<{len(self.times)} algorithms>"


def clocks(rng):
    """Return GPUs with algorithms to choose from."""
    yield Clocked([0.20, 0.17, 0.19], [1, 1, 1]), 3
    yield Clocked([0.100, 0.098, 0.096], [1, 2, 3]), 3
    yield Clocked([0.30, 0.28, 0.26], [1, 1, 3], slow={(2, 2)}), 3
    yield Clocked([0.30, 0.26, 0.28], [1, 1, 1], slow={(1, 3), (1, 4)}), 3
    yield Clocked([0.30, 0.10, 0.28, 0.20], [1] * 4, refuse={1}), 4
    yield Clocked([0.30, 0.31, 0.40], [5, 1, 1], slow={(0, 2)}), 3
    order = rng.permutation(5)
    yield Clocked([0.1 + 0.004 * int(i) for i in order], [1] * 5), 5


def really_fastest(run, count):
    """Return the number of the fastest algorithm, of those that run."""
    runs = [i for i in range(count) if i not in run.refuse]
    return min(runs, key=lambda i: run.times[i])


def why_slower(run, count, got):
    """Return why an algorithm is not the one to choose. Its runs are then forgotten."""
    text = told(run, count, got)
    run.start_again()
    return text


def told(run, count, got):
    """Return why an algorithm is not the one to choose."""
    if not isinstance(got, int):
        return "The number of an algorithm is an integer."
    if not 0 <= got < count:
        return f"The algorithms are numbered 0 to {count - 1}."
    if got in run.refuse:
        return f"Algorithm {got} refuses to run."
    best = really_fastest(run, count)
    mine, other = run.times[got], run.times[best]
    text = (
        f"Algorithm {got} takes {mine:g} ms and algorithm {best} {other:g} ms, "
        "both at the same clock."
    )
    if run.runs[best] == 0:
        return f"{text} Algorithm {best} was never run."
    few = [i for i in (best, got) if run.runs[i] == 1]
    if few and max(run.runs) > 1:
        return f"{text} Algorithm {few[0]} was run once, and others more often."
    if few:
        return f"{text} It was run once, and the first run loads the kernel."
    return f"{text} {chosen_by(run, got, best)}"


def chosen_by(run, got, best):
    """Return by which of its runs the wrong algorithm may have been chosen."""
    ran = [i for i in range(len(run.times)) if run.took[i]]
    if got < len(ran) and ran[got] == best and len(ran) < len(run.times):
        return f"{best} is number {got} among those that run: a place in your list."
    if in_blocks(run.order):
        return "When was each of them run, and how fast was the clock then?"
    after = [run.took[i][1:] for i in ran]
    means = {"mean": np.mean, "sum": np.sum, "largest": np.max}
    whole = {
        name: ran[int(np.argmin([f(run.took[i]) for i in ran]))]
        for name, f in means.items()
    }
    later = {
        name: ran[int(np.argmin([f(x) for x in after]))]
        for name, f in means.items()
        if all(after)
    }
    if got == whole["sum"] and later.get("sum") == best:
        return "The first run of each loads the kernel. Does it count in your choice?"
    if got == whole["largest"] and whole["mean"] != got:
        return "By its slowest run it is the fastest: what does one slow run tell?"
    if any(i == best for i, _ in run.slow):
        return "One of its runs was slow, by chance."
    if got == whole["sum"]:
        return "The first run of each loads the kernel. Does it count in your choice?"
    if got in ran and got == max(ran, key=lambda i: np.median(run.took[i])):
        return f"Algorithm {got} is the slowest of all."
    return "By which of its runs was each of them judged?"


def in_blocks(order):
    """Return whether all runs of an algorithm came one after another, after the first.

    A first run that only loads a kernel does not count.
    """
    seen, later = set(), []
    for i in order:
        if i in seen:
            later.append(i)
        seen.add(i)
    changes = sum(a != b for a, b in itertools.pairwise(later))
    return len(later) > len(set(later)) > 1 and changes < len(set(later))


def by_hand(after, extra=True):
    """Return what `after` makes of x @ w.T + bias, or of x @ w.T."""

    def spec(x, w, bias, y):
        total = (x.double() @ w.double().T).numpy()
        return after(total + bias.double().numpy() * extra)

    return spec


EPILOGUES = result_if(
    {
        "the bias is left out": by_hand(gelu, extra=False),
        "the epilogue is ReLU": by_hand(lambda total: np.maximum(total, 0)),
        "the epilogue adds the bias alone": by_hand(lambda total: total),
        "nothing is done after the product": by_hand(lambda total: total, extra=False),
    },
    tolerance=1e-2,
)
SCALES = result_if(
    {
        "the scores are not scaled": lambda q, k, s: (
            scaled(q.double().numpy(), k.double().numpy(), s) * q.shape[2] ** 0.5
        ),
        "the scores are divided by d": lambda q, k, s: (
            scaled(q.double().numpy(), k.double().numpy(), s) / q.shape[2] ** 0.5
        ),
    },
    tolerance=1e-2,
)


# Codes and scales


def with_scale(x, most, nearest=np.rint, largest=127, zero=1):
    """Return codes and scales; most: the largest magnitudes, one per row."""
    scales = np.where(most > 0, most / largest, zero)
    codes = nearest(x / np.where(scales > 0, scales, 1)[:, None])
    wrapped = codes.astype(np.int32).astype(np.int8)  # as on a GPU
    return wrapped, scales.astype(np.float32)


def coded(x):
    """Return the codes and the scale of each row of x."""
    return with_scale(x, np.abs(x).max(axis=1))


def rows_of_all_sizes(rng, rows, cols):
    """Return rows of different sizes, row 1 all zeros, whose codes are no ties.

    The largest magnitude of a row is at a random column. It belongs to a negative
    number in every other row.
    """
    shape, row = (rows, cols), np.arange(rows)
    codes = rng.integers(-126, 127, shape) + rng.uniform(-0.48, 0.48, shape)
    codes[row, rng.integers(0, cols, rows)] = np.where(row % 2, 127, -127)
    x = codes * 2.0 ** rng.uniform(-8, 8, (rows, 1))
    x[1:2] = 0
    return (x.astype(np.float32),)


def half_up(x):
    """Round as int(x + 0.5) does."""
    return np.trunc(x + 0.5)


def uncombined(x):
    """Return codes and scales if each of 256 threads takes its own columns alone."""
    most = np.zeros((len(x), max(256, x.shape[1])))
    for t in range(256):
        own = np.abs(x[:, t::256]).max(axis=1, initial=0)
        most[:, t::256] = own[:, None]
    scales = np.where(most > 0, most / 127, 1)
    codes = np.rint(x / scales[:, : x.shape[1]]).astype(np.int8)
    return codes, scales[:, 0].astype(np.float32)


def multiplied(x):
    """Return codes that are elements times the scale."""
    _, scales = coded(x)
    return np.rint(x * scales[:, None]).astype(np.int32).astype(np.int8), scales


OTHER_CODES = result_if(
    {
        "the threads' largest magnitudes are not combined": uncombined,
        "elements are multiplied by the scale": multiplied,
        "the largest element of a row is taken with its sign": lambda x: with_scale(
            x, x.max(axis=1)
        ),
        "quotients are cut off instead of rounded": lambda x: with_scale(
            x, np.abs(x).max(axis=1), np.trunc
        ),
        "0.5 is added to a quotient, and the sum cut off": lambda x: with_scale(
            x, np.abs(x).max(axis=1), half_up
        ),
        "the largest magnitude gets the code 128": lambda x: with_scale(
            x, np.abs(x).max(axis=1), largest=128
        ),
        "a row of zeros has the scale 0": lambda x: with_scale(
            x, np.abs(x).max(axis=1), zero=0
        ),
        "all rows have the scale of the whole matrix": lambda x: with_scale(
            x, np.full(len(x), np.abs(x).max())
        ),
    }
)


def why_other_codes(x, codes, scales):
    """Say what wrong codes or scales are the result of."""
    return OTHER_CODES(x, codes, scales)
