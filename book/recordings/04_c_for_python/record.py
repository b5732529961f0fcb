"""Run the programs beside this file and write down what is said.

python record.py, on a machine with gcc, gdb and NumPy; none of it needs a GPU. A
recording begins with lines that say what made it. The folder's name and the number of
the process are cut; nothing else is changed. NumPy gets one thread, like the loops.
"""

import datetime
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

import shell  # noqa: E402

from weft.device import cpu  # noqa: E402


def run(command: str, folder: Path) -> str:
    """Return what a command says, without the number of its process."""
    text = shell.run(command, folder, OMP_NUM_THREADS="1")
    return re.sub(r"==\d+==", "==1234==", re.sub(r"\(process \d+\)", "", text))


def facts(folder: Path) -> str:
    gdb = run("gdb --version", folder).splitlines()[0].rsplit(" ", 1)[-1]
    versions = " ".join(" ".join(pair) for pair in cpu.versions().items())
    python = ".".join(map(str, sys.version_info[:3]))
    today = datetime.date.today().isoformat()
    return f"# {cpu.name()}, {today}\n# {versions}, gdb {gdb}, Python {python}\n"


def main() -> None:
    with shell.copied(HERE, ".c", ".gdb", ".py") as folder:
        about = facts(folder)

        def record(file: str, *commands: str, show: str = "") -> None:
            for command in commands[:-1]:
                run(command, folder)
            said = run(commands[-1], folder)
            shown = "".join(f"$ {c}\n" for c in (*commands[:-1], show or commands[-1]))
            (HERE / file).write_text(shown + about + said)

        record(
            "largest.gdb.txt",
            "gcc -Wall -g largest.c -o largest",
            "gdb -q -batch -x largest.gdb ./largest",
        )
        record(
            "beyond.txt",
            "gcc -Wall -g -fsanitize=address beyond.c -o beyond",
            "./beyond 2>&1 | sed '/^SUMMARY/q'",
            show="./beyond",
        )
        record("beyond.plain.txt", "gcc -Wall beyond.c -o beyond", "./beyond")
        record(
            "loops.txt",
            "gcc -O0 -fPIC -shared sums.c -o libsums0.so",
            "gcc -O2 -fPIC -shared sums.c -o libsums2.so",
            f"{sys.executable} loops.py",
            show="python loops.py",
        )


if __name__ == "__main__":
    main()
