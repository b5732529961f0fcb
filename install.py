"""Make .venv and install the pinned packages that fit this machine.

    python3 install.py           what a learner needs: requirements-learner.txt
    python3 install.py --dev     requirements.txt and -dev.txt: for authors and tests
    python3 install.py --repair  compare every file with its hash; repair what differs
    python3 install.py --pins    resolve the requirements afresh; write constraints.txt

A second run finds its own record in .venv and does nothing. Standard library only.
The work is done in `installing`; this file can be read by any Python from 2.7 on, so
that an unsuitable one can be told so.
"""

import sys

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
UNSUITABLE = """\
Warp & Weft needs Python 3.11, 3.12, 3.13 or 3.14; {0} is Python {1}.{2}.
Debian 12 and Ubuntu 24.04, and later ones, bring one: sudo apt install python3
On Windows: wsl --install
Where there is another Python, name it: make lab PYTHON=python3.12
"""


def main(arguments):
    version = sys.version_info[:2]
    if version not in PYTHONS:
        sys.stderr.write("\n" + UNSUITABLE.format(sys.executable, *version))
        return 1
    if sys.platform == "win32":
        sys.stderr.write("\nOn Windows, use WSL 2: wsl --install\n")
        return 1

    from installing import command

    return command.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
