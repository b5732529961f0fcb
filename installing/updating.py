"""Bring the course's environment up to date: what is needed, and what is done."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from installing import Stop, bytecode, pins
from installing.builds import (
    BUILDS,
    check_disk,
    choose_build,
    cuda_of_driver,
    folder_size,
    owner_of,
)
from installing.engines import Engine
from installing.environment import Environment
from installing.torch_build import find_torch

READ_ONLY = """\
The packages in {root}/.venv have to be installed or updated, and you may not write
there: the folder belongs to {owner}. Ask {owner} to run `make lab` once, or clone the
course into a folder of your own."""
CLOSED = """\
The Python of {root}/.venv is {python}, in a folder that you may not enter.
Ask {owner} to run `make lab PYTHON=/usr/bin/python3` once, or clone the course into a
folder of your own."""
ELSEWHERE = """\
{lacking} did not get into .venv. Probably pip's configuration leads elsewhere; see it
with: {python} -m pip config list"""


AUTHORS_MORE = 1.8  # GB of disk that authors need besides


class Needs(NamedTuple):
    """What the environment should be, and what it lacks."""

    identity: dict[str, str]
    why: str  # this build of torch
    contents: dict[str, str]  # digests of what should be in it
    fits: bool  # it is there, for this folder, build and Python
    damaged: list[str]
    complete: bool


def digest(root: Path, files: list[str]) -> str:
    """SHA-256 of requirement files, and of this program."""
    paths = [root / name for name in files]
    paths += sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def fitting(record: dict[str, str], root: Path) -> tuple[dict[str, str], str]:
    """The identity that the environment should have, and why.

    What was asked for once stays until something else is; a GPU that is switched off
    today is no reason to throw away the packages for it.
    """
    python = "{}.{}".format(*sys.version_info[:2])
    if not os.environ.get("PYTHON"):
        python = record.get("python", python)
    asked = os.environ.get("VARIANT") or record.get("variant", "")
    cuda = cuda_of_driver()
    build, why = choose_build(cuda, asked)
    if cuda is None and asked in ("", "auto"):
        build = record.get("build", build)
    identity = {"root": str(root), "build": build, "variant": asked, "python": python}
    return identity, why


def examine(environment: Environment, dev: bool, by_hash: bool = False) -> Needs:
    """What the environment needs, to have what a learner or an author needs."""
    root, record = environment.root, environment.record()
    identity, why = fitting(record, root)
    contents = {"learner": digest(root, [pins.LEARNER, pins.FULL, pins.CONSTRAINTS])}
    if dev:
        contents["dev"] = digest(root, [pins.FULL, pins.DEV, pins.CONSTRAINTS])
    same = all(identity[key] == record.get(key) for key in ("root", "build", "python"))
    fits = same and environment.usable()
    names = record.get("packages", "").split()
    damaged = environment.damaged(names, by_hash) if fits else []
    complete = fits and not damaged and contents.items() <= record.items()
    return Needs(identity, why, contents, fits, damaged, complete)


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Work in `root` while no other installer does; a second one waits."""
    with (root / ".venv.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another installation is running here; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a network's file system that knows no locks
            pass
        yield


def check_access(environment: Environment) -> None:
    """Raise Stop where this user can neither use the environment nor make one."""
    root, python = environment.root, environment.python
    if os.access(root, os.W_OK):
        return
    if python.is_symlink() and not os.access(python, os.X_OK):
        there = os.readlink(python)
        raise Stop(CLOSED.format(root=root, python=there, owner=owner_of(root)))


def install(
    root: Path, dev: bool = False, by_hash: bool = False, compiling: bool = True
) -> bool:
    """Bring `root`/.venv up to date; False if it was already.

    by_hash: read every file to see whether it is damaged. compiling: compile all
    packages as well, which is otherwise left to `lab.py`.
    """
    environment = Environment(root)
    check_access(environment)
    needs = examine(environment, dev, by_hash)
    if needs.complete:
        if os.access(environment.folder, os.W_OK):  # what was asked for may be new
            keep(environment, needs.identity)
        return False
    if not os.access(root, os.W_OK):
        raise Stop(READ_ONLY.format(root=root, owner=owner_of(root)))
    with alone(root):
        needs = examine(environment, dev, by_hash)
        if not needs.complete:
            bring_up_to_date(environment, needs, dev)
    if compiling:
        print("Compiling the packages", flush=True)
        bytecode.compile_all(
            environment.python, environment.packages, environment.compiled
        )
    print(f"Done: {folder_size(environment.folder) / 1e9:.1f} GB in .venv")
    return True


def keep(environment: Environment, identity: dict[str, str]) -> None:
    record = environment.record()
    if not identity.items() <= record.items():
        environment.write({**record, **identity})


def bring_up_to_date(environment: Environment, needs: Needs, dev: bool) -> None:
    root, identity = environment.root, needs.identity
    build = BUILDS[identity["build"]]
    print(f"torch: {identity['build']} build ({needs.why})", flush=True)
    check_disk(
        shutil.disk_usage(root).free + folder_size(environment.folder),
        build.gigabytes + dev * AUTHORS_MORE,
        root,
    )
    engine = Engine(environment)
    engine.reach()
    record = environment.record()
    if not needs.fits:
        identity["python"] = "{}.{}".format(*sys.version_info[:2])
        print("Making .venv with Python", identity["python"], flush=True)
        environment.make(identity)
        record = identity
    if needs.damaged:
        some = ", ".join(needs.damaged[:3]) + ", …" * (len(needs.damaged) > 3)
        print(f"Repairing what is damaged in .venv: {some}", flush=True)
        environment.forget(needs.damaged)
    environment.compiled.unlink(missing_ok=True)
    environment.sweep()
    engine.start()
    files = [pins.FULL, pins.DEV] if dev else [pins.LEARNER]
    fill(environment, engine, identity["build"], files, dev)
    engine.check(pins.constrained(root))
    lacking = [
        name for name in pins.named(root, files) if not environment.version(name)
    ]
    if lacking:
        lacking = ", ".join(lacking[:5])
        raise Stop(ELSEWHERE.format(lacking=lacking, python=environment.python))
    engine.finish()
    environment.trim(gpu=identity["build"] != "cpu")
    environment.settle()
    packages = {"packages": " ".join(environment.installed())}
    environment.write({**record, **identity, **needs.contents, **packages})


def fill(
    environment: Environment, engine: Engine, name: str, files: list[str], dev: bool
) -> None:
    """Install torch's build `name`, and what the requirement files name."""
    root, build = environment.root, BUILDS[name]

    # torch first, and alone. Then its very build is required: "2.13.0" would let pip,
    # in search of a way out of some conflict, download a CUDA build to look at it.
    torch = pins.pinned(root, "torch")
    if environment.version("torch").partition("+")[0] != torch:
        wheel = find_torch(environment.python, name, torch)
        print(f"Installing torch {torch}", flush=True)
        engine.install("--no-deps", "--only-binary=:all:", *wheel)

    print("Installing", " and ".join(files), flush=True)
    wanted = [word for file in files for word in ("-r", str(root / file))]
    wanted.append("torch==" + environment.version("torch"))
    if sys.platform != "darwin":  # there is no CUDA for macOS
        wanted += [f"{build.numba}=={pins.pinned(root, 'numba-cuda')}", *build.pins]
        wanted += build.compilers
    constraints = str(root / pins.CONSTRAINTS)
    engine.install("--only-binary=:all:", "-c", constraints, *wanted)
