/* Shifts the clock of a program (CLOCK_REALTIME) by the seconds in the first 8 bytes of the file $CLOCK_SHIFT, at any time: for
   LD_PRELOAD. libfaketime hangs in programs that have an allocator of their own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const long *shift;

__attribute__((constructor)) static void map(void) {
  const char *path = getenv("CLOCK_SHIFT");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *found = file < 0 ? MAP_FAILED : mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (found == MAP_FAILED) abort();
  close(file);
  shift = found;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, id, now);
  if (!failed && id == CLOCK_REALTIME && shift) now->tv_sec += *shift;
  return failed;
}
