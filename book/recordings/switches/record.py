"""Write down what PyTorch's switches print on a CPU.

python record.py [--out FOLDER] [NAME ...], on Linux with PyTorch and g++; it needs no
GPU. Prefixes of log lines, and folders, are cut. Of long logs, PARTS says what is kept.
"""

import argparse
import datetime
import re
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402
from shell import copied, run  # noqa: E402

FOUND = Path(torch.__file__).parent
COMPILE = "g++ -std=c++20 -shared -fPIC -DTORCH_TARGET_VERSION=0x020a000000000000"
DEBUG = "torch_compile_debug/*/torchinductor/model__0*"
COMMANDS = {
    "backend": "python backend.py",
    "breaks": "TORCH_LOGS=graph_breaks python backend.py",
    "recompiles": "TORCH_LOGS=recompiles python scaled.py",
    "code": "TORCH_LOGS=output_code python layer.py",
    "debug": "TORCH_COMPILE_DEBUG=1 python layer.py",
    "selective": "python selective.py",
    "deterministic": "python deterministic.py",
    "packaged": "python packaged.py",
    "twice": "python twice.py",
    "unchecked": "torchrun --nproc_per_node 2 ranks.py",
    "ranks": "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc_per_node 2 ranks.py",
}
PARTS = {
    "breaks": r"^Graph .*$",
    "recompiles": r"^Recompiling.*$|^ *- \d+/\d+: .*$",
    "code": r"^ +def call\(self(?:.*\n)+? +return .*$",
}
PREFIX = re.compile(r"^[VIW]\d{4} .*?\] (?:\[\S+\] )*(?:\[__\w+\] )?", re.MULTILINE)
NOISE = re.compile(
    r"^(?:USDT:.*|.*FutureWarning.*|  return cls.__new__.*|\*+|Setting OMP_.*)?\n", re.M
)


def said(name: str, command: str, folder: Path) -> str:
    """Run a program in `folder` with empty caches; return what it prints."""
    if name == "twice":
        made = run(
            f"{COMPILE} twice.cpp -o twice.so -I{FOUND}/include -L{FOUND}/lib "
            "-ltorch -ltorch_cpu",
            folder,
        )
        assert not made, made
    python = command.replace("torchrun", "python -m torch.distributed.run")
    python = python.replace("python", sys.executable, 1)
    with TemporaryDirectory() as cache:
        text = run(python, folder, TORCHINDUCTOR_CACHE_DIR=cache)
    if name == "debug":
        text = run(f"cd {DEBUG} && LC_ALL=C ls -1", folder)
    text = NOISE.sub("", PREFIX.sub("", text))
    if name in PARTS:
        text = "\n".join(re.findall(PARTS[name], text, re.MULTILINE)) + "\n"
    text = re.sub(r" +#.*$", "", text, flags=re.MULTILINE)
    return text.replace(f"{folder}/", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("names", nargs="*", default=COMMANDS, metavar="NAME")
    given = parser.parse_args()
    python = ".".join(map(str, sys.version_info[:3]))
    facts = f"# PyTorch {metadata.version('torch')}, Python {python}, "
    facts += f"{datetime.date.today()}; by record.py"
    for name in given.names:
        command = COMMANDS[name]
        with copied(HERE, ".py", ".cpp") as folder:
            text = said(name, command, folder)
        (given.out / f"{name}.txt").write_text(f"{facts}\n$ {command}\n{text}", "utf-8")


if __name__ == "__main__":
    main()
