// Products of bfloat16 matrices by CUTLASS, c = a w^T, for factors.py.
//
// Each kernel is one instance of GemmUniversal, put together by CUTLASS's builders from
// a tile, a cluster and a schedule. product() runs one of them; size() says how many
// bytes of workspace it wants.

#include <cuda_runtime.h>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
#include "cutlass/version.h"

using cute::_1;
using cute::_128;
using cute::_2;
using cute::_256;
using cute::_64;
using cute::Shape;
using Half = cutlass::bfloat16_t;
using ByRow = cutlass::layout::RowMajor;
using ByColumn = cutlass::layout::ColumnMajor;  // w^T of a row-major w
constexpr int PIECE = 8;                        // elements of 16 bytes

template <class Tile, class Cluster, class Loads, class Stores>
struct MatrixProduct {
  using Ending = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, ByRow, PIECE,
      Half, ByRow, PIECE, Stores>::CollectiveOp;
  using Loop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Half, ByRow, PIECE, Half,
      ByColumn, PIECE, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Ending::SharedStorage))>,
      Loads>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Loop,
                                                      Ending>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  static typename Gemm::Arguments arguments(const Half *a, const Half *w, Half *c, int m,
                                            int n, int k) {
    auto of_a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
    auto of_w = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
    auto of_c = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
    typename Gemm::Arguments given{cutlass::gemm::GemmUniversalMode::kGemm,
                                   {m, n, k, 1},
                                   {a, of_a, w, of_w},
                                   {{1.0f, 0.0f}, nullptr, {}, c, of_c}};
    given.hw_info.sm_count =
        cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
    return given;
  }

  static int run(const Half *a, const Half *w, Half *c, int m, int n, int k, void *room,
                 cudaStream_t stream) {
    Gemm gemm;
    auto given = arguments(a, w, c, m, n, k);
    if (auto status = gemm.can_implement(given); status != cutlass::Status::kSuccess)
      return static_cast<int>(status);
    if (auto status = gemm.initialize(given, room, stream);
        status != cutlass::Status::kSuccess)
      return static_cast<int>(status);
    return static_cast<int>(gemm.run(stream));
  }
};

using cutlass::epilogue::TmaWarpSpecialized;
using cutlass::epilogue::TmaWarpSpecializedCooperative;
using cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using cutlass::gemm::KernelTmaWarpSpecializedPingpong;

using Large = MatrixProduct<Shape<_128, _256, _64>, Shape<_2, _1, _1>,
                      KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative>;
using Turns = MatrixProduct<Shape<_64, _256, _64>, Shape<_2, _1, _1>,
                      KernelTmaWarpSpecializedPingpong, TmaWarpSpecialized>;
using Small = MatrixProduct<Shape<_128, _128, _64>, Shape<_2, _1, _1>,
                      KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative>;

extern "C" {

int version() { return CUTLASS_VERSION; }

// The status of CUTLASS, 0 for success. which: 0 Large, 1 Turns, 2 Small.
int product(int which, const void *a, const void *w, void *c, int m, int n, int k,
            void *room, void *stream) {
  auto left = static_cast<const Half *>(a), right = static_cast<const Half *>(w);
  auto out = static_cast<Half *>(c);
  auto on = static_cast<cudaStream_t>(stream);
  if (which == 0) return Large::run(left, right, out, m, n, k, room, on);
  if (which == 1) return Turns::run(left, right, out, m, n, k, room, on);
  return Small::run(left, right, out, m, n, k, room, on);
}

}  // extern "C"
