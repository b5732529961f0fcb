"""Kernels in CUDA C++, in a cell that begins with `%%c name.cu`.

`check(name, prototype=...)` compiles the cell as C++ with `prelude.h`, which declares
what CUDA adds to the language, and runs the kernel on the CPU, one thread after
another, under the address sanitizer (`running`). `judging` checks what the threads did.
NVRTC, if it is installed, compiles the same text, and a GPU runs it at full size
(`on_gpu`).
"""
