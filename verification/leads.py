"""What the verdicts on wrong answers lead to: one line of JSON for each answer.

python -m verification.leads 21_tensor_cores 22_hopper_gemm prints for each wrong answer
the kind of its verdict, the first line that it names, whether that is in the learner's
own cell, and whether the verdict says more than which value is wrong.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from verification.cells import checks, run, scope_of
from verification.corpus import ROOT, answers, under_magic

UNSAID = re.compile(
    r"`weft\.explore\(\w+\)` shows [^.]*\.|[\d,]+ threads have stored to [^.]*\."
)


def leads(path: Path) -> dict[str, Any]:
    """Return the verdict on one answer, and what in it leads to the mistake."""
    lab, exercise = path.parts[-4], path.parts[-2]
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        source = source.split("\n", 1)[1]
    scope = scope_of(lab)
    cell = f"<{lab}/{exercise}/{path.stem}>"
    run(under_magic(path, source), cell, scope)
    verdict = run(checks(lab)[exercise], "<check>", scope)
    first = verdict.places[0][0] if verdict.places else None
    said = UNSAID.sub("", verdict.explanation).strip()
    return {
        "answer": f"{lab}/{exercise}/{path.stem}",
        "kind": verdict.kind,
        "line": first.line if first else None,
        "own": bool(first) and first.file in ("", cell),
        "lead": verdict.kind != "wrong-value" or bool(said),
        "text": str(verdict),
    }


def main(labs: list[str]) -> None:
    """Print a line on each wrong answer of these labs; count those without a lead."""
    os.environ.pop("WEFT_STRICT", None)
    found = []
    for path in (p for lab in labs for p in answers(lab) if p.name.startswith("wrong")):
        found.append(leads(path))
        print(json.dumps(found[-1]), flush=True)
    without = sum(not one["lead"] for one in found)
    print(f"{without} of {len(found)} without a lead", file=sys.stderr)


if __name__ == "__main__":
    import weft  # noqa: F401  before Numba

    os.chdir(ROOT)
    main(sys.argv[1:])
