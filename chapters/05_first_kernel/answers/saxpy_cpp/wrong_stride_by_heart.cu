// verdict: unwritten
// There are 128 threads, so the next element is 128 further on.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += 128)
        y[i] += alpha * x[i];  // <- here
}
