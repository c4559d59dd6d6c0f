/* What jemalloc reads when the program starts: docs/decisions/0016-allocator.md. What was freed goes back to the system after a
   second instead of ten. Without transparent huge pages: they would keep what loading freed, and make nothing here faster. */
const char *malloc_conf = "dirty_decay_ms:1000,thp:never";
