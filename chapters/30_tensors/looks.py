"""What lab 30 prints about PyTorch: copies, tables, keys, calls."""

import contextlib
import re
from pathlib import Path

import torch
import torchgen
from torch.utils._python_dispatch import TorchDispatchMode

import weft

DEVICE = "cuda" if weft.GPU else "cpu"


KEY = DEVICE.upper()


class Watch(TorchDispatchMode):
    """Prints each operation that arrives, and whether it made a new storage."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            given = [arg for arg in args if isinstance(arg, torch.Tensor)]
            storages = {arg.untyped_storage().data_ptr() for arg in given}
            shared = out.untyped_storage().data_ptr() in storages
            print(f"   {function!s:28}", "shares" if shared else "new storage")
        return out


def rows(operator, *keys):
    """Print the rows of an operator's dispatch table."""
    table = torch._C._dispatch_dump_table(operator)
    for key in keys:
        row = re.search(rf"^{key}: (.*)$", table, re.MULTILINE)[1]
        kind = "fallthrough, " if row.startswith("fallthrough") else ""
        source = re.search(r"/pytorch/(?:pytorch/)?(\S+?):\d+", row)
        print(f"{key:17}{kind}{source[1] if source else row}")


def trail(call):
    """Define an operator, call it, and return the keys whose kernels ran."""
    ran = []

    def layer(key):
        number = torch._C._parse_dispatch_key(key)
        below = torch._C._dispatch_keyset_full_after(number)

        def kernel(keyset, x):
            ran.append(key)
            return operator.redispatch(keyset & below, x)

        return kernel

    def last(keyset, x):
        ran.append(KEY)
        return x + x

    with torch.library._scoped_library("weft30", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        operator = torch.ops.weft30.twice.default
        for key in (f"Autocast{KEY}", f"Autograd{KEY}", "ADInplaceOrView"):
            library.impl("twice", layer(key), key, with_keyset=True)
        library.impl("twice", last, KEY, with_keyset=True)
        call(operator)
    return ran


def called(function):
    """Print the operators that a function calls, and their kernels."""
    from torch.profiler import ProfilerActivity, profile

    what = [ProfilerActivity.CPU]
    if weft.GPU:
        what.append(ProfilerActivity.CUDA)
    function()  # warm
    with profile(activities=what, with_stack=True, acc_events=True) as seen:
        function()
        if weft.GPU:
            torch.cuda.synchronize()
    for event in seen.events():
        if not event.name.startswith("aten::"):
            continue
        above, parent = [], event.cpu_parent
        while parent is not None:
            above.append(parent.name)
            parent = parent.cpu_parent
        depth = sum(name.startswith("aten::") for name in above)
        python = re.match(r"<built-in \w+ \w+", above[0]) if above else None
        note = f"   from {python[0]}>" if python else ""
        print("  " * depth + event.name + note)
        for kernel in getattr(event, "kernels", ()):
            print("  " * depth + f"  [{kernel.name[:60]}]")


def what_copies():
    """Print the operations that four lines of Python reach, and which of them copy."""
    x, w = torch.randn(4, 6), torch.randn(5, 6)
    lines = {
        "x[:2].reshape(12)": lambda: x[:2].reshape(12),
        "x.t().reshape(24)": lambda: x.t().reshape(24),
        "linear(x, w)": lambda: torch.nn.functional.linear(x, w),
        "x += 1": lambda: x.add_(1),
    }
    for name, line in lines.items():
        print(name)
        with Watch():
            line()


def entry():
    """Print how `native_functions.yaml` describes addition with an output."""
    entries = Path(torchgen.__file__).parent / "packaged/ATen/native"
    text = (entries / "native_functions.yaml").read_text()
    print(re.search(r"- func: add\.out\(.*?\n\n", text, re.DOTALL)[0])


def made_for_inference():
    """Return three ones, made in inference mode."""
    with torch.inference_mode():
        return torch.ones(3, device=DEVICE)


def key_sets():
    """Print the dispatch keys of three tensors, and those of this thread."""
    kinds = {
        "a tensor": torch.ones(3, device=DEVICE),
        "a lazy conjugate": torch.ones(3, dtype=torch.cfloat, device=DEVICE).conj(),
        "made for inference": made_for_inference(),
    }
    for name, each in kinds.items():
        print(f"{name:20}{torch._C._dispatch_keys(each)}")

    excluded = torch._C._dispatch_tls_local_exclude_set()
    autocast = torch._C._parse_dispatch_key(f"Autocast{KEY}")
    print(f"{'this thread adds':20}{torch._C._dispatch_tls_local_include_set()}")
    print(f"and excludes Autocast{KEY}: {excluded.has(autocast)}")


def trails():
    """Print which kernels an operator passes through, in four contexts."""
    t, made = torch.ones(3, device=DEVICE), made_for_inference()
    contexts = {
        "plainly": contextlib.nullcontext,
        "with no_grad": torch.no_grad,
        "with inference_mode": torch.inference_mode,
        "with autocast": lambda: torch.autocast(DEVICE),
    }
    for name, context in contexts.items():
        with context():
            print(f"{name:20}", *trail(lambda operator: operator(t)))
    print(f"{'made for inference':20}", *trail(lambda operator: operator(made)))


def calls():
    """Print the operators that three lines of Python call."""
    a, w = torch.randn(64, 32, device=DEVICE), torch.randn(16, 32, device=DEVICE)
    print("- a + a")
    called(lambda: torch.add(a, a))
    print("- a.t().reshape(-1)")
    called(lambda: a.t().reshape(-1))
    print("- linear(a, w)")
    called(lambda: torch.nn.functional.linear(a, w))
