# verdict: program
# Transpose the pointer.
@triton.jit
def linear(
    x, w, bias, out, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    col = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]

    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        across = start + tl.arange(0, BK)[None, :]
        down = start + tl.arange(0, BK)[:, None]
        left = tl.load(x + row * K + across, mask=(row < M) & (across < K), other=0.0)
        right = tl.load(w.T + col * K + down, mask=(down < K) & (col < N), other=0.0)
        acc = tl.dot(left, right, acc)

    acc += tl.load(bias + col, mask=col < N)
    acc = tl.maximum(acc, 0.0)
    tl.store(
        out + row * N + col, acc.to(out.dtype.element_ty), mask=(row < M) & (col < N)
    )
