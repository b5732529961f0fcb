// verdict: compile
// The line ends, so the statement does.
void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b
    *b = kept;  // <- here
}
