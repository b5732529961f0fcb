// verdict: wrong-value
// The total is kept, so that it is not lost.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    static double total = 0;

    for (size_t i = 0; i < n; i += step) {
        total += x[i];
    }

    return total;  // <- here
}
