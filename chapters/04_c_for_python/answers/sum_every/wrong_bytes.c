// verdict: unaligned
// An address is a number, so step through it in bytes.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    const char *at = (const char *)x;
    for (size_t i = 0; i < n; i += step) {
        total += *(const float *)(at + i);  // <- here
    }
    return total;
}
