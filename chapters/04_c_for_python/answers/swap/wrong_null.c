// verdict: null
// A pointer begins at NULL, as a name begins at None.
#include <stddef.h>

void swap(int *a, int *b)
{
    int *kept = NULL;
    *kept = *a;  // <- here
    *a = *b;
    *b = *kept;
}
