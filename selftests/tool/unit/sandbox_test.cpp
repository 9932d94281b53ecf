// SPDX-License-Identifier: GPL-2.0-only
// The sandbox in which the tool reads recordings: a child process enters it, and tries what an
// attacker would.
#include "catch.hpp"
#include "recording/sandbox.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <grp.h>
#include <iterator>
#include <linux/capability.h>
#include <new>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using tool::recording::allowances;
using tool::recording::enter_sandbox;

namespace {

/// Not root, and not what root becomes.
constexpr unsigned user = 12345;

bool is_root() {
    return geteuid() == 0;
}

void require(bool is_done, const char* what) {
    if (!is_done)
        throw std::system_error(errno, std::generic_category(), what);
}

/// Returns what waitpid() does for a child process that runs this.
int status_of(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        int result = 255;
        try {
            result = body();
        } catch (const std::exception&) {
        }
        _exit(result);
    }
    require(child > 0, "fork");
    int status = 0;
    require(waitpid(child, &status, 0) == child, "waitpid");
    return status;
}

/// The errno of an act in a child process, 0 for success, -1 if the process ends otherwise. An act
/// returns -1 if it fails.
int error_of(const std::function<long()>& act) {
    const int status = status_of([&] { return act() == -1 ? errno : 0; });
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int error_inside(const std::function<long()>& act, const allowances& allowed = {}) {
    return error_of([&] {
        enter_sandbox(allowed);
        return act();
    });
}

/// A directory that every user can write to, with a file that every user can read and write.
class open_directory {
public:
    open_directory() {
        std::string name = "/var/tmp/sandbox-XXXXXX";
        require(mkdtemp(name.data()) != nullptr, "mkdtemp");
        path = name;
        require(chmod(name.c_str(), 0777) == 0, "chmod");
        file = name + "/file";
        std::ofstream(file) << "kept";
        require(chmod(file.c_str(), 0666) == 0, "chmod");
    }
    open_directory(const open_directory&) = delete;
    open_directory& operator=(const open_directory&) = delete;
    ~open_directory() {
        std::error_code error;
        std::filesystem::remove_all(path, error);
    }

    std::string path, file;
};

/// A system call with arguments that do no harm if it is not refused.
struct call {
    const char* name;
    long number;
    std::array<long, 5> arguments = {-1, -1, -1, -1, -1};

    long operator()() const {
        return syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                       arguments[4]);
    }
};

const long no_name = reinterpret_cast<long>("");

