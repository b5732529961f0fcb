"""Write down what PyTorch's switches, and those of the libraries below it, print.

python record.py [--out FOLDER] [NAME ...], on Linux with PyTorch and g++. With --gpu
or --gpus, what needs one GPU, or two. Prefixes of log lines, addresses and folders are
cut. Of long logs, PARTS says what is kept.
"""

import argparse
import datetime
import re
import sys
import textwrap
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
    "served": "python served.py",
    "twice": "python twice.py",
    "unchecked": "torchrun --nproc_per_node 2 ranks.py",
    "ranks": "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc_per_node 2 ranks.py",
}
FAILED = "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 "
FAILED += "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=trace_ torchrun --nproc_per_node 2 waits.py"
READ = "torchfrtrace --prefix trace_ ."
ON_GPU = {
    "products": "CUBLASLT_LOG_LEVEL=2 python product.py",
    "convolution": "CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=stderr "
    "python convolved.py",
    "calls": "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=stdout "
    "python convolved.py | wc -l",
    "graphs": "TORCH_LOGS=cudagraphs python replayed.py",
    "grown": "python grown.py",
    "expandable": "PYTORCH_ALLOC_CONF=expandable_segments:True python grown.py",
    "collected": "PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.001 "
    "python grown.py",
    "limited": "PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8 "
    "python grown.py 0.1",
    "budget": "python budget.py",
}
ON_GPUS = {"waits": f"{FAILED}\n{READ}"}
PARTS = {
    "breaks": r"^Graph .*$",
    "recompiles": r"^Recompiling.*$|^ *- \d+/\d+: .*$",
    "code": r"^ +def call\(self(?:.*\n)+? +return .*$",
    "convolution": r"^.*(?:Called engine|EXECUTION_PLAN).*$",
    "waits": r"^Collective.*$|^collective: .*$|^error msg.*$|^<module>.*$|^Not all.*$|"
    r"^missing ranks.*$",
    "graphs": r"^skipping.*$|^ *File .*$|^ *calls.*$|^Running.*$|^Recording.*$|"
    r"^RuntimeError.*$",
}
PREFIX = re.compile(r"^[VIW]\d{4} .*?\] (?:\[\S+\] )*(?:\[__\w+\] )?", re.MULTILINE)
POINTERS = re.compile(
    r"^\[.*?\]\[cublasLt\]\[\d+\]\[Trace\]| [A-D]desc=\[.*?\]|"
    r" \w*(?:pointer|stream|workspace|[A-D])=0x\w+|, data_ptr=\w+|"
    r" workSpaceSizeInBytes=\d+",
    re.IGNORECASE | re.MULTILINE,
)
WIDTH = 88
NOISE = re.compile(
    r"^(?:USDT:.*|.*FutureWarning.*|  return cls.__new__.*|.*TensorFloat32.*|"
    r"  warnings.warn.*|\*+|torchvision is not.*|Setting OMP_.*)?\n",
    re.MULTILINE,
)


def said(name: str, command: str, folder: Path) -> str:
    """Run a program in `folder` with empty caches; return what it prints."""
    command = command.splitlines()[0]
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
    if name == "waits":
        text = run(READ, folder)
    if name == "debug":
        text = run(f"cd {DEBUG} && LC_ALL=C ls -1", folder)
    return text.replace(f"{folder}/", "")


def cut(name: str, text: str) -> str:
    """Return what a listing shows of what a program printed."""
    text = NOISE.sub("", PREFIX.sub("", text))
    if name in PARTS:
        text = "\n".join(re.findall(PARTS[name], text, re.MULTILINE)) + "\n"
    text = re.sub(r" +#.*$", "", text, flags=re.MULTILINE)
    if name in ON_GPU | ON_GPUS:
        lines = POINTERS.sub("", text).splitlines()
        text = "".join(f"{part}\n" for line in lines for part in wrapped(line))
    return text


def wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ") or [""]


def typed(commands: str) -> str:
    """Return the commands as one would type them, in lines that are not too wide."""
    lines = [textwrap.wrap(line, WIDTH - 4) for line in commands.splitlines()]
    return "".join("$ " + " \\\n    ".join(parts) + "\n" for parts in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--gpu", action="store_const", const=ON_GPU, dest="kind")
    parser.add_argument("--gpus", action="store_const", const=ON_GPUS, dest="kind")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    python = ".".join(map(str, sys.version_info[:3]))
    facts = f"# PyTorch {metadata.version('torch')}, Python {python}, "
    if given.kind:
        facts += f"{torch.cuda.get_device_name()}, "
    facts += f"{datetime.date.today()}; by record.py"
    commands = given.kind or COMMANDS
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or commands:
        command = commands[name]
        with copied(HERE, ".py", ".cpp") as folder:
            text = cut(name, said(name, command, folder))
        shown = f"{facts}\n{typed(command)}{text}"
        (given.out / f"{name}.txt").write_text(shown, "utf-8")


if __name__ == "__main__":
    main()
