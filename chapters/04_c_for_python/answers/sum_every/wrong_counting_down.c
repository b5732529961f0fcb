// verdict: heap-buffer-overflow
// From the last one that counts down to 0.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    size_t last = n ? (n - 1) / step * step : 0;
    for (size_t i = last; n && i >= 0; i -= step) {
        total += x[i];  // <- here
    }
    return total;
}