const call refused_calls[] = {
    {"execve", SYS_execve, {0, 0, 0}},
    {"execveat", SYS_execveat, {-1, 0, 0, 0, 0}},
    {"ptrace", SYS_ptrace, {-1, -1, 0, 0}},
    {"process_vm_readv", SYS_process_vm_readv, {-1, 0, 0, 0, 0}},
    {"process_vm_writev", SYS_process_vm_writev, {-1, 0, 0, 0, 0}},
    {"pidfd_open", SYS_pidfd_open, {-1, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"kill of the parent", SYS_kill, {getpid(), 0}},
    {"kill of all", SYS_kill, {-1, 12345}},
    {"tkill", SYS_tkill, {-1, 0}},
    {"tgkill of the parent", SYS_tgkill, {getpid(), getpid(), 0}},
    {"rt_sigqueueinfo", SYS_rt_sigqueueinfo, {-1, 0, 0}},
    {"setpriority", SYS_setpriority},
    {"prlimit64 of the parent", SYS_prlimit64, {getpid(), RLIMIT_CORE, 0, 0}},
    {"a signal to the owner of a file", SYS_fcntl, {-1, F_SETOWN, 0}},
    {"a signal of another number", SYS_fcntl, {-1, F_SETSIG, 0}},
    {"sched_setscheduler", SYS_sched_setscheduler, {-1, -1, 0}},
    {"unshare", SYS_unshare, {0}},
    {"setns", SYS_setns},
    {"clone of a process", SYS_clone, {CLONE_SIGHAND, 0, 0, 0, 0}},
    {"openat", SYS_openat, {AT_FDCWD, no_name, O_RDONLY, 0}},
    {"openat for writing", SYS_openat, {AT_FDCWD, no_name, O_WRONLY, 0}},
    {"openat2", SYS_openat2, {AT_FDCWD, no_name, 0, 0}},
    {"unlinkat", SYS_unlinkat, {AT_FDCWD, no_name, 0}},
    {"renameat2", SYS_renameat2, {AT_FDCWD, no_name, AT_FDCWD, no_name, 0}},
    {"mkdirat", SYS_mkdirat, {AT_FDCWD, no_name, 0}},
    {"linkat", SYS_linkat, {AT_FDCWD, no_name, AT_FDCWD, no_name, 0}},
    {"symlinkat", SYS_symlinkat, {no_name, AT_FDCWD, no_name}},
    {"mknodat", SYS_mknodat, {AT_FDCWD, no_name, 0, 0}},
    {"truncate", SYS_truncate, {no_name, 0}},
    {"fchmod", SYS_fchmod, {-1, 0}},
    {"fchmodat", SYS_fchmodat, {AT_FDCWD, no_name, 0}},
    // Since Linux 6.6.
    {"fchmodat2", 452, {AT_FDCWD, no_name, 0, 0}},
    {"fchown", SYS_fchown, {-1, 0, 0}},
    {"fchownat", SYS_fchownat, {AT_FDCWD, no_name, 0, 0, 0}},
    {"utimensat", SYS_utimensat, {AT_FDCWD, no_name, 0, 0}},
    {"setxattr", SYS_setxattr, {no_name, no_name, 0, 0, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0}},
    {"inotify_init1", SYS_inotify_init1},
    {"socket of IPv4", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
    {"socket of a path", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, 0}},
    {"connect", SYS_connect, {-1, 0, 0}},
    {"bind", SYS_bind, {-1, 0, 0}},
    {"listen", SYS_listen, {-1, 0}},
    {"accept4", SYS_accept4, {-1, 0, 0, 0}},
    {"shmget", SYS_shmget, {-1, 0, 0}},
    {"shmctl", SYS_shmctl, {-1, 0, 0}},
    {"mq_open", SYS_mq_open, {no_name, 0, 0, 0}},
    {"mount", SYS_mount, {-1, -1, -1, 0, -1}},
    {"umount2", SYS_umount2, {no_name, 0}},
    {"chroot", SYS_chroot, {no_name}},
    {"fsopen", SYS_fsopen},
    {"kexec_load", SYS_kexec_load, {0, -1, 0, -1}},
    {"finit_module", SYS_finit_module},
    {"delete_module", SYS_delete_module, {-1, 0}},
    {"clock_settime", SYS_clock_settime, {-1, 0}},
    {"sethostname", SYS_sethostname, {0, -1}},
    {"syslog", SYS_syslog},
    {"personality", SYS_personality, {0xffffffff}},
    {"add_key", SYS_add_key},
    {"keyctl", SYS_keyctl},
    {"bpf", SYS_bpf, {-1, 0, 0}},
    {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
    {"userfaultfd", SYS_userfaultfd},
    {"io_uring_setup", SYS_io_uring_setup, {0, 0}},
    {"typing into the terminal", SYS_ioctl, {-1, TIOCSTI, 0}},
    {"pasting into the terminal", SYS_ioctl, {-1, TIOCLINUX, 0}},
#ifdef SYS_open
    {"open", SYS_open, {no_name, O_RDONLY, 0}},
    {"creat", SYS_creat, {no_name, 0}},
    {"unlink", SYS_unlink, {no_name}},
    {"rename", SYS_rename, {no_name, no_name}},
    {"mkdir", SYS_mkdir, {no_name, 0}},
    {"chmod", SYS_chmod, {no_name, 0}},
    {"chown", SYS_chown, {no_name, 0, 0}},
    {"link", SYS_link, {no_name, no_name}},
    {"symlink", SYS_symlink, {no_name, no_name}},
#endif
};

void become_user() {
    require(setresuid(user, user, user) == 0, "setresuid");
}

/// With a capability that it would keep across execve().
void become_user_with_capability() {
    constexpr unsigned mask = 1 << CAP_NET_RAW;
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    become_user();
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct some[_LINUX_CAPABILITY_U32S_3]{{mask, mask, mask}, {}};
    require(syscall(SYS_capset, &header, some) == 0, "capset");
    require(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) == 0, "ambient");
}

/// What another process sees of one that has entered the sandbox.
std::string seen_in_proc(
    const char* file, const allowances& allowed, const std::function<void()>& before = [] {}) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
        try {
            before();
        } catch (const std::exception&) {
            _exit(1);
        }
        enter_sandbox(allowed);
        if (write(ends[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    char ready;
    require(read(ends[0], &ready, 1) == 1, "wait for the child");
    std::ifstream from("/proc/" + std::to_string(child) + "/" + file);
    std::string text(std::istreambuf_iterator<char>(from), {});
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    return text;
}

/// The words behind a name at the beginning of a line.
std::string line_of(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name)) {
            std::istringstream words(line.substr(name.size()));
            std::string result;
            for (std::string word; words >> word;)
                result += (result.empty() ? "" : " ") + word;
            return result;
        }
    return "no such line";
}

long open_it(const std::string& path, int flags) {
    return open(path.c_str(), flags | O_CLOEXEC, 0600);
}

/// A socket that listens at 127.0.0.1.
struct listener {
    listener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        require(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
        require(listen(socket, 5) == 0, "listen");
        require(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0, "name");
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() { close(socket); }

    long connect() const {
        const int made = ::socket(AF_INET, SOCK_STREAM, 0);
        return made < 0
                   ? -1
                   : ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }

    int socket;
    sockaddr_in address{};
};

} // namespace

TEST_CASE("calls that reach files, processes, the network or the machine fail with EPERM") {
    for (const auto& call : refused_calls) {
        INFO(call.name);
        CHECK(error_inside(call) == EPERM);
        // So it is the sandbox that refuses. Another user may be refused anyway.
        if (is_root()) {
            CHECK(error_of(call) != EPERM);
        }
    }
}

TEST_CASE("the process has no capabilities and can gain none") {
    const std::string status = seen_in_proc("status", {});
    for (const char* const set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"}) {
        INFO(set);
        CHECK(line_of(status, set) == "0000000000000000");
    }
    if (is_root())
        CHECK(line_of(status, "CapBnd:") == "0000000000000000");
    CHECK(line_of(status, "NoNewPrivs:") == "1");
    CHECK(line_of(status, "Seccomp:") == "2");
}

TEST_CASE("a user with capabilities loses them") {
    REQUIRE(is_root());
    const std::string status = seen_in_proc("status", {}, become_user_with_capability);
    for (const char* const set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"}) {
        INFO(set);
        CHECK(line_of(status, set) == "0000000000000000");
    }
}

TEST_CASE("other processes of the user cannot trace the process") {
    CHECK(error_of([]() -> long {
              prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
              enter_sandbox({});
              return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1;
          }) == 0);
    // As a user, for whom nothing else clears it.
    if (is_root())
        CHECK(error_of([]() -> long {
                  become_user();
                  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
                  enter_sandbox({});
                  return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1;
              }) == 0);
}

TEST_CASE("root becomes a user and a group that own nothing, without other groups") {
    REQUIRE(is_root());
    const std::string status = seen_in_proc("status", {}, [] {
        const gid_t groups[] = {1, 2};
        require(setgroups(2, groups) == 0, "setgroups");
    });
    CHECK(line_of(status, "Uid:") == "65534 65534 65534 65534");
    CHECK(line_of(status, "Gid:") == "65534 65534 65534 65534");
    CHECK(line_of(status, "Groups:").empty());
}

TEST_CASE("another user stays itself") {
    REQUIRE(is_root());
    const std::string status = seen_in_proc("status", {}, become_user);
    CHECK(line_of(status, "Uid:") == "12345 12345 12345 12345");
    CHECK(line_of(status, "Seccomp:") == "2");
    CHECK(line_of(status, "NoNewPrivs:") == "1");
}

TEST_CASE("root that cannot become another user says so and goes on without capabilities") {
    REQUIRE(is_root());
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const int status = status_of([&] {
        dup2(ends[1], STDERR_FILENO);
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
        syscall(SYS_capset, &header, none);
        enter_sandbox({});
        return getuid() == 0 && open("/etc/passwd", O_RDONLY) < 0 ? 0 : 1;
    });
    std::array<char, 1000> said{};
    CHECK(read(ends[0], said.data(), said.size() - 1) > 0);
    CHECK(std::string(said.data()).find("root cannot become another user") != std::string::npos);
    CHECK(status == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("a sandbox in a sandbox is no failure") {
    CHECK(error_inside([] {
              enter_sandbox({});
              return open("/etc/passwd", O_RDONLY) < 0 ? 0 : -1;
          }) == 0);
}

TEST_CASE("memory is limited, and there is no core file") {
    constexpr std::uint64_t most = 1 << 30;
    const allowances allowed{.memory = most};
    const std::string limits = seen_in_proc("limits", allowed);
    CHECK(line_of(limits, "Max address space") == "1073741824 1073741824 bytes");
    CHECK(line_of(limits, "Max core file size") == "0 0 bytes");
    CHECK(error_inside(
              [] {
                  try {
                      const std::string large(most, 'x');
                      return large.size() > 0 ? 0 : -1;
                  } catch (const std::bad_alloc&) {
                      errno = ENOMEM;
                      return -1;
                  }
              },
              allowed) == ENOMEM);
}

TEST_CASE("the process can start threads and signal itself, but not start processes") {
    CHECK(error_inside([] {
              int made = 0;
              std::thread([&] { made = 1; }).join();
              return made == 1 && kill(getpid(), 0) == 0 && raise(0) == 0 ? 0 : -1;
          }) == 0);
    CHECK(error_inside([]() -> long {
              const pid_t child = fork();
              if (child == 0)
                  _exit(0);
              return child;
          }) == EPERM);
    // libc then takes clone(), whose flags the filter can see.
    CHECK(error_inside([] { return syscall(SYS_clone3, 0, 0); }) == ENOSYS);
}

TEST_CASE("the process still ends with its parent") {
    int death_signal = 0;
    CHECK(error_inside([&] {
              prctl(PR_GET_PDEATHSIG, &death_signal);
              return death_signal == 0 ? 0 : -1;
          }) == 0);
    CHECK(error_of([] {
              prctl(PR_SET_PDEATHSIG, SIGKILL);
              enter_sandbox({});
              int kept = 0;
              prctl(PR_GET_PDEATHSIG, &kept);
              return kept == SIGKILL ? 0 : -1;
          }) == 0);
}

TEST_CASE("open files stay readable and writable") {
    const open_directory directory;
    CHECK(error_of([&]() -> long {
              const int file = open(directory.file.c_str(), O_RDWR);
              enter_sandbox({});
              char byte;
              return pread(file, &byte, 1, 0) == 1 && pwrite(file, "K", 1, 0) == 1 ? 0 : -1;
          }) == 0);
}

TEST_CASE(
    "with a directory, files are made there and continued, and not read, renamed or removed") {
    const open_directory allowed, other;
    const allowances needs{.directories = {allowed.path}};
    const std::string made = allowed.path + "/made", renamed = allowed.path + "/renamed";
    CHECK(error_inside([&] { return open_it(made, O_WRONLY | O_CREAT | O_EXCL); }, needs) == 0);
    CHECK(error_inside([&] { return open_it(made, O_WRONLY | O_APPEND); }, needs) == 0);
    for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_WRONLY | O_CREAT})
        CHECK(error_inside([&] { return open_it(made, flags); }, needs) == EPERM);
    CHECK(error_inside([&] { return rename(made.c_str(), renamed.c_str()); }, needs) == EPERM);
    CHECK(error_inside([&] { return mkdir(renamed.c_str(), 0700); }, needs) == EPERM);
    CHECK(error_inside([&] { return unlink(made.c_str()); }, needs) == EPERM);

    CHECK(error_inside([&] { return open_it(other.path + "/made", O_WRONLY | O_CREAT | O_EXCL); },
                       needs) == EACCES);
    CHECK(error_inside([&] { return open_it(other.file, O_WRONLY | O_APPEND); }, needs) == EACCES);
    CHECK(error_inside([&] { return open_it("/etc/passwd", O_RDONLY); }, needs) == EPERM);
    CHECK(error_inside([&] { return open_it("/proc/self/maps", O_RDONLY); }, needs) == EPERM);
    CHECK(error_inside([&] { return link(other.file.c_str(), made.c_str()); }, needs) == EPERM);
    CHECK(error_inside([&] { return symlink("/etc/passwd", made.c_str()); }, needs) == EPERM);
}

TEST_CASE("with the network, the process connects, and reads what that takes, but writes nothing") {
    const listener server;
    const open_directory other;
    const allowances needs{.network = true};
    CHECK(error_inside([&] { return server.connect(); }, needs) == 0);
    CHECK(error_inside([&] { return open_it("/etc/passwd", O_RDONLY); }, needs) == 0);
    CHECK(error_inside([&] { return open_it(other.file, O_RDONLY); }, needs) == EACCES);
    CHECK(error_inside([&] { return open_it(other.file, O_WRONLY); }, needs) == EPERM);
    CHECK(error_inside([&] { return open_it(other.path + "/made", O_RDWR | O_CREAT | O_EXCL); },
                       needs) == EPERM);
    CHECK(error_inside([] { return socket(AF_UNIX, SOCK_STREAM, 0); }, needs) == EPERM);
    // libcurl has one between its threads.
    int pair[2];
    CHECK(error_inside([&] { return socketpair(AF_UNIX, SOCK_STREAM, 0, pair); }, needs) == 0);
    CHECK(error_inside([&] { return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair); }, needs) == EPERM);
    CHECK(error_inside([] { return socket(AF_PACKET, SOCK_RAW, 0); }, needs) == EPERM);
    CHECK(error_inside([&] { return listen(server.socket, 1); }, needs) == EPERM);
    CHECK(error_inside([] { return execl("/bin/true", "true", nullptr); }, needs) == EPERM);
}

TEST_CASE("without seccomp, Landlock refuses all files; without Landlock, seccomp does") {
    const open_directory other;
    CHECK(error_of([&]() -> long {
              prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              if (!tool::recording::confine_files({}))
                  return 0;
              return open_it(other.file, O_RDONLY);
          }) == EACCES);
    CHECK(error_of([&]() -> long {
              prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              if (!tool::recording::filter_system_calls({}))
                  return 0;
              return open_it(other.file, O_RDONLY);
          }) == EPERM);
}
