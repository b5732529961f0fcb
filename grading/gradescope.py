"""The grader as an autograder of Gradescope.

    make gradescope LAB=05_first_kernel      the archive to upload

The archive contains the course without answers, `setup.sh` and `run_autograder`; the
latter runs this module, which reads the submission and writes `results.json`. The
folders and the format are Gradescope's:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

import argparse
import json
import shlex
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grading.files import Unreadable, contents, printable, replacing
from grading.paper import Paper
from grading.processes import ROOT
from grading.scoring import Rules
from grading.sitting import Limits, Result, grade, nothing
from weft.errors import LearnerError
from weft.lesson import syllabus

TOTAL = 480  # seconds for a submission; Gradescope has a limit of its own, too
SETUP = """#!/usr/bin/env bash
# Run once, as root, when Gradescope builds the image.
set -e
apt-get update
apt-get install -y gcc g++ gdb make
has() { command -v "$1" && "$1" -c 'import ensurepip'; }
if ! { has python3.13 || has python3.12 || has python3.11; }; then
    apt-get install -y software-properties-common
    apt-get install -y python3.12-venv || {
        add-apt-repository -y ppa:deadsnakes/ppa
        apt-get install -y python3.12-venv
    }
fi
for python in python3.13 python3.12 python3.11; do
    if has "$python"; then break; fi
done
cd /autograder/source/course
VARIANT=cpu "$python" install.py
"""
RUN = """#!/usr/bin/env bash
# Run for each submission.
cd /autograder/source/course
exec .venv/bin/python -m grading.gradescope {lab} /autograder {options}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m grading.gradescope",
        description="Grade a submission on Gradescope, or pack what that takes.",
    )
    add = parser.add_argument
    add("lab", help="such as 05_first_kernel")
    add("folder", nargs="?", type=Path, help="Gradescope's: /autograder")
    add("--pack", type=Path, metavar="ZIP", help="add the two scripts to the course")
    add("--seed", default="", help="other data than the lab's: a word for the course")
    add("--rules", type=Path, metavar="TOML", help="the weights of the exercises")
    given = parser.parse_args(arguments)
    try:
        if given.pack:
            pack(given.pack, given.lab, given.seed, given.rules)
        if given.folder:
            run(given.folder, given.lab, given.seed, given.rules)
    except LearnerError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def pack(archive: Path, lab: str, seed: str, rules: Path | None) -> None:
    """Add the files that make an archive of the course an autograder.

    Raises LearnerError if the lab does not exist or the rules are wrong.
    """
    syllabus.load(lab)
    options = ["--seed", seed] if seed else []
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as file:
        if rules:
            Rules.read(rules)
            options += ["--rules", "../rules.toml"]
            file.write(rules, "rules.toml")
        run = RUN.format(lab=lab, options=shlex.join(options))
        made = {"setup.sh": SETUP, "run_autograder": run}
        for name, text in made.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            file.writestr(entry, text)


def run(folder: Path, lab: str, seed: str, rules: Path | None) -> None:
    """Grade the notebook in `submission/`; write `results/results.json`."""
    paper = Paper(lab, ROOT / "labs" / f"{lab}.ipynb")
    try:
        notebook = contents(_only(folder / "submission"))
        limits = Limits(seed=seed, total=TOTAL, variants=bool(seed))
        result = grade(paper, "", notebook, limits.of(_handed_in_by(folder)))
    except Unreadable as error:
        result = nothing(paper, "", "unreadable", str(error))
    weights = Rules.read(rules).weights if rules else {}
    path = folder / "results" / "results.json"
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as new:
        new.write_text(json.dumps(results(lab, result, weights)), encoding="utf-8")


def _handed_in_by(folder: Path) -> str:
    """Return the email addresses of the submission's owners; "" if they are unknown.

    https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/
    """
    try:
        said = json.loads((folder / "submission_metadata.json").read_text("utf-8"))
        return " ".join(sorted(user["email"] for user in said["users"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _only(folder: Path) -> Path:
    """Return the notebook of a submission. Raises Unreadable if it has not just one."""
    found = sorted(
        path
        for path in folder.rglob("*.ipynb")
        if not any(part.startswith((".", "__")) for part in path.parts)
    )
    if len(found) != 1:
        names = ", ".join(printable(path.name) for path in found) or "none"
        raise Unreadable(f"Hand in one notebook. In this submission there are: {names}")
    return found[0]


def results(lab: str, result: Result, weights: dict[str, float]) -> dict[str, Any]:
    """Return the JSON object for Gradescope: a test per exercise, or the failure."""
    titles = {e.name: e.title for e in syllabus.load(lab).exercises}
    found: dict[str, Any] = {
        "execution_time": round(result.seconds),
        "tests": [
            {
                "name": f"{mark.exercise} ({titles[mark.exercise]})",
                "score": weights.get(mark.exercise, 1) * mark.passed,
                "max_score": weights.get(mark.exercise, 1),
                "status": "passed" if mark.passed else "failed",
                "output": mark.text or mark.kind,
                "visibility": "visible",
            }
            for mark in result.marks
        ],
    }
    return found | ({"output": result.said} if result.said else {})


if __name__ == "__main__":
    sys.exit(main())
