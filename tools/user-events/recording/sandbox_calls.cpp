// SPDX-License-Identifier: GPL-2.0-or-later
// The part of the sandbox that seccomp enforces: a table of the system calls that are refused, and
// the program that the kernel runs for each call.
//
// The table names what is refused, not what is allowed: the libraries, which differ from release to
// release, work as before, and a call that reaches nothing outside the process needs no row.
#include "recording/sandbox.hpp"

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::recording {

namespace {

// Calls that not every architecture has are macros, so only the preprocessor can ask for them.
constexpr int absent = -1;
#ifndef SYS_accept
#define SYS_accept absent
#endif
#ifndef SYS_chmod
#define SYS_chmod absent
#define SYS_chown absent
#define SYS_fork absent
#define SYS_lchown absent
#define SYS_link absent
#define SYS_mknod absent
#define SYS_symlink absent
#define SYS_utime absent
#define SYS_utimes absent
#define SYS_vfork absent
#endif
#ifndef SYS_creat
#define SYS_creat absent
#define SYS_mkdir absent
#define SYS_open absent
#define SYS_rename absent
#define SYS_rmdir absent
#define SYS_unlink absent
#endif
#ifndef SYS_futimesat
#define SYS_futimesat absent
#endif
#ifndef SYS_iopl
#define SYS_ioperm absent
#define SYS_iopl absent
#endif
#ifndef SYS_kexec_file_load
#define SYS_kexec_file_load absent
#endif
#ifndef SYS_renameat
#define SYS_renameat absent
#endif
#ifndef SYS_utime
#define SYS_utime absent
#endif
#ifndef SYS_clock_settime64
#define SYS_clock_settime64 absent
#endif
// Newer than the headers of the oldest supported Debian. New calls have one number everywhere.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif
#ifndef SYS_inotify_init
#define SYS_inotify_init absent
#endif
#ifndef SYS_socketcall
#define SYS_socketcall absent
#endif
#ifndef SYS_ipc
#define SYS_ipc absent
#endif
#ifndef SYS_semop
#define SYS_semop absent
#endif
#ifndef SYS_utimensat_time64
#define SYS_utimensat_time64 absent
#endif
#ifndef SYS_fcntl64
#define SYS_fcntl64 absent
#endif
#ifndef SYS_truncate64
#define SYS_truncate64 absent
#endif
#ifndef SYS_chown32
#define SYS_chown32 absent
#define SYS_fchown32 absent
#define SYS_lchown32 absent
#endif

#if defined(__x86_64__)
constexpr unsigned architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned architecture = AUDIT_ARCH_AARCH64;
#elif defined(__arm__)
constexpr unsigned architecture = AUDIT_ARCH_ARM;
#elif defined(__i386__)
constexpr unsigned architecture = AUDIT_ARCH_I386;
#else
constexpr unsigned architecture = 0;
#endif

/// In calls of another ABI of the machine, a number means another call.
constexpr unsigned x32_bit = 0x40000000;

/// The calls up to this number have been looked at; later ones the kernel seems not to have.
constexpr unsigned last_known = 469;

/// What the process must not need for the call to be refused.
enum class unless { never, network };

struct refused_call {
    int number;
    unless needed = unless::never;
};

constexpr refused_call refused_calls[] = {
    // Other programs and processes. clone() is below.
    {SYS_execve},
    {SYS_execveat},
    {SYS_fork},
    {SYS_vfork},
    {SYS_ptrace},
    {SYS_process_vm_readv},
    {SYS_process_vm_writev},
    {SYS_kcmp},
    {SYS_tkill},
    {SYS_rt_sigqueueinfo},
    {SYS_rt_tgsigqueueinfo},
    {SYS_pidfd_open},
    {SYS_pidfd_getfd},
    {SYS_pidfd_send_signal},
    {SYS_setpriority},
    {SYS_sched_setaffinity},
    {SYS_sched_setscheduler},
    {SYS_sched_setparam},
    {SYS_sched_setattr},
    {SYS_ioprio_set},
    {SYS_unshare},
    {SYS_setns},
    // Files by their names. open() and openat() are below.
    {SYS_openat2},
    {SYS_creat},
    {SYS_unlink},
    {SYS_unlinkat},
    {SYS_rename},
    {SYS_renameat},
    {SYS_renameat2},
    {SYS_mkdir},
    {SYS_mkdirat},
    {SYS_rmdir},
    {SYS_link},
    {SYS_linkat},
    {SYS_symlink},
    {SYS_symlinkat},
    {SYS_mknod},
    {SYS_mknodat},
    {SYS_truncate},
    {SYS_truncate64},
    {SYS_chmod},
    {SYS_fchmod},
    {SYS_fchmodat},
    {SYS_fchmodat2},
    {SYS_chown},
    {SYS_chown32},
    {SYS_fchown},
    {SYS_fchown32},
    {SYS_lchown},
    {SYS_lchown32},
    {SYS_fchownat},
    {SYS_utime},
    {SYS_utimes},
    {SYS_futimesat},
    {SYS_utimensat},
    {SYS_utimensat_time64},
    {SYS_setxattr},
    {SYS_lsetxattr},
    {SYS_fsetxattr},
    {SYS_setxattrat},
    {SYS_removexattr},
    {SYS_lremovexattr},
    {SYS_fremovexattr},
    {SYS_removexattrat},
    {SYS_file_setattr},
    {SYS_name_to_handle_at},
    {SYS_open_by_handle_at},
    {SYS_inotify_init1},
    {SYS_inotify_init},
    {SYS_fanotify_init},
    // The network, and other ways to talk to processes. socket() is below.
    {SYS_connect, unless::network},
    {SYS_bind},
    {SYS_listen},
    {SYS_accept},
    {SYS_accept4},
    {SYS_socketcall},
    {SYS_ipc},
    {SYS_shmget},
    {SYS_shmat},
    {SYS_shmctl},
    {SYS_semget},
    {SYS_semop},
    {SYS_semctl},
    {SYS_msgget},
    {SYS_msgsnd},
    {SYS_msgrcv},
    {SYS_msgctl},
    {SYS_mq_open},
    {SYS_mq_unlink},
    // The machine.
    {SYS_mount},
    {SYS_umount2},
    {SYS_pivot_root},
    {SYS_chroot},
    {SYS_move_mount},
    {SYS_open_tree},
    {SYS_open_tree_attr},
    {SYS_fsopen},
    {SYS_fsmount},
    {SYS_fspick},
    {SYS_mount_setattr},
    {SYS_swapon},
    {SYS_swapoff},
    {SYS_quotactl},
    {SYS_acct},
    {SYS_reboot},
    {SYS_kexec_load},
    {SYS_kexec_file_load},
    {SYS_init_module},
    {SYS_finit_module},
    {SYS_delete_module},
    {SYS_settimeofday},
    {SYS_clock_settime},
    {SYS_clock_settime64},
    {SYS_clock_adjtime},
    {SYS_adjtimex},
    {SYS_sethostname},
    {SYS_setdomainname},
    {SYS_syslog},
    {SYS_iopl},
    {SYS_ioperm},
    {SYS_personality},
    // Parts of the kernel that have often had faults.
    {SYS_add_key},
    {SYS_request_key},
    {SYS_keyctl},
    {SYS_bpf},
    {SYS_perf_event_open},
    {SYS_userfaultfd},
    {SYS_io_uring_setup},
    {SYS_io_uring_enter},
    {SYS_io_uring_register},
};

/// Requests of ioctl() that put text into the terminal's input, as if its user typed it, and those
/// of ioctl() and fcntl() that have the kernel send a signal to another process.
constexpr unsigned refused_requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD, FIOSETOWN, SIOCSPGRP};
constexpr unsigned refused_commands[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};

/// The program. Each part returns if it is about the call, and otherwise goes on behind its end.
class filter {
public:
    filter() {
        load(offsetof(seccomp_data, arch));
        add(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
        answer(EPERM);
        load(offsetof(seccomp_data, nr));
        if (architecture == AUDIT_ARCH_X86_64) {
            add(BPF_JMP | BPF_JGE | BPF_K, x32_bit, 0, 1);
            answer(EPERM);
        }
        // 32-bit Arm has calls of its own with large numbers.
        if (architecture != AUDIT_ARCH_ARM) {
            add(BPF_JMP | BPF_JGT | BPF_K, last_known, 0, 1);
            answer(ENOSYS);
        }
    }

    void refuse(int number, int error = EPERM) {
        if (number == absent)
            return;
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1);
        answer(error);
    }

    /// Allows the call only if this argument, as far as the mask has its bits, is one of these.
    void require(int number, unsigned argument, unsigned mask,
                 const std::vector<unsigned>& values) {
        one_of(number, argument, mask, values, 0, EPERM);
    }
    /// Refuses the call if the argument is one of these.
    void refuse_values(int number, unsigned argument, const std::vector<unsigned>& values) {
        one_of(number, argument, ~0u, values, EPERM, 0);
    }

    bool install() {
        answer(0);
        const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
    }

private:
    void add(unsigned code, unsigned operand, std::size_t if_true = 0, std::size_t if_false = 0) {
        code_.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                         static_cast<std::uint8_t>(if_false), operand});
    }
    void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }
    /// 0 lets the call through.
    void answer(int error) {
        add(BPF_RET | BPF_K,
            error ? SECCOMP_RET_ERRNO | static_cast<unsigned>(error) : SECCOMP_RET_ALLOW);
    }

    void one_of(int number, unsigned argument, unsigned mask, const std::vector<unsigned>& values,
                int found, int other) {
        if (number == absent)
            return;
        const std::size_t size = values.size();
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, size + 4);
        // The kernel takes these arguments as 32 bits: the upper half of a register does not count.
        load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t) +
             (std::endian::native == std::endian::big ? 4 : 0));
        add(BPF_ALU | BPF_AND | BPF_K, mask);
        for (std::size_t i = 0; i < size; i++)
            add(BPF_JMP | BPF_JEQ | BPF_K, values[i], size - i, 0);
        answer(other);
        answer(found);
    }

    std::vector<sock_filter> code_;
};

