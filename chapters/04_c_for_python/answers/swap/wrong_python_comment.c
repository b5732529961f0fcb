// verdict: compile
// A comment as Python writes it.
void swap(int *a, int *b)
{
    # keep one of the two  // <- here
    int kept = *a;
    *a = *b;
    *b = kept;
}
