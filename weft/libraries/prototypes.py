"""The functions of the libraries: their symbols in C and the types of what they take.

A line is a function as `nvmath.bindings` names it, its symbol, and its parameters. What
follows `->` is returned through a pointer, which the binding passes last, or first for
functions whose line says so.
"""

import ctypes
import re
from dataclasses import dataclass
from typing import Any

TYPES: dict[str, Any] = {
    "int": ctypes.c_int,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "size": ctypes.c_size_t,
    "address": ctypes.c_void_p,
    "ints": ctypes.c_void_p,  # the address of an array of int, or null
    "float": ctypes.c_float,
}

GEMM = "address handle, int transa, int transb, int m, int n, int k, address alpha"

CUBLAS = f"""
create cublasCreate_v2() -> address
destroy cublasDestroy_v2(address handle)
get_version cublasGetVersion_v2(address handle) -> int
set_stream cublasSetStream_v2(address handle, address stream_id)
get_stream cublasGetStream_v2(address handle) -> address
set_workspace cublasSetWorkspace_v2(address handle, address workspace, \
size workspace_size_in_bytes)
set_pointer_mode cublasSetPointerMode_v2(address handle, int mode)
get_pointer_mode cublasGetPointerMode_v2(address handle) -> int
set_math_mode cublasSetMathMode(address handle, int mode)
get_math_mode cublasGetMathMode(address handle) -> int
sgemm cublasSgemm_v2({GEMM}, address a, int lda, address b, int ldb, address beta, \
address c, int ldc)
gemm_ex cublasGemmEx({GEMM}, address a, int atype, int lda, address b, int btype, \
int ldb, address beta, address c, int ctype, int ldc, int compute_type, int algo)
sgemm_strided_batched cublasSgemmStridedBatched({GEMM}, address a, int lda, \
int64 stride_a, address b, int ldb, int64 stride_b, address beta, address c, int ldc, \
int64 stride_c, int batch_count)
gemm_strided_batched_ex cublasGemmStridedBatchedEx({GEMM}, address a, int atype, \
int lda, int64 stride_a, address b, int btype, int ldb, int64 stride_b, address beta, \
address c, int ctype, int ldc, int64 stride_c, int batch_count, int compute_type, \
int algo)
"""

CUBLASLT = """
create cublasLtCreate() -> address
destroy cublasLtDestroy(address light_handle)
matmul_desc_create cublasLtMatmulDescCreate(int compute_type, int scale_type) -> address
matmul_desc_destroy cublasLtMatmulDescDestroy(address matmul_desc)
matmul_desc_set_attribute cublasLtMatmulDescSetAttribute(address matmul_desc, \
int attr, address buf, size size_in_bytes)
matrix_layout_create cublasLtMatrixLayoutCreate(int type, uint64 rows, uint64 cols, \
int64 ld) -> address
matrix_layout_destroy cublasLtMatrixLayoutDestroy(address mat_layout)
matrix_layout_set_attribute cublasLtMatrixLayoutSetAttribute(address mat_layout, \
int attr, address buf, size size_in_bytes)
matmul_preference_create cublasLtMatmulPreferenceCreate() -> address
matmul_preference_destroy cublasLtMatmulPreferenceDestroy(address pref)
matmul_preference_set_attribute cublasLtMatmulPreferenceSetAttribute(address pref, \
int attr, address buf, size size_in_bytes)
matmul_algo_get_heuristic cublasLtMatmulAlgoGetHeuristic(address light_handle, \
address operation_desc, address adesc, address bdesc, address cdesc, address ddesc, \
address preference, int requested_algo_count, address heuristic_results_array, \
address return_algo_count)
matmul cublasLtMatmul(address light_handle, address compute_desc, address alpha, \
address a, address adesc, address b, address bdesc, address beta, address c, \
address cdesc, address d, address ddesc, address algo, address workspace, \
size workspace_size_in_bytes, address stream)
"""

LAYOUT = "int rank, ints n, ints inembed, int istride, int idist, ints onembed, \
int ostride, int odist, int type, int batch"

CUFFT = f"""
create cufftCreate() -> int
destroy cufftDestroy(int plan)
get_version cufftGetVersion() -> int
set_stream cufftSetStream(int plan, address stream)
make_plan1d cufftMakePlan1d(int plan, int nx, int type, int batch) -> size
make_plan_many cufftMakePlanMany(int plan, {LAYOUT}) -> size
get_size cufftGetSize(int handle) -> size
exec_c2c cufftExecC2C(int plan, address idata, address odata, int direction)
exec_r2c cufftExecR2C(int plan, address idata, address odata)
exec_c2r cufftExecC2R(int plan, address idata, address odata)
"""

CURAND = """
create_generator curandCreateGenerator(int rng_type) -> address
destroy_generator curandDestroyGenerator(address generator)
get_version curandGetVersion() -> int
set_stream curandSetStream(address generator, address stream)
set_pseudo_random_generator_seed curandSetPseudoRandomGeneratorSeed(\
address generator, uint64 seed)
set_generator_offset curandSetGeneratorOffset(address generator, uint64 offset)
set_generator_ordering curandSetGeneratorOrdering(address generator, int order)
generate curandGenerate(address generator, address output_ptr, size num)
generate_uniform curandGenerateUniform(address generator, address output_ptr, size num)
generate_normal curandGenerateNormal(address generator, address output_ptr, size n, \
float mean, float stddev)
"""

