set trace-commands on
break largest
run
print s
print *s
print *s->data@3
next
next
print i
print s->data[i] > best
watch best
continue
backtrace
