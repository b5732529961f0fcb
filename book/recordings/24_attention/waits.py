"""Count where the compiler puts the exponentials of chapter 24's kernel, write a table.

python waits.py [--out FOLDER], on a machine with a Hopper GPU, Numba and PyTorch. In
the loop over tiles of keys, one wait leaves a group of products in flight, those of the
values. The table counts the exponentials between this wait and the next, and all those
after the first.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import facts, lab  # noqa: E402

LOOP = "WARPGROUP.DEPBAR.LE gsb0, 0x1"
ROWS = {"weights after the wait": 0, "weights before the wait": 1}


def counted(before_wait: int) -> tuple[int, int]:
    """Return the exponentials between the waits, and after the first."""
    q, k, v = of.normal(3, 1, 256)
    mine = of.Attention(q, k, v, False, keys=128, BEFORE_WAIT=before_wait)
    mine.forward()
    (code,) = mine.kernel.inspect_sass().values()
    _, after = code.split(LOOP)
    between = after.split("WARPGROUP.DEPBAR")[0]
    return between.count("MUFU.EX2"), after.count("MUFU.EX2")


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    of = lab("24_attention", "normal", "Attention")
    text = "$ python3 waits.py\n" + facts(ncu=False)
    text += f"\n{'exponentials':26}{'between':>9}{'in all':>8}\n"
    for name, before_wait in ROWS.items():
        between, after = counted(before_wait)
        text += f"{name:26}{between:>9}{after:>8}\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "waits.txt").write_text(text, encoding="utf-8")
