// verdict: pass
// Both pointers go to the thread's first element and move on, in 64 bits.
extern "C" __global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const float *end = x + n;

    y += first;
    for (x += first; x < end; x += stride, y += stride)
        *y += alpha * *x;
}
