# verdict: wrong-value
# Round the sums to float16 before the bias is added.
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
        live = (row < M) & (across < K)
        left = tl.load(x + row * K + across, mask=live, other=0.0)
        live = (down < K) & (col < N)
        right = tl.load(w + col * K + down, mask=live, other=0.0)
        acc = tl.dot(left, right, acc)

    b = tl.load(bias + col, mask=col < N, other=0.0).to(tl.float32)
    acc = tl.maximum(acc.to(tl.float16) + b.to(tl.float16), 0.0)
    live = (row < M) & (col < N)
    tl.store(out + row * N + col, acc.to(out.dtype.element_ty), mask=live)
