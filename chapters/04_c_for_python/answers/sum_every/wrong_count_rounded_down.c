// verdict: wrong-value
// There are n / step of them.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    for (size_t k = 0; k < n / step; k++) {
        total += x[k * step];
    }
    return total;  // <- here
}
