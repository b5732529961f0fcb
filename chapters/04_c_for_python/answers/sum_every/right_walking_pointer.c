// verdict: pass
// The pointer itself goes along.
#include <stddef.h>

double sum_every(const float *x, size_t n, size_t step)
{
    double total = 0;
    for (size_t left = (n + step - 1) / step; left > 0; left--) {
        total += *x;
        if (left > 1)
            x += step;
    }
    return total;
}
