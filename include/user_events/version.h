/* SPDX-License-Identifier: MIT */
/*
 * The version of the library, and that of its objects. For C11 and C++.
 */
#ifndef USER_EVENTS_VERSION_H
#define USER_EVENTS_VERSION_H

/* The version of these headers, 10203 for 1.2.3. */
#define USER_EVENTS_VERSION 10000

/*
 * The layout of the library's objects. All that the headers declare for C++, except the kernel's
 * structures in file.h, is in an inline namespace of this name, also with a suffix (see
 * USER_EVENTS_CXX_LAYOUT), or of this name with the prefix user_events_. So parts of a process that
 * were compiled with headers of different layouts share no object but, with g++, variable
 * templates. Change the number when an object's members or their meaning change, or when a function
 * changes that shares objects with other parts of a process.
 * selftests/library/user_space/shared_test.cpp has the sizes of the objects.
 */
#define USER_EVENTS_LAYOUT layout_5

/*
 * A program that is compiled with USER_EVENTS_NO_CHECKS does not check whether the file is still
 * open: recording makes no system call except write() and writev(), and does not read the
 * processor's clock, which PR_SET_TSC can forbid. The program must not close the library's
 * descriptor, as closefrom() does: records would go into the file that gets the number. For
 * sandboxes that kill a process because of other system calls.
 */
#ifdef USER_EVENTS_NO_CHECKS
#undef USER_EVENTS_LAYOUT
#define USER_EVENTS_LAYOUT layout_5_unchecked
#endif

#ifdef __cplusplus

#include <cstddef>

/*
 * A function that records text reads a std::string, but its own name does not tell which class that
 * is. So parts of a process with different classes std::string share neither functions nor objects:
 * those of libc++ and of libstdc++, and the old one of libstdc++ (_GLIBCXX_USE_CXX11_ABI=0).
 */
#define USER_EVENTS_JOINED_OF(name, suffix) name##suffix
#define USER_EVENTS_JOINED(name, suffix) USER_EVENTS_JOINED_OF(name, suffix)
#if defined _LIBCPP_VERSION
#define USER_EVENTS_CXX_LAYOUT USER_EVENTS_JOINED(USER_EVENTS_LAYOUT, _libcxx)
#elif defined _GLIBCXX_USE_CXX11_ABI && !_GLIBCXX_USE_CXX11_ABI
#define USER_EVENTS_CXX_LAYOUT USER_EVENTS_JOINED(USER_EVENTS_LAYOUT, _old_string)
#else
#define USER_EVENTS_CXX_LAYOUT USER_EVENTS_LAYOUT
#endif

/*
 * The ABI tag of the namespaces below becomes a part of the linker name of each variable whose type
 * is in them. Otherwise, the dynamic linker would let two shared libraries have one inline event,
 * with two layouts.
 */
#define USER_EVENTS_TEXT_OF(name) #name
#define USER_EVENTS_TAG_OF(name) USER_EVENTS_TEXT_OF(user_events_##name)
#define USER_EVENTS_TAG(layout) USER_EVENTS_TAG_OF(layout)

namespace user_events {
inline namespace USER_EVENTS_CXX_LAYOUT
    __attribute__((__abi_tag__(USER_EVENTS_TAG(USER_EVENTS_CXX_LAYOUT)))) {}
} // namespace user_events

#define USER_EVENTS_NAMESPACE user_events::inline USER_EVENTS_CXX_LAYOUT

/* What C programs also have, in the global namespace. */
#define USER_EVENTS_NAME_OF(name) user_events_##name
#define USER_EVENTS_NAME(layout) USER_EVENTS_NAME_OF(layout)
#define USER_EVENTS_C_LAYOUT USER_EVENTS_NAME(USER_EVENTS_LAYOUT)

inline namespace USER_EVENTS_C_LAYOUT
    __attribute__((__abi_tag__(USER_EVENTS_TAG(USER_EVENTS_LAYOUT)))) {}

#else

/* ISO C has no empty source files. */
_Static_assert(USER_EVENTS_VERSION >= 10000, "the first version");

#endif

#endif
