#include <stdbool.h>
#include <stddef.h>

/* What jemalloc reads when the program starts: docs/decisions/server.md#allocator. What was freed goes back to the system after a
   second instead of ten. Without transparent huge pages: they would keep what loading freed, and make nothing here faster. */
const char *malloc_conf = "dirty_decay_ms:1000,thp:never";

/* Absent where jemalloc is not the malloc of C. */
__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

/* Starts the thread that gives memory back. As a setting it would start with the first allocation, which in a static program is
   before libc knows that stacks need not be executable: its stack would be, and where that is refused, as by
   MemoryDenyWriteExecute of systemd, there would be no thread. */
__attribute__((constructor)) static void start_background_thread(void) {
  bool is_wanted = true;
  if (mallctl) {
    mallctl("background_thread", NULL, NULL, &is_wanted, sizeof is_wanted);
  }
}
