# verdict: wrong-value
# COLS is the distance between rows of x.
@triton.autotune(
    [triton.Config({"ROWS": rows, "COLS": 32}) for rows in (16, 64)],
    key=["rows", "cols"],
    reset_to_zero=["out"],
)
@triton.jit
def column_sums(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    live = (row < rows) & (col[None, :] < cols)
    block = tl.load(x + row * COLS + col[None, :], mask=live, other=0.0)  # <- here
    tl.atomic_add(out + col, tl.sum(block, axis=0), mask=col < cols)
