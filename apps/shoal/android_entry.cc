// Where a static build starts: a few instructions before glibc's own _start, so
// that the same binary runs in adb shell and inside an Android app such as Termux.
//
// Since Android 8 an app runs under a seccomp filter that answers every system
// call bionic does not use with SIGSYS. glibc makes such calls before main()
// (set_robust_list, rseq) although it can do without them: it only needs to hear
// ENOSYS. The signal can be caught, the refused call is skipped, and the handler
// may choose its result; so this entry point installs a handler that answers
// ENOSYS, then goes on to _start as if the kernel had called it.
//
// It is linked into static builds only (ELF entry: shoal_android_start). Nothing
// here may use libc, thread-local storage or a stack protector: none exists yet.
// This is the one file outside kernels/ that knows instruction sets, because an
// entry point has no portable form. x86-64 is here so that it can be tested under a
// real seccomp filter on any PC.
//
// The kernel kills a process that makes a refused call while it blocks SIGSYS: threads of
// ours must leave it unblocked. What glibc does with signals blocked is in android_calls.cc.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

namespace {

// The kernel's sigaction, which is not libc's; the same on arm64 and x86-64.
struct KernelSigaction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

// si_code of a SIGSYS that a seccomp filter raised; not in every libc's <signal.h>.
constexpr int kSysSeccomp = 1;
constexpr unsigned long kSigsysBit = 1UL << (SIGSYS - 1);

}  // namespace

#if defined(__aarch64__)

// The kernel starts a process with zero in x0, where _start expects a function to be
// called at exit; sp must be as the kernel left it.
asm(".text\n"
    ".globl shoal_android_start\n"
    ".type shoal_android_start, %function\n"
    "shoal_android_start:\n"
    "  bl shoal_answer_refused_calls\n"
    "  mov x0, #0\n"
    "  b _start\n"
    ".size shoal_android_start, . - shoal_android_start\n");

namespace {

constexpr unsigned long kRestorerFlag = 0;  // The kernel returns from handlers through its vDSO.
constexpr void (*kRestorer)() = nullptr;

long RawCall(long number, long a, const void* b, long c, long d) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register const void* x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory", "cc");
  return x0;
}

void SetCallResult(ucontext_t& context, long result) {
  context.uc_mcontext.regs[0] = static_cast<unsigned long>(result);
}

}  // namespace

#elif defined(__x86_64__)

// As above: rdx holds the function to be called at exit. The call leaves the stack
// aligned as the ABI asks, because the kernel hands over an aligned rsp.
asm(".text\n"
    ".globl shoal_android_start\n"
    ".type shoal_android_start, @function\n"
    "shoal_android_start:\n"
    "  xorl %ebp, %ebp\n"
    "  call shoal_answer_refused_calls\n"
    "  xorl %edx, %edx\n"
    "  jmp _start\n"
    ".size shoal_android_start, . - shoal_android_start\n"
    // x86-64 kernels return from a handler only through code of the program.
    ".type shoal_sigreturn, @function\n"
    "shoal_sigreturn:\n"
    "  movl $15, %eax\n"  // rt_sigreturn
    "  syscall\n"
    ".size shoal_sigreturn, . - shoal_sigreturn\n");

extern "C" void shoal_sigreturn();

namespace {

constexpr unsigned long kRestorerFlag = 0x04000000;  // SA_RESTORER, private to libc's headers.
constexpr void (*kRestorer)() = shoal_sigreturn;

long RawCall(long number, long a, const void* b, long c, long d) {
  long result = number;
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory", "cc");
  return result;
}

void SetCallResult(ucontext_t& context, long result) {
  context.uc_mcontext.gregs[REG_RAX] = result;
}

}  // namespace

#else
#error "A static build needs an entry point for this instruction set."
#endif

namespace {

// Runs in place of the refused call. A SIGSYS that somebody merely sent interrupts the
// program anywhere, where the result register means something else: it is ignored.
void AnswerNotImplemented(int, siginfo_t* info, void* context) {
  if (info->si_code != kSysSeccomp) return;
  SetCallResult(*static_cast<ucontext_t*>(context), -ENOSYS);
}

}  // namespace

// Called by the entry point. Both calls are on Android's list and cannot fail with
// these arguments; there would be nobody to tell.
extern "C" void shoal_answer_refused_calls() {
  const KernelSigaction action = {AnswerNotImplemented, SA_SIGINFO | kRestorerFlag, kRestorer, 0};
  RawCall(SYS_rt_sigaction, SIGSYS, &action, 0, sizeof(action.mask));
  // A parent's signal mask outlives exec.
  RawCall(SYS_rt_sigprocmask, SIG_UNBLOCK, &kSigsysBit, 0, sizeof(kSigsysBit));
}
