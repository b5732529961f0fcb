// verdict: wrong-value
// The smaller one goes first.
void swap(int *a, int *b)
{
    if (*a > *b) {
        int kept = *a;
        *a = *b;
        *b = kept;
    }
}
