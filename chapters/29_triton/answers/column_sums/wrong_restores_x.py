# verdict: tuning
# Restore x, which no program changes.
@triton.autotune(
    [triton.Config({"ROWS": rows, "COLS": 32}) for rows in (16, 64)],
    key=["rows", "cols"],
    restore_value=["x"],
)
@triton.jit
def column_sums(x, out, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    i = tl.program_id(1) * COLS + tl.arange(0, COLS)
    col = i[None, :]
    block = tl.load(x + row * cols + col, mask=(row < rows) & (col < cols), other=0.0)
    tl.atomic_add(out + i, tl.sum(block, axis=0), mask=i < cols)
