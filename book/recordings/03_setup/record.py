"""Run what the page of chapter 3 shows and write down what is said.

python record.py, on a machine with a GPU of capability 9.0, its driver, CUDA 13's nvcc
and cuobjdump, gcc, and PyTorch for CUDA. python record.py --cpu records the one message
that takes a PyTorch without CUDA. A recording begins with lines that say what made it.
"""

import datetime
import re
import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import shell  # noqa: E402

TORCH = "python3 -c \"import torch; torch.zeros(1, device='cuda')\""

run = partial(shell.run, CUDA_CACHE_DISABLE="1")


def asked(command: str, pattern: str, folder: Path) -> str:
    found = re.search(pattern, run(command, folder))
    return found[1] if found else "?"


def facts(folder: Path, gpu: bool) -> str:
    torch = run("python3 -c 'import torch; print(torch.__version__)'", folder).strip()
    today = datetime.date.today().isoformat()
    if not gpu:
        return f"# a machine without a GPU, {today}\n# torch {torch}\n"
    query = "nvidia-smi --query-gpu=name,driver_version --format=csv,noheader"
    name, driver = run(query, folder).splitlines()[0].split(", ")
    nvcc = asked("nvcc --version", r"release [\d.]+, V([\d.]+)", folder)
    return f"# {name}, {today}\n# driver {driver}, nvcc {nvcc}, torch {torch}\n"


def last(text: str) -> str:
    """The message of an exception, without the traceback before it."""
    lines = text.strip().splitlines()
    heads = [i for i, n in enumerate(lines) if re.match(r"\w+Error: ", n)]
    return "\n".join(lines[heads[-1] if heads else 0 :]) + "\n"


def main() -> None:
    gpu = "--cpu" not in sys.argv
    with shell.copied(HERE, ".cu", ".c", ".py") as folder:
        about = facts(folder, gpu)

        def record(file: str, command: str, text: str | None = None) -> None:
            said = run(command, folder) if text is None else text
            (HERE / file).write_text(f"$ {command}\n{about}{said}")

        if not gpu:
            record("cpu_wheel.txt", TORCH, last(run(TORCH, folder)))
            return

        record("smi.txt", "nvidia-smi")
        record("nvcc.txt", "nvcc --version")
        record("ptx.txt", "nvcc -arch=sm_90 -ptx add.cu -o add.ptx && cat add.ptx")
        run("nvcc -arch=sm_90 -cubin add.cu -o add.cubin", folder)
        record("sass.txt", r"cuobjdump -sass add.cubin | grep -o '/\*0.*;'")
        record("usage.txt", "cuobjdump -res-usage add.cubin")
        run(
            "nvcc -gencode arch=compute_80,code=sm_80 "
            "-gencode arch=compute_90,code=[sm_90,compute_90] -c add.cu -o fat.o",
            folder,
        )
        record("fat.txt", "cuobjdump -lelf -lptx fat.o")

        for arch in ("80", "100"):
            run(f"nvcc -arch=sm_{arch} -cubin add.cu -o sm_{arch}.cubin", folder)
        run("nvcc -arch=compute_80 -ptx add.cu -o compute_80.ptx", folder)
        run("nvcc -arch=compute_100 -ptx add.cu -o compute_100.ptx", folder)
        ptx = (folder / "add.ptx").read_text()
        later = re.sub(r"\.version [\d.]+", ".version 9.9", ptx)
        (folder / "version_9.9.ptx").write_text(later)
        images = "sm_90.cubin compute_80.ptx sm_80.cubin sm_100.cubin"
        run("cp add.cubin sm_90.cubin", folder)
        record("load.txt", f"python3 load.py {images} compute_100.ptx version_9.9.ptx")
        run("mkdir old && gcc -shared -fPIC old_driver.c -o old/libcuda.so.1", folder)
        run("nvcc count.cu -o count", folder)
        record("count.txt", "./count")
        record("old_driver.txt", "LD_LIBRARY_PATH=old ./count")
        record("hidden_count.txt", "CUDA_VISIBLE_DEVICES= ./count")
        hidden = f"CUDA_VISIBLE_DEVICES= {TORCH}"
        record("hidden.txt", hidden, last(run(hidden, folder)))
        record("dropped.txt", "nvcc -arch=sm_60 -cubin add.cu")


if __name__ == "__main__":
    main()
