"""Compile a module ahead of time, and run the package on a batch of another size."""

from pathlib import Path
from zipfile import ZipFile

import torch


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x) * 2


rows = torch.export.Dim("rows", max=1024)
given = (torch.randn(4, 8),)
program = torch.export.export(Layer(), given, dynamic_shapes={"x": {0: rows}})
path = torch._inductor.aoti_compile_and_package(program, package_path="layer.pt2")
layer = torch._inductor.aoti_load_package(path)

x = torch.randn(7, 8)
torch.testing.assert_close(layer(x), Layer()(x))
print("7 rows: as in eager mode")
print("it contains", *sorted({Path(n).suffix for n in ZipFile(path).namelist()} - {""}))
