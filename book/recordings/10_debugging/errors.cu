// Two kinds of error: one that passes, one that stays.
#include <cstdio>

__global__ void store(float* out, long far)
{
    out[threadIdx.x + far] = 1;
}

static void say(const char* what, cudaError_t error)
{
    printf("%-32s %s\n", what, cudaGetErrorName(error));
}

int main()
{
    float *out, *more;
    say("cudaMalloc", cudaMalloc(&out, 4096));

    store<<<1, 2048>>>(out, 0);
    say("after <<<1, 2048>>>: last error", cudaGetLastError());
    say("                     last again", cudaGetLastError());
    say("                   synchronize", cudaDeviceSynchronize());

    store<<<1, 32>>>(out, 0);
    say("after <<<1, 32>>>:   last error", cudaGetLastError());
    say("                   synchronize", cudaDeviceSynchronize());

    store<<<1, 32>>>(out, 1L << 40);
    say("after a wild store:  last error", cudaGetLastError());
    say("                   synchronize", cudaDeviceSynchronize());
    say("                     last error", cudaGetLastError());
    say("                     last again", cudaGetLastError());
    say("                     cudaMalloc", cudaMalloc(&more, 4096));
    say("                       cudaFree", cudaFree(out));
}
