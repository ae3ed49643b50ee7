"""What app_syscalls.txt says, and what we do about the rest. For the checks beside it."""
import pathlib

LIST = pathlib.Path(__file__).resolve().parent / "app_syscalls.txt"

# Refused calls that are harmless, by arm64 number: our entry point (android_entry.cc) answers
# them with ENOSYS and the caller goes on without. A call that is made while signals are
# blocked must not be added: there a refusal kills, and android_calls.cc is the cure.
ANSWERED = {
    99: "set_robust_list",  # glibc, for each thread; serves mutexes between processes only.
    293: "rseq",  # glibc, at start; makes sched_getcpu cheaper.
    439: "faccessat2",  # glibc falls back to faccessat.
}

# In the binary, but only on paths that a phone does not take: libcrypto's random numbers
# use shared memory on kernels older than getrandom.
NOT_TAKEN = {194: "shmget", 196: "shmat", 197: "shmdt"}


def allowed():
    """number -> name of the calls that every release allows since 8, the first with a filter."""
    lines = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {int(words[1]): words[0] for words in lines if len(words) == 2}
