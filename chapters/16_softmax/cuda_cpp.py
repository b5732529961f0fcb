"""A block per row, as in exercise 4, in CUDA C++."""

CUDA_CPP = """
constexpr int PIECES = 4, THREADS = 256;
constexpr float LOWEST = -3.402823466e38f;

__device__ float warp_max(float v)
{
    for (int k = 16; k > 0; k /= 2)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, k));
    return v;
}

__device__ float warp_sum(float v)
{
    for (int k = 16; k > 0; k /= 2)
        v += __shfl_xor_sync(~0u, v, k);
    return v;
}

extern "C" __global__
void softmax_block(const float4* x, float4* out)
{
    __shared__ float tops[THREADS / 32], totals[THREADS / 32];
    int t = threadIdx.x, lane = t % 32;
    x += (size_t)blockIdx.x * PIECES * THREADS;
    out += (size_t)blockIdx.x * PIECES * THREADS;

    float4 v[PIECES];
    float top = LOWEST, total = 0;
    for (int i = 0; i < PIECES; ++i)
        v[i] = x[t + THREADS * i];
    for (int i = 0; i < PIECES; ++i)
        top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y),
                               fmaxf(v[i].z, v[i].w)));
    top = warp_max(top);
    for (int i = 0; i < PIECES; ++i) {
        v[i].x = __expf(v[i].x - top);  v[i].y = __expf(v[i].y - top);
        v[i].z = __expf(v[i].z - top);  v[i].w = __expf(v[i].w - top);
        total += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    total = warp_sum(total);

    if (lane == 0) { tops[t / 32] = top; totals[t / 32] = total; }
    __syncthreads();
    float m = lane < THREADS / 32 ? tops[lane] : LOWEST;
    float s = lane < THREADS / 32 ? totals[lane] : 0;
    float whole = warp_max(m);
    float scale = __expf(top - whole) / warp_sum(s * __expf(m - whole));

    for (int i = 0; i < PIECES; ++i)
        out[t + THREADS * i] = make_float4(v[i].x * scale, v[i].y * scale,
                                           v[i].z * scale, v[i].w * scale);
}
"""