SIZES = "int n, int c, int h, int w"
PROBLEM = "address x_desc, address w_desc, address conv_desc, address y_desc"

CUDNN = f"""
create cudnnCreate() -> address
destroy cudnnDestroy(address handle)
set_stream cudnnSetStream(address handle, address stream_id)
get_stream cudnnGetStream(address handle) -> address
create_tensor_descriptor cudnnCreateTensorDescriptor() -> address
set_tensor4d_descriptor cudnnSetTensor4dDescriptor(address tensor_desc, int format, \
int data_type, {SIZES})
set_tensor4d_descriptor_ex cudnnSetTensor4dDescriptorEx(address tensor_desc, \
int data_type, {SIZES}, int n_stride, int c_stride, int h_stride, int w_stride)
destroy_tensor_descriptor cudnnDestroyTensorDescriptor(address tensor_desc)
create_filter_descriptor cudnnCreateFilterDescriptor() -> address
set_filter4d_descriptor cudnnSetFilter4dDescriptor(address filter_desc, \
int data_type, int format, int k, int c, int h, int w)
destroy_filter_descriptor cudnnDestroyFilterDescriptor(address filter_desc)
create_convolution_descriptor cudnnCreateConvolutionDescriptor() -> address
set_convolution2d_descriptor cudnnSetConvolution2dDescriptor(address conv_desc, \
int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w, int mode, \
int compute_type)
set_convolution_group_count cudnnSetConvolutionGroupCount(address conv_desc, \
int group_count)
set_convolution_math_type cudnnSetConvolutionMathType(address conv_desc, int math_type)
destroy_convolution_descriptor cudnnDestroyConvolutionDescriptor(address conv_desc)
get_convolution2d_forward_output_dim cudnnGetConvolution2dForwardOutputDim(\
address conv_desc, address input_tensor_desc, address filter_desc, address n, \
address c, address h, address w)
get_convolution_forward_algorithm_v7 cudnnGetConvolutionForwardAlgorithm_v7(\
address handle, {PROBLEM}, int requested_algo_count, address returned_algo_count, \
address perf_results)
get_convolution_forward_workspace_size cudnnGetConvolutionForwardWorkspaceSize(\
address handle, {PROBLEM}, int algo) -> size
convolution_forward cudnnConvolutionForward(address handle, address alpha, \
address x_desc, address x, address w_desc, address w, address conv_desc, int algo, \
address work_space, size work_space_size_in_bytes, address beta, address y_desc, \
address y)
backend_create_descriptor cudnnBackendCreateDescriptor(int descriptor_type) -> address
backend_destroy_descriptor cudnnBackendDestroyDescriptor(address descriptor)
backend_set_attribute cudnnBackendSetAttribute(address descriptor, \
int attribute_name, int attribute_type, int64 element_count, address array_of_elements)
backend_get_attribute cudnnBackendGetAttribute(address descriptor, \
int attribute_name, int attribute_type, int64 requested_element_count, \
address element_count, address array_of_elements)
backend_finalize cudnnBackendFinalize(address descriptor)
backend_execute cudnnBackendExecute(address handle, address execution_plan, \
address variant_pack)
"""


@dataclass(frozen=True)
class Prototype:
    """One function: its names in Python and in C, and its parameters in order.

    returns: the type of what it returns through a pointer, "" for nothing. In C that
    pointer comes first in `…Create` and `…CreateGenerator`, last elsewhere.
    """

    name: str
    symbol: str
    parameters: tuple[tuple[str, str], ...]
    returns: str = ""

    @property
    def result_first(self) -> bool:
        """Whether the pointer to the result is the first parameter in C."""
        return self.symbol.endswith(("Create", "CreateGenerator"))

    @property
    def in_c(self) -> tuple[tuple[str, str], ...]:
        """The parameters as C has them, the pointer to a result among them."""
        result = (("address", "result"),) if self.returns else ()
        if self.result_first:
            return result + self.parameters
        return self.parameters + result

    @property
    def argtypes(self) -> list[Any]:
        """The types of the parameters, as ctypes wants them."""
        return [TYPES[kind] for kind, _ in self.in_c]


def parsed(text: str) -> dict[str, Prototype]:
    """Read a table of functions, by their names in Python."""
    found = {}
    for line in text.strip().splitlines():
        match = re.fullmatch(r"(\w+) (\w+)\((.*?)\)(?: -> (\w+))?", line)
        if match is None:
            raise ValueError(f"no prototype: {line}")
        name, symbol, inside, returns = match.groups()
        pairs = [tuple(each.split()) for each in inside.split(", ") if each]
        parameters = tuple((kind, parameter) for kind, parameter in pairs)
        found[name] = Prototype(name, symbol, parameters, returns or "")
    return found


FUNCTIONS = {
    "cublas": parsed(CUBLAS),
    "cublasLt": parsed(CUBLASLT),
    "cufft": parsed(CUFFT),
    "curand": parsed(CURAND),
    "cudnn": parsed(CUDNN),
}
