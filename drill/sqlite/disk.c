/*
 * Between the service and the disk (LD_PRELOAD): records what SQLite does to its database file and to
 * the log beside it, and fails what it is told to.
 *
 * DISK_DATABASE  path of the database file, as the service opens it
 * DISK_RECORD    folder for the records; each process writes a file of its own
 * DISK_FAULT     file that holds a struct fault, which the drill may change at any time
 *
 * The index of the log (-shm) is left out: SQLite makes it again after a power cut.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 1 << 16 };
/* Microseconds that a sync takes at least, as on a disk: other threads go on meanwhile. */
enum { SYNC_TIME = 1500 };
enum file { NEITHER, DATABASE, LOG };
enum operation { WRITE = 1, SYNC, TRUNCATE, UNLINK, READ };
enum outcome { UNKNOWN, DONE, FAILED };

/* The data of a write follows. Times are nanoseconds of CLOCK_MONOTONIC. */
struct record {
  int32_t operation, file;
  uint64_t offset; /* of a write; the new size of a truncated file */
  uint64_t length;
  uint64_t start;
  uint64_t end; /* this and the outcome are known afterwards; 0 where the process was killed before */
  int64_t outcome;
};

/* What fails: the countdown-th such operation, and each one after it where the fault is lasting. */
struct fault {
  int32_t operation, file, error, countdown, lasting;
  int32_t fired; /* how often it has struck */
};

static unsigned char files[DESCRIPTORS];
static const char *database;
static int records;
static off_t end_of_records;
static volatile struct fault *fault;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  char path[PATH_MAX];
  database = getenv("DISK_DATABASE");
  snprintf(path, sizeof path, "%s/%llu.records", getenv("DISK_RECORD"), (unsigned long long)now());
  records = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  int fd = syscall(SYS_openat, AT_FDCWD, getenv("DISK_FAULT"), O_RDWR | O_CLOEXEC);
  fault = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (records < 0 || fault == MAP_FAILED) abort();
}

static enum file file_at(const char *path) {
  size_t length = database ? strlen(database) : 0;
  if (!database || strncmp(path, database, length) != 0) return NEITHER;
  return path[length] == '\0' ? DATABASE : strcmp(path + length, "-wal") == 0 ? LOG : NEITHER;
}

static enum file file_of(int fd) {
  return fd >= 0 && fd < DESCRIPTORS ? files[fd] : NEITHER;
}

/* The error of an operation that is to fail; 0 for all others. */
static int error_for(int32_t operation, enum file file) {
  int error = 0;
  if (fault->operation != operation || fault->file != (int32_t)file) return 0;
  pthread_mutex_lock(&lock);
  if (fault->operation == operation && --fault->countdown <= 0) {
    error = fault->error;
    fault->fired++;
    if (!fault->lasting) fault->operation = 0;
  }
  pthread_mutex_unlock(&lock);
  return error;
}

static void put(const void *data, size_t size, off_t offset) {
  if (syscall(SYS_pwrite64, records, data, size, offset) != (long)size) abort();
}

/* Records an operation before it is done, so that none is missing where the process is killed. */
static off_t announce(struct record record, const void *data) {
  pthread_mutex_lock(&lock);
  off_t place = end_of_records;
  put(&record, sizeof record, place);
  if (data) put(data, record.length, place + sizeof record);
  end_of_records += sizeof record + (data ? record.length : 0);
  pthread_mutex_unlock(&lock);
  return place;
}

/* Does a system call, or fails it, and records the outcome. */
static long perform(struct record record, const void *data, long number, long a, long b, long c,
                    long d) {
  record.start = now();
  off_t place = announce(record, data);
  int error = error_for(record.operation, record.file);
  if (record.operation == SYNC) usleep(SYNC_TIME);
  long result = error ? -1 : syscall(number, a, b, c, d);
  if (error) errno = error;
  error = errno;
  int whole = record.operation == WRITE ? result == (long)record.length : result == 0;
  uint64_t outcome[] = {now(), whole ? DONE : FAILED};
  put(outcome, sizeof outcome, place + offsetof(struct record, end));
  errno = error;
  return result;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) {
  enum file file = file_of(fd);
  if (!file) return syscall(SYS_pwrite64, fd, data, size, offset);
  struct record record = {WRITE, file, offset, size};
  return perform(record, data, SYS_pwrite64, fd, (long)data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off_t offset) {
  int error = file_of(fd) ? error_for(READ, file_of(fd)) : 0;
  if (!error) return syscall(SYS_pread64, fd, data, size, offset);
  errno = error;
  return -1;
}

int fsync(int fd) {
  enum file file = file_of(fd);
  if (!file) return syscall(SYS_fsync, fd);
  return perform((struct record){SYNC, file}, NULL, SYS_fsync, fd, 0, 0, 0);
}

int ftruncate64(int fd, off_t size) {
  enum file file = file_of(fd);
  if (!file) return syscall(SYS_ftruncate, fd, size);
  return perform((struct record){TRUNCATE, file, size}, NULL, SYS_ftruncate, fd, size, 0, 0);
}

int unlink(const char *path) {
  enum file file = file_at(path);
  if (!file) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  struct record record = {UNLINK, file};
  return perform(record, NULL, SYS_unlinkat, AT_FDCWD, (long)path, 0, 0);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  int fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (fd >= 0 && fd < DESCRIPTORS) files[fd] = file_at(path);
  return fd;
}

/* Other builds of SQLite may call these. */
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
ssize_t pread(int, void *, size_t, off_t) __attribute__((alias("pread64")));
int fdatasync(int) __attribute__((alias("fsync")));
int ftruncate(int, off_t) __attribute__((alias("ftruncate64")));
int open(const char *, int, ...) __attribute__((alias("open64")));
