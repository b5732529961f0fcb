// verdict: compile
// cuda.grid is the index.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = cuda.grid(1);  // <- here

    if (i < n)
        y[i] += alpha * x[i];
}
