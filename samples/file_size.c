/* SPDX-License-Identifier: MIT */
/*
 * The kernel's interface without a library: prints the size of each file that standard input names,
 * and records it.
 */
#include <linux/user_events.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Bit 0 says whether anything records the event for this program. */
static _Atomic uint32_t enabled;

static void record(int file, uint32_t index, uint64_t size, int32_t error, const char* path) {
    const uint32_t length = (uint32_t)strlen(path) + 1;
    /* The string directly follows its location: offset 0. */
    uint32_t location = DYN_LOC(0, length);
    struct iovec parts[] = {
        {&index, sizeof(index)},       {&size, sizeof(size)}, {&error, sizeof(error)},
        {&location, sizeof(location)}, {(void*)path, length},
    };

    /* EBADF: the event was disabled after the test of the bit. */
    if (writev(file, parts, 5) < 0 && errno != EBADF)
        perror("file_size: cannot write a record");
}

int main(void) {
    struct user_reg reg = {
        .size = sizeof(reg),
        .enable_bit = 0,
        .enable_size = sizeof(enabled),
        .enable_addr = (uintptr_t)&enabled,
        .name_args = (uintptr_t) "file_size u64 size; s32 error; __rel_loc char[] path",
    };
    struct user_unreg unreg = {
        .size = sizeof(unreg),
        .disable_bit = 0,
        .disable_addr = (uintptr_t)&enabled,
    };
    char path[1024];
    int file = open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC);

    if (file < 0 || ioctl(file, DIAG_IOCSREG, &reg) < 0) {
        perror("file_size: not traced");
        return 1;
    }
    while (fgets(path, sizeof(path), stdin)) {
        struct stat status = {0};
        int error;

        path[strcspn(path, "\n")] = '\0';
        error = stat(path, &status) < 0 ? errno : 0;
        printf("%s: %lld bytes\n", path, (long long)status.st_size);
        if (atomic_load_explicit(&enabled, memory_order_relaxed) & 1)
            record(file, reg.write_index, (uint64_t)status.st_size, error, path);
    }
    /* Before the memory of the bit is freed. exit() does so, too. */
    ioctl(file, DIAG_IOCSUNREG, &unreg);
    close(file);
    return 0;
}
