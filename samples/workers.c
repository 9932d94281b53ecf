/* SPDX-License-Identifier: MIT */
/*
 * A program that forks workers. Each worker gives up its privileges by a seccomp filter, and
 *records its jobs nevertheless.
 *
 *	workers WORKERS JOBS
 */
#include <user_events/user_events.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKER_JOB(FIELD) FIELD(u32, worker) FIELD(u64, result) FIELD(text, what)
USER_EVENT_DEFINE(worker_job, WORKER_JOB)

static struct user_event slices = USER_EVENT_INIT;

/* Other system calls than those for records get EPERM. */
static int enter_sandbox(void) {
#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_writev),
        ALLOW(SYS_fcntl),
        ALLOW(SYS_fstat),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int work(uint32_t number, uint64_t jobs) {
    int errors = 0;

    if (enter_sandbox())
        return 1;
    for (uint64_t job = 1; job <= jobs; job++) {
        errors += user_event_slice(&slices, 'B', "square") != 0;
        errors += USER_EVENT_RECORD(worker_job, .worker = number, .result = job * job,
                                    .what = job % 2 ? "odd" : "even") != 0;
        errors += user_event_slice(&slices, 'E', NULL) != 0;
    }
    return errors;
}

int main(int argc, char** argv) {
    const long workers = argc > 1 ? atol(argv[1]) : 2, jobs = argc > 2 ? atol(argv[2]) : 10;
    int status, result = 0;

    if (worker_job_register() || user_event_register(&slices, USER_EVENT_SLICES("worker_slices")))
        fputs("workers: not traced\n", stderr);
    for (long i = 0; i < workers; i++)
        if (fork() == 0)
            _exit(work((uint32_t)i, (uint64_t)jobs) ? 1 : 0);
    while (wait(&status) > 0)
        result |= status;
    worker_job_unregister();
    user_event_unregister(&slices);
    return result ? 1 : 0;
}
