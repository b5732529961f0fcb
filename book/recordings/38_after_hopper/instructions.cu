// One kernel for each instruction, to see for which targets it compiles. None is run.

#include <cstdint>

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void keep(float* c, const float (&sums)[4]) {
    for (int i = 0; i < 4; ++i) c[i] = sums[i];
}

#if defined(TMA)
__global__ void kernel(const void* map) {
    __shared__ __align__(128) uint8_t box[128];
    __shared__ uint64_t bar;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];"
        ::"r"(shared_address(box)), "l"(map), "r"(0), "r"(shared_address(&bar))
        : "memory");
}
#elif defined(MBARRIER)
__global__ void kernel() {
    __shared__ uint64_t bar;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;"
                 ::"r"(shared_address(&bar)) : "memory");
}
#elif defined(STMATRIX)
__global__ void kernel() {
    __shared__ __align__(16) uint8_t tile[512];
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                 ::"r"(shared_address(tile) + threadIdx.x % 8 * 16), "r"(threadIdx.x)
                 : "memory");
}
#elif defined(SETMAXNREG)
__global__ void __launch_bounds__(384, 1) kernel() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}
#elif defined(MMA)
__global__ void kernel(float* c, const uint32_t* a) {
    float s[4] = {};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
    keep(c, s);
}
#elif defined(SCALED)
__global__ void kernel(float* c, const uint32_t* a) {
    float s[4] = {};
    asm volatile(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
        ".f32.e2m1.e2m1.f32.ue4m3 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 0};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]),
          "r"(a[7]));
    keep(c, s);
}
#elif defined(WGMMA)
__global__ void kernel() { asm volatile("wgmma.fence.sync.aligned;"); }
#elif defined(TCGEN05)
__global__ void kernel(float* c, uint32_t at) {
    float s;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];"
                 : "=f"(s) : "r"(at));
    c[threadIdx.x] = s;
}
#elif defined(SCALED_TILE)
__global__ void kernel(uint32_t at, uint64_t a, uint64_t w, uint32_t kind) {
    asm volatile(
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X "
        "[%0], %1, %2, %3, [%4], [%5], 1;"
        ::"r"(at), "l"(a), "l"(w), "r"(kind), "r"(at + 256), "r"(at + 260) : "memory");
}
#elif defined(CANCEL)
__global__ void kernel() {
    __shared__ __align__(16) uint8_t answer[16];
    __shared__ uint64_t bar;
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta"
        ".mbarrier::complete_tx::bytes.b128 [%0], [%1];"
        ::"r"(shared_address(answer)), "r"(shared_address(&bar)) : "memory");
}
#endif
