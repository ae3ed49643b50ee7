// Functions of glibc that would make a system call which Android refuses to apps, at a
// place where our entry point (android_entry.cc) cannot help, or where ENOSYS would not do.
// The linker puts these in their place in static builds (--wrap=NAME makes every call of
// NAME, glibc's own included, a call of __wrap_NAME, and __real_NAME is the original).
#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

extern "C" {

// glibc makes the call `accept`; bionic never does, so Android does not allow it.
int __wrap_accept(int fd, sockaddr* address, socklen_t* size) {
  return accept4(fd, address, size, 0);
}

// pthread_create blocks every signal, then tries clone3 (on x86-64 since glibc 2.34, on
// arm64 since 2.37). A call that is refused while SIGSYS is blocked kills the process. Told
// that there is no clone3, pthread_create uses clone, which Android allows.
int __wrap___clone3(void*, std::size_t, int (*)(void*), void*) {
  errno = ENOSYS;
  return -1;
}

int __real___clone(int (*start)(void*), void* stack, int flags, void* argument, pid_t* parent_tid,
                   void* tls, pid_t* child_tid);

// A new thread starts with the mask of its parent, every signal blocked, and its first call
// is set_robust_list, which is refused. After this pthread_create restores the parent's
// mask, and the thread takes its own.
int __wrap___clone(int (*start)(void*), void* stack, int flags, void* argument, pid_t* parent_tid,
                   void* tls, pid_t* child_tid) {
  sigset_t refusals;
  sigemptyset(&refusals);
  sigaddset(&refusals, SIGSYS);
  sigprocmask(SIG_UNBLOCK, &refusals, nullptr);
  return __real___clone(start, stack, flags, argument, parent_tid, tls, child_tid);
}

}  // extern "C"
