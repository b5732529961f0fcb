# verdict: pass
# One rule for all object files.
CFLAGS = -Wall -O2
OBJECTS = main.o stats.o

report: $(OBJECTS)
    $(CC) $^ -o $@

%.o: %.c stats.h
    $(CC) $(CFLAGS) -c $<

.PHONY: clean
clean:
    rm -f report $(OBJECTS)
