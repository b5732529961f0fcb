"""Write down the errors of products in narrow formats: python errors.py.

It needs no GPU. The measurement is lab 38's, with the functions of its `formats`.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def table() -> str:
    """Return the table of lab 38, without a guess."""
    from weft.chapters import Chapter

    chapter = Chapter("38_after_hopper")
    formats = chapter.formats
    return str(
        chapter.measure.table(
            formats.e2m1, formats.mx_scale, formats.nvfp4_scales, formats.scaled_dot
        )
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("WEFT_SIMULATOR", "1")
    (HERE / "errors.txt").write_text(f"{table()}\n", encoding="utf-8")
