"""Launches without Numba: by hand, and in C++."""

import ctypes
import struct

import torch

import weft

from .checks import Vector, poly_spec
from .kernels import poly_single


def launch_by_hand(parameters, kernel, grid, block, arguments):
    """Launch a compiled kernel through the driver, with the learner's parameters."""
    library = next(iter(kernel.overloads.values()))._codelibrary
    handle = ctypes.c_void_p(int(library.get_cufunc().handle))
    fields = parameters(arguments)
    at, kind, _ = fields[-1]
    data = bytearray(at + struct.calcsize(kind))
    for at, kind, value in fields:
        struct.pack_into(kind, data, at, value)
    data = bytes(data)
    size = ctypes.c_size_t(len(data))
    extra = (ctypes.c_void_p * 5)(  # names and values are those of cuda.h
        1,  # CU_LAUNCH_PARAM_BUFFER_POINTER
        ctypes.cast(data, ctypes.c_void_p),
        2,  # CU_LAUNCH_PARAM_BUFFER_SIZE
        ctypes.cast(ctypes.byref(size), ctypes.c_void_p),
        0,  # CU_LAUNCH_PARAM_END
    )
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    driver = ctypes.PyDLL("libcuda.so.1")
    shape = (grid, 1, 1, block, 1, 1, 0)
    return driver.cuLaunchKernel(handle, *shape, stream, None, extra)


def without_numba(parameters):
    """Launch `poly_single` by hand, and print whether the result is right."""
    if not weft.on_gpu("there is no driver to call"):
        return
    x = torch.linspace(-1, 1, 1000, device="cuda")
    out = torch.zeros_like(x)
    ours = [Vector(t.data_ptr(), t.numel(), 4) for t in (x, out)]
    arguments = [ours[0], 0.5, -1.25, ours[1]]
    try:
        error = launch_by_hand(parameters, poly_single, 4, 256, arguments)
        right = torch.allclose(out, poly_spec(x, 0.5, -1.25))
        print(f"error {error}, result right: {right}")
    except TypeError:  # `parameters` returns nothing yet
        print("Solve exercise 6 first.")


LAUNCHER_CPP = r"""
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Vector {
  int64_t meminfo = 0, parent = 0, items, itemsize = 4;
  void* data;
  int64_t shape, stride = 4;
  Vector(const Tensor& x)
      : items(x.numel()), data(x.data_ptr()), shape(x.numel()) {}
};
struct Parameters { Vector x; float a, b; Vector out; };
struct SlopeParameters { Vector grad, x; float a, b; Vector out; };

CUfunction poly_kernel, slope_kernel;

void use(int64_t poly, int64_t slope) {
  poly_kernel = reinterpret_cast<CUfunction>(poly);
  slope_kernel = reinterpret_cast<CUfunction>(slope);
}

template <typename T>
void launch(CUfunction kernel, int64_t n, T parameters) {
  if (n == 0) return;
  size_t size = sizeof(parameters);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUresult error = cuLaunchKernel(
      kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0,
      c10::cuda::getCurrentCUDAStream(), nullptr, extra);
  TORCH_CHECK(error == CUDA_SUCCESS, "cuLaunchKernel: error ", int(error));
}

Tensor checked(const Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "float32, not ", x.scalar_type());
  return x.contiguous();
}

Tensor poly(const Tensor& given, double a, double b) {
  c10::cuda::CUDAGuard guard(given.device());
  Tensor x = checked(given), out = at::empty_like(x);
  launch(poly_kernel, x.numel(), Parameters{x, float(a), float(b), out});
  return out;
}

Tensor slope(const Tensor& g, const Tensor& given, double a, double b) {
  c10::cuda::CUDAGuard guard(given.device());
  Tensor grad = checked(g), x = checked(given), out = at::empty_like(x);
  launch(slope_kernel, x.numel(),
         SlopeParameters{grad, x, float(a), float(b), out});
  return out;
}

template <typename F>
auto find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

Tensor call_poly(const Tensor& x, double a, double b) {
  static auto op = find<decltype(poly)>("lab32_cpp::poly");
  at::AutoDispatchBelowADInplaceOrView below;
  return op.call(x, a, b);
}

struct Poly : torch::autograd::Function<Poly> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double a,
                        double b) {
    ctx->save_for_backward({x});
    ctx->saved_data["a"] = a;
    ctx->saved_data["b"] = b;
    return call_poly(x, a, b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    static auto op = find<decltype(slope)>("lab32_cpp::slope");
    return {op.call(grads[0], ctx->get_saved_variables()[0],
                    ctx->saved_data["a"].toDouble(),
                    ctx->saved_data["b"].toDouble()),
            Tensor(), Tensor()};
  }
};

Tensor poly_autograd(const Tensor& x, double a, double b) {
  bool record = at::GradMode::is_enabled() && x.requires_grad();
  return record ? Poly::apply(x, a, b) : call_poly(x, a, b);
}

TORCH_LIBRARY(lab32_cpp, m) {
  m.def("poly(Tensor x, float a, float b) -> Tensor");
  m.def("slope(Tensor grad, Tensor x, float a, float b) -> Tensor");
  m.def("use(int poly, int slope) -> ()", &use);
}
TORCH_LIBRARY_IMPL(lab32_cpp, CUDA, m) {
  m.impl("poly", &poly);
  m.impl("slope", &slope);
}
TORCH_LIBRARY_IMPL(lab32_cpp, Autograd, m) { m.impl("poly", &poly_autograd); }
"""


KERNEL_CU = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

__global__ void poly_kernel(const float* x, float a, float b, float* out,
                            int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;

  if (i < n) out[i] = (a * x[i] * x[i] + b) * x[i];
}

at::Tensor poly(const at::Tensor& given, double a, double b) {
  TORCH_CHECK(given.scalar_type() == at::kFloat, "float32 is needed");
  c10::cuda::CUDAGuard guard(given.device());
  at::Tensor x = given.contiguous(), out = at::empty_like(x);
  int64_t n = x.numel();
  if (n > 0) {
    poly_kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.const_data_ptr<float>(), a, b, out.mutable_data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return out;
}

TORCH_LIBRARY(lab32_cuda, m) {
  m.def("poly(Tensor x, float a, float b) -> Tensor");
}
TORCH_LIBRARY_IMPL(lab32_cuda, CUDA, m) { m.impl("poly", &poly); }
"""


def build(name, cpp="", cu=""):
    """Compile and load C++ or CUDA C++; return whether that worked."""
    from torch.utils.cpp_extension import CUDA_HOME, load_inline

    if CUDA_HOME is None:
        print(f"{name}: skipped, since there is no nvcc here")
        return False
    options = {"no_implicit_headers": True, "is_python_module": False}
    if cu:
        load_inline(name, cpp_sources="", cuda_sources=cu, **options)
    else:
        flags = [f"-L{CUDA_HOME}/lib64/stubs", "-lcuda"]
        load_inline(name, cpp, with_cuda=True, extra_ldflags=flags, **options)
    print(f"{name}: built")
    return True


def handle_of(kernel):
    """Return the driver's number for a compiled kernel."""
    overload = next(iter(kernel.overloads.values()))
    return int(overload._codelibrary.get_cufunc().handle)
