"""Bring the course up to date without losing anything a learner wrote.

    make update

A lab that you edited and that has changed upstream as well is moved to
labs/my_<name>.ipynb first. If the update fails, everything is put back.
"""

import subprocess
import sys
from pathlib import Path

from pipeline.edited import edited

ROOT = Path(__file__).resolve().parent


class UpdateError(Exception):
    """The update did not happen; the text says why. Nothing has changed."""


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UpdateError(f"git {' '.join(arguments)}:\n{done.stderr.strip()}")
    return done.stdout


NO_HISTORY = """\
This folder has no history, because it comes from an archive (ZIP). To update it, clone
the course anew:
    git clone https://github.com/warp-and-weft/warp-and-weft
and copy the labs that you edited, and the folder .weft with your progress, into it."""
NO_UPSTREAM = """\
This branch follows no other, so there is nothing to update from. Go back to the
course's own: git switch main"""
OWN_COMMITS = """\
You have {} commit{} of your own on this branch. Put them onto the new version:
    git pull --rebase
Where both changed the same lab, git stops and lets you choose."""


def has(root: Path, revision: str) -> bool:
    """Return whether Git knows a revision."""
    words = ["git", "rev-parse", "--quiet", "--verify", revision]
    return subprocess.run(words, cwd=root, capture_output=True).returncode == 0


def names(listing: str) -> set[str]:
    return {name for name in listing.split("\0") if name}


def mine(path: Path) -> Path:
    """Return the name for a learner's own copy of a lab; never that of a file."""
    copy, count = path.with_name(f"my_{path.name}"), 1
    while copy.exists():
        count += 1
        copy = path.with_name(f"my_{path.stem}_{count}{path.suffix}")
    return copy


def update(root: Path) -> list[tuple[Path, Path]]:
    """Fast-forward to the upstream branch; return the labs moved as (from, to).

    Raises UpdateError, before anything has changed, where that is impossible.
    """
    if not (root / ".git").exists():
        raise UpdateError(NO_HISTORY)
    if not has(root, "@{u}"):
        raise UpdateError(NO_UPSTREAM)
    git(root, "fetch", "--quiet")
    own = git(root, "rev-list", "--count", "@{u}..HEAD").strip()
    if own != "0":
        raise UpdateError(OWN_COMMITS.format(own, "s" * (own != "1")))
    incoming = names(
        git(root, "diff", "-z", "--name-only", "--no-renames", "HEAD...@{u}", "labs")
    )
    touched = names(git(root, "diff", "-z", "--name-only", "HEAD", "--", "labs"))
    untracked = names(
        git(root, "ls-files", "-z", "--others", "--exclude-standard", "labs")
    )

    moved: list[tuple[Path, Path]] = []
    for name in sorted(incoming & (touched | untracked)):
        path = root / name
        if path.exists():
            moved.append((path, path.rename(mine(path))))
    tracked = sorted(incoming & touched)
    try:
        if tracked:
            git(root, "checkout", "--quiet", "HEAD", "--", *tracked)
        git(root, "merge", "--quiet", "--ff-only", "@{u}")
    except BaseException:
        for path, copy in moved:
            copy.replace(path)
        raise

    kept = []
    for path, copy in moved:
        if path.suffix == ".ipynb" and edited(copy) is None:
            copy.unlink()  # opened and saved, no more: nothing of the learner's in it
        else:
            kept.append((path, copy))
    return kept


def main() -> int:
    try:
        before = git(ROOT, "rev-parse", "HEAD").strip()
        moved = update(ROOT)
        count = git(ROOT, "rev-list", "--count", f"{before}..HEAD").strip()
    except FileNotFoundError:
        print("make update needs git: sudo apt install git", file=sys.stderr)
        return 1
    except UpdateError as error:
        print(f"{error}\n\nNothing has changed.", file=sys.stderr)
        return 1
    for path, copy in moved:
        print(f"Your labs/{path.name} is now labs/{copy.name}.")
    print("Up to date." if count == "0" else f"Updated: {count} commits.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
