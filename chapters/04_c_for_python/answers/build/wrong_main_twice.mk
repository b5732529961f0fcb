# verdict: make-error
# Copied, and one name not changed.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.h
    $(CC) $(CFLAGS) -c main.c

stats.o: stats.c stats.h  # <- here
    $(CC) $(CFLAGS) -c main.c

.PHONY: clean
clean:
    rm -f report main.o stats.o
