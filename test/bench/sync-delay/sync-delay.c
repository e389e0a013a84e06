/* Preloaded (LD_PRELOAD), it makes each fsync and fdatasync of a file take SYNC_DELAY_MS milliseconds more, as the disks of
   many clouds do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static int wait_after(int fd, int result) {
  const char *delay = getenv("SYNC_DELAY_MS");
  struct stat status;
  if (result != 0 || delay == NULL || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return result;
  long microseconds = (long)(atof(delay) * 1000);
  struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return result;
}

int fsync(int fd) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return wait_after(fd, next(fd));
}

int fdatasync(int fd) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return wait_after(fd, next(fd));
}
