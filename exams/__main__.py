"""Make exam sheets: python -m exams 09 13 --students class.txt --course spring-2027."""

import argparse
import re
import sys
from pathlib import Path

from .questions import ExamError, questions
from .sheets import Sheet, page, sheet, table

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Write the sheets and their key; return 0, or 1 with an error on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m exams",
        description="Exam sheets from the wrong kernels of the labs: which verdict, "
        "which line, and how to fix it. Each student gets other questions.",
    )
    parser.add_argument("labs", nargs="+", help="09, or 09_atomics; one or several")
    parser.add_argument(
        "--students", type=Path, required=True, help="a text file with a name per line"
    )
    parser.add_argument(
        "--course", required=True, help="the title; other courses get other questions"
    )
    parser.add_argument("--questions", type=int, default=4, help="per sheet (4)")
    parser.add_argument(
        "--right", type=int, default=1, help="kernels among them that pass (1)"
    )
    parser.add_argument("--out", type=Path, default=Path("_build/exam"))
    options = parser.parse_args(arguments)
    try:
        students = names(options.students)
        pool = [q for lab in options.labs for q in questions(ROOT, stem(lab))]
        sheets = [
            sheet(pool, name, options.course, options.questions, options.right)
            for name in students
        ]
    except ExamError as error:
        print(error, file=sys.stderr)
        return 1
    write(options.out, sheets, options.course)
    print(f"{len(sheets)} sheets and their key: {options.out}")
    return 0


def names(path: Path) -> list[str]:
    """Return the students' names in a file. Raises ExamError for none, or one twice."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExamError(f"{path} cannot be read as text: {error}") from error
    found = [line.strip() for line in lines if line.strip()]
    twice = {name for name in found if found.count(name) > 1}
    if twice or not found:
        wrong = f"{', '.join(sorted(twice))} twice" if twice else "no names"
        raise ExamError(f"{path} has {wrong}; write one student per line")
    return found


def stem(lab: str) -> str:
    """Return the full name of a lab, given in full or by its two digits."""
    found = [path.stem for path in sorted((ROOT / "labs").glob("*.ipynb"))]
    fitting = [name for name in found if lab in (name, name[:2])]
    if len(fitting) != 1:
        raise ExamError(f"there is no lab {lab}; there are {', '.join(found)}")
    return fitting[0]


def write(out: Path, sheets: list[Sheet], course: str) -> None:
    """Write each student's sheet, all sheets as one page, and the key."""
    own = out / "students"
    own.mkdir(parents=True, exist_ok=True)
    (out / "sheets.html").write_text(page("sheets.html", sheets, course), "utf-8")
    (out / "key.html").write_text(page("key.html", sheets, course), "utf-8")
    (out / "key.csv").write_text(table(sheets), "utf-8")
    for n, one in enumerate(sheets, 1):
        name = re.sub(r"[^\w-]+", "-", one.student)
        (own / f"{n:03}-{name}.html").write_text(
            page("sheets.html", [one], course), "utf-8"
        )


if __name__ == "__main__":
    sys.exit(main())
