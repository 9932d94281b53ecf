// SPDX-License-Identifier: GPL-2.0-or-later
// The commands. Each is in a file of its name, but `disable` in enable.cpp.
#pragma once

#include "cli.hpp"
#include "fleet.hpp"

namespace tool {

action compare(arguments& with);
action delete_events(arguments& with);
action disable(arguments& with);
action doctor(arguments& with);
action enable(arguments& with);
action export_records(arguments& with);
action hist(arguments& with);
action list(arguments& with);
action mark(arguments& with);
action record(arguments& with);
action register_event(arguments& with);
action report(arguments& with);
action rules(arguments& with);
action snapshot(arguments& with);
action top(arguments& with);
action watch(arguments& with);
action write_event(arguments& with);

/// In the order of --help.
inline constexpr command commands[] = {
    {"list", "list events, their fields, and who records them (also: status)", list},
    {"doctor", "find out why something does not work", doctor},
    {"watch", "show records as they are made", watch},
    {"record", "record into a file that trace-cmd and KernelShark read, too", record},
    {"snapshot", "write what an ftrace instance (a set of buffers) holds into a file", snapshot},
    {"report", "print a recording", report},
    {"compare", "find out what differs between two recordings", compare},
    {"top", "show which events and programs make most records", top},
    {"hist", "count records by the values of fields", hist},
    {"export", "convert a recording", export_records},
    {"ship", ship_summary, nullptr},
    {"serve", serve_summary, nullptr},
    {"register", "create events that stay without a program", register_event},
    {"delete", "delete events", delete_events},
    {"enable", "have ftrace record events", enable},
    {"disable", "have ftrace no longer record events", disable},
    {"rules", "list and change the rules, which also record events to come", rules},
    {"write", "make a record of an event", write_event},
    {"mark", "put a text among the records of all events", mark},
};

} // namespace tool
