// Preloaded into a process (LD_PRELOAD), it writes down in one order, whichever thread it was, what that does to the files
// of the folder RECORDED_FOLDER: the file RECORDED_LOG is a row of records, each with a name and the bytes of a write.
// Of the index of a write-ahead log (-shm) nothing is recorded, as SQLite makes it afresh after a power cut.
// Each sync takes three milliseconds longer than it does, so that who does not wait for it is seen not to.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK };

struct record {
  uint32_t kind;
  uint32_t name_length;
  // Of a sync: how many records there were when it began, as what is written meanwhile need not be on the disk.
  uint64_t offset;
  uint64_t length;
};

#define MOST_FILES 4096
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char *names[MOST_FILES];
static const char *folder;
static size_t folder_length;
static int log_file = -1;
static uint64_t records;

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("RECORDED_LOG");
  folder = getenv("RECORDED_FOLDER");
  if (log == NULL || folder == NULL) abort();
  folder_length = strlen(folder);
  log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_file == -1) abort();
}

static void append(const void *bytes, size_t length) {
  for (const char *at = bytes; length > 0;) {
    long written = syscall(SYS_write, log_file, at, length);
    if (written <= 0) abort();
    at += written;
    length -= written;
  }
}

static void record(uint32_t kind, const char *name, uint64_t offset, const void *bytes, uint64_t length) {
  struct record header = {kind, strlen(name), offset, length};
  append(&header, sizeof header);
  append(name, header.name_length);
  if (bytes != NULL) append(bytes, length);
  records += 1;
}

// What is recorded of a path: its name in the folder, or nothing of the folder itself; NULL where nothing is to be recorded.
static const char *name_of(const char *path) {
  if (folder == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  const char *rest = path + folder_length;
  if (*rest == 0) return rest;
  size_t length = strlen(rest);
  if (*rest != '/' || (length > 4 && strcmp(rest + length - 4, "-shm") == 0)) return NULL;
  return rest + 1;
}

static const char *name_of_open(int file) {
  return file >= 0 && file < MOST_FILES ? names[file] : NULL;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
  const char *name = name_of(path);
  if (name == NULL) return syscall(SYS_openat, at, path, flags, mode);
  pthread_mutex_lock(&one_at_a_time);
  int is_new = syscall(SYS_faccessat, at, path, F_OK) != 0;
  int file = syscall(SYS_openat, at, path, flags, mode);
  if (file >= MOST_FILES) abort();
  if (file >= 0) {
    names[file] = strdup(name);
    if (is_new) record(CREATE, name, 0, NULL, 0);
    else if (flags & O_TRUNC) record(TRUNCATE, name, 0, NULL, 0);
  }
  pthread_mutex_unlock(&one_at_a_time);
  return file;
}

#define MODE_OF(flags, mode) \
  mode_t mode = 0; \
  if (flags & O_CREAT) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags, mode)
  return opened(AT_FDCWD, path, flags, mode);
}

int close(int file) {
  pthread_mutex_lock(&one_at_a_time);
  if (name_of_open(file) != NULL) {
    free(names[file]);
    names[file] = NULL;
  }
  int result = syscall(SYS_close, file);
  pthread_mutex_unlock(&one_at_a_time);
  return result;
}

static ssize_t written_at(int file, const void *bytes, size_t length, off_t offset) {
  if (name_of_open(file) == NULL) return syscall(SYS_pwrite64, file, bytes, length, offset);
  pthread_mutex_lock(&one_at_a_time);
  ssize_t written = syscall(SYS_pwrite64, file, bytes, length, offset);
  if (written > 0) record(WRITE, names[file], offset, bytes, written);
  pthread_mutex_unlock(&one_at_a_time);
  return written;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  return written_at(file, bytes, length, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
  return written_at(file, bytes, length, offset);
}

ssize_t write(int file, const void *bytes, size_t length) {
  if (name_of_open(file) == NULL) return syscall(SYS_write, file, bytes, length);
  pthread_mutex_lock(&one_at_a_time);
  ssize_t written = syscall(SYS_write, file, bytes, length);
  if (written > 0) record(WRITE, names[file], lseek(file, 0, SEEK_CUR) - written, bytes, written);
  pthread_mutex_unlock(&one_at_a_time);
  return written;
}

static int cut_to(int file, off_t length) {
  if (name_of_open(file) == NULL) return syscall(SYS_ftruncate, file, length);
  pthread_mutex_lock(&one_at_a_time);
  int result = syscall(SYS_ftruncate, file, length);
  if (result == 0) record(TRUNCATE, names[file], length, NULL, 0);
  pthread_mutex_unlock(&one_at_a_time);
  return result;
}

int ftruncate(int file, off_t length) {
  return cut_to(file, length);
}

int ftruncate64(int file, off64_t length) {
  return cut_to(file, length);
}

// Others go on writing meanwhile, and may answer too early.
static int synced(long how, int file) {
  if (name_of_open(file) == NULL) return syscall(how, file);
  pthread_mutex_lock(&one_at_a_time);
  uint64_t before = records;
  pthread_mutex_unlock(&one_at_a_time);
  usleep(3000);
  int result = syscall(how, file);
  pthread_mutex_lock(&one_at_a_time);
  if (result == 0) record(SYNC, names[file], before, NULL, 0);
  pthread_mutex_unlock(&one_at_a_time);
  return result;
}

int fdatasync(int file) {
  return synced(SYS_fdatasync, file);
}

int fsync(int file) {
  return synced(SYS_fsync, file);
}

int unlink(const char *path) {
  const char *name = name_of(path);
  if (name == NULL) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&one_at_a_time);
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (result == 0) record(UNLINK, name, 0, NULL, 0);
  pthread_mutex_unlock(&one_at_a_time);
  return result;
}
