// Each block computes a tile of C = A W^T on a Blackwell GPU. A and W are bfloat16, with
// rows along k, and C is float32. All sizes are multiples of the tile's.
//
// Compiled for the book with nvcc -arch=sm_100a, and never run.

#include <cstdint>
#include <cuda.h>  // CUtensorMap

constexpr int M = 128, N = 256;  // the tile
constexpr int K = 64;            // 128 bytes along k, in shared memory
constexpr int COLUMNS = N;       // of tensor memory, one for each column of sums

// Bits 4-5: sums are float32; 7-9 and 10-12: both operands are bfloat16;
// from 17 on: N / 8; from 24 on: M / 16.
constexpr uint32_t KIND = 1u << 4 | 1u << 7 | 1u << 10 | N / 8 << 17 | M / 16 << 24;

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Chapter 22's descriptor, but for bit 46, which is 1 on Blackwell.
__device__ uint64_t descriptor(uint32_t address) {
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 46
           | 1ull << 62;
}

__device__ void mbarrier_init(uint64_t* bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 ::"r"(shared_address(bar)), "r"(count));
}

__device__ void mbarrier_expect(uint64_t* bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

__device__ void mbarrier_wait(uint64_t* bar, uint32_t parity) {
    asm volatile(
        "{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again; }"
        ::"r"(shared_address(bar)), "r"(parity) : "memory");
}

__device__ void tma_load(uint32_t to, const CUtensorMap* map, int col, int row,
                         uint64_t* bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        ::"r"(to), "l"(map), "r"(col), "r"(row), "r"(shared_address(bar)) : "memory");
}

// begin: instructions
__device__ void mma(uint32_t sums, uint64_t a, uint64_t w, uint32_t add) {
    asm volatile(
        "{ .reg .pred add; setp.ne.u32 add, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, add; }"
        ::"r"(sums), "l"(a), "l"(w), "r"(KIND), "r"(add) : "memory");
}

// Let the mbarrier count an arrival when all products so far are done.
__device__ void commit(uint64_t* bar) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
        ::"r"(shared_address(bar)) : "memory");
}

// Load eight columns of this thread's row.
__device__ void load_sums(float (&s)[8], uint32_t at) {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
        : "=f"(s[0]), "=f"(s[1]), "=f"(s[2]), "=f"(s[3]), "=f"(s[4]), "=f"(s[5]),
          "=f"(s[6]), "=f"(s[7])
        : "r"(at));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
// end: instructions

extern "C" __global__ __launch_bounds__(128) void tile(
    const __grid_constant__ CUtensorMap map_a,
    const __grid_constant__ CUtensorMap map_w, float* c, int steps, int ldc) {
    extern __shared__ __align__(1024) uint8_t memory[];
    __shared__ uint64_t full, empty, ready;
    __shared__ uint32_t allocated;
    const uint32_t a = shared_address(memory), w = a + M * K * 2;
    const int t = threadIdx.x, warp = t / 32;

    // begin: allocate
    if (warp == 0) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                     ::"r"(shared_address(&allocated)), "n"(COLUMNS) : "memory");
    }
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&empty, 1);
        mbarrier_init(&ready, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const uint32_t sums = allocated;
    // end: allocate

    // begin: multiply
    if (t == 0) {
        #pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            mbarrier_expect(&full, (M + N) * K * 2);
            tma_load(a, &map_a, step * K, blockIdx.y * M, &full);
            tma_load(w, &map_w, step * K, blockIdx.x * N, &full);
            mbarrier_wait(&full, step & 1);

            for (int k = 0; k < K / 16; ++k)
                mma(sums, descriptor(a) + 2 * k, descriptor(w) + 2 * k, step + k > 0);
            commit(&empty);
            mbarrier_wait(&empty, step & 1);
        }
        commit(&ready);
    }
    // end: multiply

    // begin: store
    mbarrier_wait(&ready, 0);
    __syncwarp();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");

    float* row = c + (blockIdx.y * M + t) * static_cast<int64_t>(ldc) + blockIdx.x * N;
    #pragma unroll 1
    for (int col = 0; col < N; col += 8) {
        float eight[8];
        load_sums(eight, sums + (warp * 32 << 16) + col);
        for (int i = 0; i < 8; ++i) row[col + i] = eight[i];
    }
    // end: store

    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0) {
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;"
                     ::"r"(sums), "n"(COLUMNS));
    }
}
