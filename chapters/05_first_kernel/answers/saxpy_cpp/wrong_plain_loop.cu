// verdict: race
// In C++ one loops over the array.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += alpha * x[i];  // <- here
}