/// Opening files. With directories, Landlock decides where new files are made and files continued.
void add_opening(filter& to, const allowances& allowed) {
    constexpr unsigned writing = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
    struct {
        int number;
        unsigned flags;
    } const calls[] = {{SYS_open, 1}, {SYS_openat, 2}};
    for (const auto& call : calls) {
        if (!allowed.directories.empty())
            to.require(call.number, call.flags, writing,
                       {O_WRONLY | O_CREAT | O_EXCL, O_WRONLY | O_APPEND});
        else if (allowed.network)
            to.require(call.number, call.flags, writing, {O_RDONLY});
        else
            to.refuse(call.number);
    }
}

/// Signals and limits are for this process only, and it starts threads but no process.
void add_processes(filter& to) {
    const auto self = static_cast<unsigned>(getpid());
    to.require(SYS_kill, 0, ~0u, {self});
    to.require(SYS_tgkill, 0, ~0u, {self});
    to.require(SYS_prlimit64, 0, ~0u, {0, self});
    to.require(SYS_clone, 0, CLONE_THREAD, {CLONE_THREAD});
    // Its flags are in memory, which a filter cannot see. libc takes clone() instead.
    to.refuse(SYS_clone3, ENOSYS);
}

} // namespace

bool filter_system_calls(const allowances& allowed) {
    if (architecture == 0) {
        errno = ENOSYS;
        return false;
    }
    filter filter;
    for (const auto& call : refused_calls)
        if (!(call.needed == unless::network && allowed.network))
            filter.refuse(call.number);
    add_opening(filter, allowed);
    add_processes(filter);
    if (allowed.network) {
        filter.require(SYS_socket, 0, ~0u, {AF_INET, AF_INET6});
        // Of datagrams, each can be sent to a socket with a name.
        filter.require(SYS_socketpair, 1, 0xf, {SOCK_STREAM});
    } else {
        filter.refuse(SYS_socket);
        filter.refuse(SYS_socketpair);
    }
    for (const int call : {static_cast<int>(SYS_fcntl), static_cast<int>(SYS_fcntl64)})
        filter.refuse_values(call, 1, {std::begin(refused_commands), std::end(refused_commands)});
    filter.refuse_values(SYS_ioctl, 1, {std::begin(refused_requests), std::end(refused_requests)});
    return filter.install();
}

} // namespace tool::recording
