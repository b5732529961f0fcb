"""Export one network, and serve it in two ways that need none of its Python."""

from pathlib import Path

import onnxruntime
import torch
from torch import nn

net = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 10)).eval()
rows = torch.export.Dim("rows", max=1024)
program = torch.export.export(net, (torch.randn(4, 64),), dynamic_shapes=({0: rows},))

torch._inductor.aoti_compile_and_package(program, package_path="net.pt2")
package = torch._inductor.aoti_load_package("net.pt2")

torch.onnx.export(program, verbose=False).save("net.onnx")
session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name


def by_onnx(x):
    return torch.from_numpy(session.run(None, {name: x.numpy()})[0])


for file, serve in {"net.pt2": package, "net.onnx": by_onnx}.items():
    print(f"{file}: {Path(file).stat().st_size / 1e6:.1f} MB")
    for count in (7, 2000):
        x = torch.randn(count, 64)
        try:
            error = (serve(x) - net(x)).abs().max().item()
            print(f"  {count} rows: differs by {'nothing' if not error else '< 1e-5'}")
            assert error < 1e-5
        except RuntimeError as refused:
            print(f"  {count} rows: {type(refused).__name__}")
            print(f"    {str(refused).strip().splitlines()[0][:76]}")
