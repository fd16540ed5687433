/*
 * Preloaded into a process: while the file FAIL_SYNC_WHILE exists, the next fsync or fdatasync of a file
 * whose path ends with FAIL_SYNC_OF fails with EIO, and removes it. So one fails, as on a real disk: the
 * next sync after it succeeds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(int fd) {
  const char *suffix = getenv("FAIL_SYNC_OF"), *flag = getenv("FAIL_SYNC_WHILE");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  ssize_t tail = suffix ? (ssize_t)strlen(suffix) : 0;
  if (!flag || tail == 0 || length < tail || memcmp(path + length - tail, suffix, tail) != 0) return 0;
  if (unlink(flag) != 0) return 0;
  errno = EIO;
  return 1;
}

int fsync(int fd) { return fails(fd) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails(fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }
