// c = a @ w.T in CUDA C++: one warpgroup copies by TMA, two multiply by wgmma.
#include <cuda/ptx>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>

namespace ptx = cuda::ptx;
using u32 = uint32_t;
using u64 = uint64_t;

constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, GROUP = 16, BLOCKS = 132;
constexpr int A_BYTES = 2 * BM * BK, STAGE = A_BYTES + 2 * BN * BK;
constexpr int STAGED = 2 * 64 * 64;  // bytes of c on their way out
constexpr int SHARED = STAGES * STAGE + 4 * STAGED + 1024;

__device__ int2 tile_at(int number, int m, int n)
{
    int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    int first = number / (GROUP * across) * GROUP;
    int height = min(down - first, GROUP), inside = number % (GROUP * across);
    return {(first + inside % height) * BM, inside / height * BN};
}

struct Place {
    int stage = 0;
    u32 parity = 0;
    __device__ void next() { if (++stage == STAGES) { stage = 0; parity ^= 1; } }
};

__device__ void wait(u64* bar, u32 parity)
{
    while (!ptx::mbarrier_try_wait_parity(bar, parity)) {}
}

__device__ u64 descriptor(const void* tile)  // rows of 128 bytes, swizzled
{
    u64 at = __cvta_generic_to_shared(tile);
    return (at & 0x3ffff) >> 4 | u64(1) << 16 | u64(64) << 32 | u64(1) << 62;
}

#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define ALL SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), \
            SIXTEEN(64), SIXTEEN(80), SIXTEEN(96), SIXTEEN(112)

__device__ void wgmma(float (&d)[BN / 2], u64 a, u64 w, int add)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
        "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
        "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
        "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
        "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,"
        "%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,"
        "%123,%124,%125,%126,%127}, %128, %129, p, 1, 1, 0, 0;\n}"
        : ALL : "l"(a), "l"(w), "r"(add));
}

template <int PENDING>
__device__ void wgmma_wait(float (&d)[BN / 2])
{
    asm volatile("wgmma.wait_group.sync.aligned %128;" : ALL : "n"(PENDING) : "memory");
}

__device__ void copy(const CUtensorMap& map_a, const CUtensorMap& map_w, char* memory,
                     u64* full, u64* empty, int m, int n, int k)
{
    Place at{0, 1};
    int tiles = ((m + BM - 1) / BM) * ((n + BN - 1) / BN);
    for (int number = blockIdx.x; number < tiles; number += gridDim.x) {
        int2 tile = tile_at(number, m, n);
        for (int start = 0; start < k; start += BK, at.next()) {
            u64* bar = &full[at.stage];
            char* here = memory + at.stage * STAGE;
            wait(&empty[at.stage], at.parity);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                           ptx::space_shared, bar, STAGE);
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, here,
                                      &map_a, {start, tile.x}, bar);
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global,
                                      here + A_BYTES, &map_w, {start, tile.y}, bar);
        }
    }
}

__device__ u32 pair(float low, float high)
{
    __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<u32&>(both);
}

__device__ void barrier(int group)
{
    asm volatile("bar.sync %0, 128;" :: "r"(group) : "memory");
}

__device__ void store(const CUtensorMap& map_c, const float (&d)[BN / 2], char* staged,
                      int row, int col, int t, int group)
{
    int lane = t % 32, line = t / 32 * 16 + t % 16;
    #pragma unroll
    for (int p = 0; p < BN / 64; ++p) {
        char* here = staged + p % 2 * STAGED;
        if (t == 0)
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>{});
        barrier(group);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int piece = (lane / 16 + 2 * j) ^ line % 8;
            const float* o = d + p * 32 + j * 8;
            u32 to = __cvta_generic_to_shared(here + line * 128 + piece * 16);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
                         "{%1, %2, %3, %4};"
                         :: "r"(to), "r"(pair(o[0], o[1])), "r"(pair(o[2], o[3])),
                            "r"(pair(o[4], o[5])), "r"(pair(o[6], o[7])) : "memory");
        }
        ptx::fence_proxy_async(ptx::space_shared);
        barrier(group);
        if (t == 0) {
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map_c,
                                      {col + 64 * p, row}, here);
            ptx::cp_async_bulk_commit_group();
        }
    }
}

__global__ void __launch_bounds__(384, 1)
matmul(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_w,
       const __grid_constant__ CUtensorMap map_c, int m, int n, int k)
{
    extern __shared__ char raw[];
    char* memory = raw + (1024 - __cvta_generic_to_shared(raw) % 1024) % 1024;
    __shared__ u64 full[STAGES], empty[STAGES];
    int group = threadIdx.x / 128, t = threadIdx.x % 128;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&empty[s], 2);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            copy(map_a, map_w, memory, full, empty, m, n, k);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int half = (group - 1) * 64;
    char* staged = memory + STAGES * STAGE + (group - 1) * 2 * STAGED;
    float d[BN / 2];
    Place at;
    int before = 0, tiles = ((m + BM - 1) / BM) * ((n + BN - 1) / BN);
    for (int number = blockIdx.x; number < tiles; number += gridDim.x) {
        int2 tile = tile_at(number, m, n);
        for (int start = 0; start < k; start += BK, at.next()) {
            char* here = memory + at.stage * STAGE;
            u64 a = descriptor(here + half * 128), w = descriptor(here + A_BYTES);
            wait(&full[at.stage], at.parity);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                wgmma(d, a + 2 * i, w + 2 * i, start > 0 || i > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            wgmma_wait<1>(d);  // the stage before has been read
            if (start > 0 && t == 0)
                ptx::mbarrier_arrive(&empty[before]);
            before = at.stage;
        }
        wgmma_wait<0>(d);
        if (t == 0)
            ptx::mbarrier_arrive(&empty[before]);
        store(map_c, d, staged, tile.x + half, tile.y, t, group);
    }
    if (t == 0)
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
}

static CUtensorMap mapped(const void* x, u64 rows, u64 cols, u32 box_rows)
{
    static void* encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (!encode)
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000,
                                         cudaEnableDefault, &found);
    CUtensorMap map{};
    u64 sizes[] = {cols, rows}, stride = 2 * cols;
    u32 box[] = {64, box_rows}, steps[] = {1, 1};
    reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(encode)(
        &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(x), sizes, &stride,
        box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return map;
}

extern "C" cudaError_t launch(const void* a, const void* w, void* c, int m, int n, int k,
                              cudaStream_t stream)
{
    static cudaError_t large = cudaFuncSetAttribute(
        matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    if (large != cudaSuccess)
        return large;
    matmul<<<BLOCKS, 384, SHARED, stream>>>(mapped(a, m, k, BM), mapped(w, n, k, BN),
                                            mapped(c, m, n, 64), m, n, k);
    return cudaGetLastError();
}
