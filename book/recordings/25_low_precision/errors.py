"""Write down the errors of products in few bits: python errors.py.

It needs no GPU. Codes and scales are those of formats.py; their products are added up
in float64, so all of the error comes from the codes.
"""

import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import formats  # noqa: E402
from formats import GROUP, ROW, SQUARE, TENSOR  # noqa: E402

COMMAND = "$ python3 errors.py\n"
NOTE = "# root mean square beside float64, in % of the size of each row\n"
M, N, K = 512, 512, 4096
E4M3, E5M2, INT8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.int8
DATA = {"normal": (1, 1), "columns x 40": (40, 1), "rows to 2^20": (1, 2**20)}

# name: type, block of the activations, block of the weights
BOTH = {
    "e4m3 per tensor": (E4M3, TENSOR, TENSOR),
    "e4m3 per row": (E4M3, ROW, ROW),
    "e4m3 per 1 x 128, 128 x 128": (E4M3, GROUP, SQUARE),
    "e5m2 per tensor": (E5M2, TENSOR, TENSOR),
    "int8 per tensor": (INT8, TENSOR, TENSOR),
    "int8 per row": (INT8, ROW, ROW),
    "int8 per 1 x 128": (INT8, GROUP, GROUP),
}


def of_both() -> list[str]:
    """Return the lines of a table: both operands in few bits, several activations."""
    w = formats.weights(N, K)
    found: dict[str, list[float]] = {name: [] for name in ("bf16", *BOTH)}
    for columns, rows in DATA.values():
        x = formats.activations(M, K, columns, rows)
        wanted = x.double() @ w.double().t()
        found["bf16"].append(formats.error(wanted.bfloat16(), wanted))
        for name, (kind, of_x, of_w) in BOTH.items():
            by = formats.rounded(w, kind, of_w).t()
            got = formats.rounded(x, kind, of_x) @ by
            found[name].append(formats.error(got, wanted))
    head = f"{'both operands':30}" + "".join(f"{name:>15}" for name in DATA)
    return [
        head,
        *(
            f"{name:30}" + "".join(f"{error:15.2f}" for error in errors)
            for name, errors in found.items()
        ),
    ]


def of_weights() -> list[str]:
    """Return the lines of a table: only the weights in few bits."""
    w, x = formats.weights(N, K), formats.activations(M, K).double()
    wanted = x @ w.double().t()
    made = {
        "e4m3 per row": (8, formats.rounded(w, E4M3, ROW)),
        "int8 per row": (8, formats.rounded(w, INT8, ROW)),
        "int4 per row": (4, formats.rounded(w, INT8, ROW, 7)),
        "int4 per 1 x 128": (4.25, formats.rounded(w, INT8, GROUP, 7)),
        "bf16, 2 of 4 kept": (9, formats.pruned(w).double()),
    }
    return [
        f"{'weights only':30}{'bits':>15}{'error':>15}",
        *(
            f"{name:30}{bits:15g}{formats.error(x @ other.t(), wanted):15.2f}"
            for name, (bits, other) in made.items()
        ),
    ]


if __name__ == "__main__":
    tables = "\n\n".join("\n".join(lines) for lines in (of_both(), of_weights()))
    (HERE / "errors.txt").write_text(f"{COMMAND}{NOTE}\n{tables}\n", encoding="utf-8")
