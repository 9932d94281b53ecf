# SPDX-License-Identifier: GPL-2.0-only
"""Reads a trace of Perfetto as its trace_processor does, with the code that protoc makes."""
import importlib
import os
import subprocess
import sys
import tempfile
import zlib

DIRECTORY = tempfile.TemporaryDirectory()
HERE = os.path.dirname(os.path.abspath(__file__))
PHASES = {1: "B", 2: "E", 3: "i", 4: "C"}


def messages():
    if "perfetto_pb2" not in sys.modules:
        subprocess.run(["protoc", f"-I{HERE}", f"--python_out={DIRECTORY.name}", "perfetto.proto"], check=True)
        sys.path.insert(0, DIRECTORY.name)
    return importlib.import_module("perfetto_pb2")


def packets(data):
    """All packets. None has a field that is not in perfetto.proto."""
    trace = messages().Trace.FromString(data)
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == len(data)
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            yield from packets(zlib.decompress(packet.compressed_packets))
        else:
            yield packet


def value_of(annotation):
    for kind in "uint_value", "int_value", "double_value", "string_value":
        if annotation.HasField(kind):
            return getattr(annotation, kind)
    return [value_of(each) for each in annotation.array_values]


class Sequence:
    """What the packets with one trusted_packet_sequence_id have said so far."""
    def __init__(self):
        self.clocks, self.incremental, self.default_clock = {}, set(), None
        self.event_names, self.annotation_names = {}, {}

    def read(self, packet):
        # SEQ_INCREMENTAL_STATE_CLEARED: what came before is forgotten, but for the clocks.
        if packet.sequence_flags & 1:
            self.event_names, self.annotation_names = {}, {}
        for clock in packet.clock_snapshot.clocks:
            self.clocks[clock.clock_id] = clock.timestamp
            if clock.is_incremental:
                assert 64 <= clock.clock_id < 128
                self.incremental.add(clock.clock_id)
        if packet.HasField("trace_packet_defaults"):
            self.default_clock = packet.trace_packet_defaults.timestamp_clock_id
        for table, names in ((self.event_names, packet.interned_data.event_names),
                             (self.annotation_names, packet.interned_data.debug_annotation_names)):
            for name in names:
                assert name.iid not in table
                table[name.iid] = name.name

    def time(self, packet):
        clock = packet.timestamp_clock_id if packet.HasField("timestamp_clock_id") else self.default_clock
        if clock not in self.incremental:
            return packet.timestamp
        self.clocks[clock] += packet.timestamp
        return self.clocks[clock]

    def arguments(self, event):
        return {self.annotation_names[each.name_iid] if each.HasField("name_iid") else each.name: value_of(each)
                for each in event.debug_annotations}

    def name(self, event):
        return self.event_names[event.name_iid] if event.HasField("name_iid") else event.name


def events_of(data):
    """A list of events, with "ph", "name", "time" (in ns), "track" (with its parents, outermost first), "pid",
    "tid", "args", "flows", "value" and "lost"."""
    sequences, tracks, result = {}, {}, []
    for packet in packets(data):
        sequence = sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        assert packet.trusted_packet_sequence_id and (packet.sequence_flags & 1 or sequence.default_clock)
        sequence.read(packet)
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid and packet.track_descriptor.uuid not in tracks
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        chain = [tracks[event.track_uuid]]
        while chain[0].parent_uuid:
            chain.insert(0, tracks[chain[0].parent_uuid])
        assert (event.type == 4) == chain[-1].HasField("counter")
        threads = [track.thread for track in chain if track.HasField("thread")]
        processes = [track.process for track in chain if track.HasField("process")] + threads
        result.append({
            "ph": PHASES[event.type], "name": sequence.name(event), "time": sequence.time(packet),
            "track": [track.name or track.thread.thread_name or track.process.process_name for track in chain],
            "uuid": event.track_uuid, "pid": processes[0].pid if processes else 0,
            "tid": threads[0].tid if threads else 0, "args": sequence.arguments(event), "flows": list(event.flow_ids),
            "value": event.counter_value if event.HasField("counter_value") else event.double_counter_value,
            "lost": packet.previous_packet_dropped})
    return result
