"""Specifications, inputs and explanations for the checks of lab 25."""

import numpy as np
import torch

from weft.checking.slips import result_if
from weft.libraries import cublasLt
from weft.libraries.cublas import Operation

N, T = Operation.N, Operation.T
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
        self.runs, self.calls = [0] * len(times), 0

    def __call__(self, i):
        """Run algorithm `i` once and return its milliseconds."""
        if i in self.refuse:
            raise cublasLt.cuBLASLtError(15, "cublasLtMatmul")
        self.calls += 1
        self.runs[i] += 1
        ms = self.times[i] * (1 + 0.004 * min(self.calls, 400))
        if self.runs[i] == 1:
            ms += self.cold[i]
        return ms * (4 if (i, self.runs[i]) in self.slow else 1)

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
    if run.runs[best] == 1:
        return f"{text} It was run once, and the first run loads the kernel."
    if any(i == best for i, _ in run.slow):
        return f"{text} One of its runs was slow, by chance."
    return f"{text} When was each of them run, and how fast was the clock then?"


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
