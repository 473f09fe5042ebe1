/* Loaded before the C library: ends the process at the n-th call that changes a file below a folder.
   A write is done by half first. `arm` sets n for this process, so that one that forks need not start anew. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, calls = 0;
static char folder[4096];

void arm(long n, const char *below) {
  left = n;
  calls = 0;
  strncpy(folder, below, sizeof folder - 1);
}

long counted(void) { return calls; }

static int below_folder(int fd) {
  char link[64], path[4096];
  if (!folder[0]) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

static int is_last(void) {
  calls++;
  return left >= 0 && calls > left;
}

static void die(void) { kill(getpid(), SIGKILL); }

#define REAL(name, type) type real = (type)dlsym(RTLD_NEXT, name)

typedef ssize_t (*pwrite_type)(int, const void *, size_t, off_t);
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
  REAL("pwrite64", pwrite_type);
  if (below_folder(fd) && is_last()) {
    real(fd, data, size / 2, at);
    die();
  }
  return real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

typedef ssize_t (*write_type)(int, const void *, size_t);
ssize_t write(int fd, const void *data, size_t size) {
  REAL("write", write_type);
  if (below_folder(fd) && is_last()) {
    real(fd, data, size / 2);
    die();
  }
  return real(fd, data, size);
}

typedef int (*fd_type)(int);
int fsync(int fd) {
  REAL("fsync", fd_type);
  if (below_folder(fd) && is_last()) die();
  return real(fd);
}
int fdatasync(int fd) {
  REAL("fdatasync", fd_type);
  if (below_folder(fd) && is_last()) die();
  return real(fd);
}

typedef int (*truncate_type)(int, off_t);
int ftruncate64(int fd, off_t size) {
  REAL("ftruncate64", truncate_type);
  if (below_folder(fd) && is_last()) die();
  return real(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

typedef int (*unlink_type)(const char *);
int unlink(const char *path) {
  REAL("unlink", unlink_type);
  if (folder[0] && strncmp(path, folder, strlen(folder)) == 0 && is_last()) die();
  return real(path);
}
