# SPDX-License-Identifier: GPL-2.0-only
"""Boots a kernel under QEMU, runs programs there, and checks what the guest reports.

tools/vm/run and selftests/run describe a guest with the class Guest. The script "init" runs in
it, and reports over the second serial port in the lines that Report.line() reads.
"""
import fcntl
import functools
import os
import re
import select
import shlex
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

KVM = "/dev/kvm"
VM = Path(__file__).resolve().parent
ROOT = VM.parent.parent
# A guest that reports nothing for as long as its program may take, and this long, has hung.
GRACE = 60
BOOT_LIMIT = 300
# The same for a system, which starts its services first.
SYSTEM_BOOT_LIMIT = 900
# How long a program may be silent until the run says what it waits for.
QUIET = 120

RESULT = re.compile(rb"^(not )?ok\b")
SKIPPED = re.compile(r"# *(?:skip|todo)", re.I)
# A message of the kernel on the console, where the output of programs may precede it.
MESSAGE = re.compile(r"\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? (.*)")
# What init writes to the log: "load", "begin JOB", "end JOB STATUS", "unload".
MARK = re.compile(r"user_events vm: (\w+)(?: \d\d-(\S+))?")
# The pattern is broad on purpose: a false alarm fails a run and is noticed, but a fault that does not match is not.
FAULT = re.compile(r"BUG:|WARNING:|Oops|Kernel panic|KASAN|UBSAN|general protection fault|[Uu]nable to handle|"
                   r"Call [Tt]race|INFO: task .* blocked|INFO: rcu|rcu: INFO|refcount_t|list_(?:add|del) corruption|"
                   r"[Ll]ockdep|circular locking|DEBUG_LOCKS_WARN|"
                   # kmemleak may lack memory for itself, and unload_test reads its report.
                   r"(?<!kmem)[Ll]eak|kmemleak: (?!Cannot allocate a scan area|\d+ new suspected memory leaks)")
# Tests provoke these, each with a call trace: processes killed at the memory limit of their control group, and a
# cache that the module gets no memory for when it is loaded: ENOMEM, or EINVAL where the kernel keeps no errno.
PROVOKED = re.compile(r"invoked oom-killer|kmem_cache_create.*\(user_events_.*\) failed with error -[12]2")
# The kernel's last message, of a guest that powers off.
END = re.compile(r"\] reboot: Power down$", re.M)
PLACE = re.compile(r"RIP: 0010:.*|pc : .*")
# The report of a breakpoint (int3) in the kernel's own code, not in a module's: where it was, the last byte
# that the processor had run, and what follows it in memory.
INT3 = re.compile(r"^\[[ \d.]+\] (?:Oops: )?int3: 0000 \[#1\].*\n(?:.*\n){0,6}?"
                  r".*\bRIP: 0010:([\w.]+\+0x\w+/0x\w+)\n.*\bCode: (?:\w\w )*(\w\w) <(\w\w)>((?: \w\w)*)$", re.M)
# What the kernel's code has where it is patched: no operation, a jump, a call.
PATCHED = re.compile("0f 1f 44 00 00|66 90|e9|eb|e8")
# Its variables are writable only in the mode of the processor that smm=on is for.
FIRMWARE = ["-machine", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", "file=/usr/share/OVMF/OVMF_CODE_4M.secboot.fd,if=pflash,format=raw,unit=0,readonly=on"]

_printing = threading.Lock()
_installing = threading.Lock()
_children = set()
_stopped = threading.Event()


class Error(Exception):
    """Something that keeps a guest from being started; the text says what."""


def say(*lines):
    """Prints lines. Several threads print."""
    with _printing:
        print(*lines, sep="\n", flush=True)


def stop_all():
    """Ends all guests, and starts no more, for a run that is interrupted."""
    _stopped.set()
    for child in list(_children):
        end(child)


def end(qemu):
    """Ends a QEMU. If sudo has started it, sudo passes SIGTERM on."""
    try:
        qemu.kill()
    except PermissionError:
        subprocess.run(["sudo", "kill", str(qemu.pid)], check=False)


def output(*command):
    """What a script of the project prints. Its messages are shown."""
    process = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise Error(f"{command[0]} {' '.join(map(str, command[1:]))} failed")
    return process.stdout.rstrip("\n")


def table(columns, **conditions):
    """Rows of the table of kernels: each is a list of the columns."""
    lines = output(VM / "table", columns, *(f"{key}={value}" for key, value in conditions.items()))
    return [line.split("|") for line in lines.splitlines()]


@functools.cache
def processor_and_arguments(kernel):
    """Of a kernel of the table: its processor if it is not the machine's, and what it boots with. Both are
    empty for other kernels."""
    return (table("processor,last", name=kernel) or [["", ""]])[0]


def accelerators():
    """QEMU's accelerators, the first choice first: those in $ACCEL, or KVM where the machine has it."""
    named = os.environ.get("ACCEL", "kvm tcg" if os.access(KVM, os.R_OK | os.W_OK) else "tcg").split()
    if not named or set(named) - {"kvm", "tcg"}:
        raise Error(f"ACCEL={' '.join(named)}: name kvm, tcg, or both")
    return named


def newer_qemu(command):
    """QEMU's command, to be run with that of Debian 13: it takes little more than half of the time of that of
    Debian 12, in which kernels panic by themselves: where they patch their code, and in SLUB. The guest's files
    have to be in /tmp, the project or the cache."""
    with _installing:
        output(VM / "release", "trixie", VM / "packages", "qemu-system-x86")
    # The chroot is root's; the files that QEMU writes are not.
    return [VM / "release", "trixie", "setpriv", f"--reuid={os.getuid()}", f"--regid={os.getgid()}",
            "--clear-groups", *command]


def faults(log):
    """The kernel's reports of faults: a list of lines by what the guest did."""
    found, place, provoked = {}, "load", False
    for text in MESSAGE.findall(log):
        mark = MARK.match(text)
        if mark:
            place = mark[2] or mark[1]
        elif PROVOKED.search(text):
            provoked = True
        elif provoked and re.match(r"Call [Tt]race", text):
            provoked = False
        elif FAULT.search(text):
            found.setdefault(place, []).append(text)
    return found


def emulator_fault(console):
    """Where QEMU's processor has run a breakpoint that is not in memory, or "".

    To patch an instruction while other CPUs may run it, the kernel replaces its first byte by a breakpoint for
    a while, has all CPUs synchronize, and then handles no breakpoint there any more. With CPUs in parallel,
    QEMU sometimes keeps the translation of the breakpoint, and the kernel panics. The message shows the
    memory: it is the emulator's fault if the instruction there is no breakpoint, but one that the kernel
    patches. The module cannot cause that, as it patches no code itself. A fault that was reported before it
    counts instead."""
    found = INT3.search(console)
    if not found or faults(console[:found.start()]):
        return ""
    place, first, second, rest = found.groups()
    return place if PATCHED.match(f"{first} {second}{rest}") else ""


class Archive:
    """An initramfs: a cpio archive of the format "newc"."""

    def __init__(self, path, sysroot):
        self.out = open(path, "wb")
        self.sysroot = sysroot
        self.names = set()
        self.number = 0

    def add(self, path, data=b"", mode=stat.S_IFREG | 0o755):
        """Adds a file, and the directories that lead to it."""
        path = path.strip("/")
        if path in self.names:
            return
        self.names.add(path)
        if "/" in path:
            self.add(path.rpartition("/")[0], mode=stat.S_IFDIR | 0o755)
        self._entry(path, data, mode)

    def _entry(self, path, data, mode):
        self.number += 1
        name = os.fsencode(path) + b"\0"
        header = [self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        self.out.write(b"070701" + b"".join(b"%08x" % number for number in header) + name)
        self.out.write(b"\0" * (-(6 + 13 * 8 + len(name)) % 4))
        self.out.write(data)
        self.out.write(b"\0" * (-len(data) % 4))

    def put(self, file, path):
        """Adds a copy of a file as path, and the shared libraries that it needs."""
        file = str(file)
        if self.sysroot and file.startswith(("/bin/", "/usr/")):
            file = self.sysroot + file
        try:
            data = Path(file).read_bytes()
            mode = stat.S_IFREG | stat.S_IMODE(os.stat(file).st_mode) | 0o444
        except OSError as error:
            raise Error(f"no file {file}: {error.strerror}") from error
        self.add(path, data, mode | 0o111 if path.startswith("/tests/") else mode)
        for name, library in self._libraries(file):
            self.add(name, Path(library).read_bytes())

    def _libraries(self, file):
        if self.sysroot:
            lines = output(VM / "libraries", self.sysroot, file)
            return [line.split(" ") for line in lines.splitlines()]
        # It fails for what is no dynamic program.
        lines = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        return [(path, path) for path in re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", lines, re.M)]

    def close(self):
        self._entry("TRAILER!!!", b"", 0)
        self.out.close()


@dataclass
class Job:
    """A program or command that writes TAP, and what it did."""
    name: str
    status: str = ""        # exit code or "timeout"; empty until it has ended
    begun: float = 0        # on the host's clock; 0 until then
    seconds: float = 0      # on the host's clock
    tests: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)
    last: str = ""          # line of its output

    def count(self, said):
        """Takes lines of its output into account."""
        for line in said.splitlines():
            self.last = line.decode(errors="replace")
            result = RESULT.match(line)
            if result:
                self.tests += 1
                self.failed += bool(result[1])
                if SKIPPED.search(self.last):
                    self.skipped.append(self.last)

    def why_failed(self, needs_tests=True):
        """Why it has failed, apart from failed tests: prove accepts output without tests, and skipped
        tests."""
        reasons = [f"skipped: {line}" for line in self.skipped]
        if needs_tests and not self.tests:
            reasons.append("no test in its output")
        if self.status == "timeout":
            reasons.append("stopped at its time limit")
        elif self.status != "0" and not self.failed:
            reasons.append(f"exit code {self.status}, without a failing test")
        return ", ".join(reasons)

    def line(self, where):
        return (f"{where:<16} {self.name:<26} {self.tests:5} tests, {self.failed} failed, exit {self.status}, "
                f"{self.seconds:.0f} s")


class Report:
    """What a guest has reported: of two boots, it is the second one that counts."""

    def __init__(self, jobs, write):
        """write(job, data) gets the output of the jobs, line by line."""
        self.jobs = {f"{number:02}-{name}": Job(name) for number, name in enumerate(jobs)}
        self.write = write
        self.booted = self.refused = self.stuck = ""
        self.boots = 0
        self.loaded = self.unloaded = self.complete = False
        self.job = None         # that runs
        self.clocks = []        # (guest, host) in seconds: at the first and the last report

    def line(self, line):
        """Reads a line without its end."""
        if line.startswith(b"|"):
            self._output(line[1:])
        elif line.startswith(b"@"):
            word, _, rest = line[1:].decode(errors="replace").partition(" ")
            handler = getattr(self, "on_" + word, None)
            if handler:
                handler(*rest.partition(" ")[::2])

    def _output(self, line):
        job = self.job
        if not job:
            return
        job.count(line)
        self.write(job, line + b"\n")

    def on_booted(self, release, uptime):
        self.booted = release
        self.boots += 1
        self.clocks = [(int(uptime) / 100, time.monotonic())]

    def on_loaded(self, *_):
        self.loaded = True

    def on_refused(self, *text):
        self.refused = " ".join(text)

    def on_begin(self, job, _):
        self.job = self.jobs[job]
        self.job.begun = time.monotonic()

    def on_end(self, job, text):
        self.jobs[job].status = text.split(" ")[0]
        self.jobs[job].seconds = time.monotonic() - self.jobs[job].begun
        self.job = None

    def on_unloaded(self, *_):
        self.unloaded = True

    def on_stuck(self, *text):
        self.stuck = " ".join(text)

    def on_verdict(self, uptime, _):
        self.complete = True
        self.clocks.append((int(uptime) / 100, time.monotonic()))

    def has_failure(self):
        """Whether something has failed so far."""
        return bool(self.refused or self.stuck or any(
            job.failed or job.skipped or job.status and job.why_failed() for job in self.jobs.values()))

    def wrong_clock(self):
        """By how much the guest's clock is wrong, or "": such a clock runs many times too fast or too slow.
        The host may be late with reading a report."""
        if len(self.clocks) < 2:
            return ""
        guest, host = (end - start for start, end in zip(*self.clocks))
        if host / 2 - 20 <= guest <= host * 2 + 20:
            return ""
        return f"{guest:.1f} s of the guest took {host:.1f} s"


@dataclass
class Guest:
    """A guest, and after run() its results. tools/vm/run --help describes most of these."""
    kernel: str
    results: Path
    programs: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    arguments: str = ""         # of each program, for the shell
    added: list = field(default_factory=list)
    image: str = ""
    disk: str = ""
    initrd: str = ""
    secure_boot: str = ""
    module: object = ""         # "": the one in build/KERNEL; None: no module
    show: bool = False
    only_vm: bool = False
    timeout: int = 120
    icount: bool = False
    parallel: bool = False
    cpus: int = 2
    crashes: bool = False       # a job crashes the kernel, which boots again, once, with the same memory
    append: str = ""
    qemu: str = ""
    name: str = ""

    def __post_init__(self):
        self.name = self.name or self.kernel
        self.foreign = processor_and_arguments(self.kernel)[0] == "arm64"
        self.accelerators = ["tcg"] if self.foreign or self.icount else accelerators()
        # Counting instructions takes as long in both. A disk's system may need firmware, which the chroot lacks.
        self.newer_qemu = not (self.foreign or self.icount or self.disk or "kvm" in self.accelerators)
        self.notes = []             # for the summary of a run
        self.failures = []          # (check, reason)
        self.report = Report(self.planned(), None)
        self.seconds = 0
        self._silence, self._exit = "", 0

    @property
    def jobs(self):
        return list(self.report.jobs.values())

    def planned(self):
        """The names of the jobs, in the order in which they run."""
        names = [program.rpartition("=")[2].rpartition("/")[2] for program in self.programs]
        return names + [f"command-{len(names) + number + 1}" for number in range(len(self.commands))]

    def plan(self):
        """Makes the results say that the guest has not run, until it has."""
        self.results = Path(self.results).resolve()
        self.results.mkdir(parents=True, exist_ok=True)
        for pattern in ("*.tap", "*.status", "*.log"):
            for file in self.results.glob(pattern):
                file.unlink()
        (self.results / "vm.tap").write_text("1..1\nnot ok 1 - the run ends\n")

    def run(self):
        """Return: whether all tests and checks have succeeded. Raises Error if the guest cannot
        be started."""
        started = time.monotonic()
        # The chroot of newer_qemu() has /tmp.
        with self._lock(), tempfile.TemporaryDirectory(dir="/tmp" if self.newer_qemu else None) as work:
            self.plan()
            self._boot_as_needed(Path(work))
            self._check()
            if "kvm" in self.accelerators and "Hypervisor detected: KVM" not in self._log():
                self.notes.append("QEMU could not use KVM")
            self._write_checks(Path(work))
        self.seconds = time.monotonic() - started
        return not self.failures and (self.only_vm or not any(job.failed for job in self.jobs))

    @contextmanager
    def _lock(self):
        Path(self.results).mkdir(parents=True, exist_ok=True)
        with open(Path(self.results) / ".lock", "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"{self.name}: waiting for another run with results in {self.results}")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # The guest's files

    def _command(self, work):
        """Makes the initramfs. Return: QEMU's command line."""
        modules = None
        processor, arguments = processor_and_arguments(self.kernel)
        if not self.image:
            directory = Path(output(VM / "kernel", self.kernel))
            if (directory.parent / f"newest-{self.kernel}.outdated").exists():
                self.notes.append(f"the archive could not be asked for a newer kernel than {directory.name}")
            modules, self.image = directory / "modules", directory / "vmlinuz"
        if not os.access(self.image, os.R_OK):
            raise Error(f"no kernel image {self.image}")
        initramfs = work / "initramfs"
        self._fill(Archive(initramfs, output(VM / "foreign", processor) if self.foreign else ""), modules)
        if self.foreign:
            console, machine = "ttyAMA0", ["qemu-system-aarch64", "-M", "virt,gic-version=3,mte=on", "-cpu", "max"]
            port = ["-device", "pci-serial,chardev=report"]
        else:
            console, machine, port = "ttyS0", ["qemu-system-x86_64"], ["-serial", "chardev:report"]
        if self.newer_qemu:
            machine = newer_qemu(machine)
        self._measured = not self.foreign and not self.icount
        return [*machine, *self._processors(), "-nodefaults", "-display", "none",
                *([] if self.crashes else ["-no-reboot"]), "-serial", f"file:{self.results}/console.log",
                "-chardev", f"stdio,id=report,signal=off,logfile={self.results}/report.log", *port,
                *self._boots_from(work, initramfs, self._arguments(console, arguments)),
                *shlex.split(self.qemu)]

    def _fill(self, archive, modules):
        archive.put("/bin/busybox", "/bin/busybox")
        archive.put(VM / "init", "/init")
        if self.module is not None:
            module = self.module or ROOT / "build" / self.kernel / "user_events.ko"
            if not os.access(module, os.R_OK):
                raise Error(f"no module {module}: build it with 'make modules-{self.kernel}'")
            archive.put(module, "/user_events.ko")
            patch = Path(module).with_name("user_events_live_patch.ko")
            if patch.exists():
                archive.put(patch, f"/modules/{patch.name}")
        # The kernel's modules that tests load.
        for file in modules.glob("*") if modules else ():
            archive.put(file, f"/modules/{file.name}")
        for added in self.added:
            file, _, path = added.partition("=")
            archive.put(file, path or f"/usr/bin/{file.rpartition('/')[2]}")
        names = self.planned()
        # The guest runs the jobs in the order of their names.
        for number, (program, name) in enumerate(zip(self.programs, names)):
            archive.put(program.partition("=")[0], f"/tests/{name}")
            archive.add(f"/jobs/{number:02}-{name}", f"exec /tests/{name} {self.arguments}\n".encode())
        for number, command in enumerate(self.commands, len(self.programs)):
            archive.add(f"/jobs/{number:02}-{names[number]}", f"{command}\n".encode())
        for directory in "tests", "jobs":
            archive.add(directory, mode=stat.S_IFDIR | 0o755)
        archive.add("/run.conf", f"limit={self.timeout}\nshow={'1' if self.show else ''}\n"
                                 f"parallel={'1' if self.parallel else ''}\n".encode())
        archive.close()

    def _processors(self):
        """With their memory: 2 GiB, in two nodes unless there is one CPU."""
        if self.icount:
            return ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1", "-m", "2G"]
        if self.cpus < 2 or self.cpus % 2:
            raise Error(f"{self.cpus} CPUs cannot be in two nodes: their number has to be even")
        half = self.cpus // 2
        nodes = [("0", f"0-{half - 1}"), ("1", f"{half}-{self.cpus - 1}")]
        tcg = f"tcg,thread={'multi' if self.parallel else 'single'}"
        return [*(word for name in self.accelerators for word in ("-accel", tcg if name == "tcg" else name)),
                "-smp", f"{self.cpus},sockets=2", "-m", "2G",
                *(word for node, cpus in nodes for word in (
                    "-object", f"memory-backend-ram,id=memory{node},size=1G",
                    "-numa", f"node,nodeid={node},memdev=memory{node},cpus={cpus}"))]

    def _arguments(self, console, arguments):
        """The kernel's. It panics on a fault: QEMU ends then, because of -no-reboot, unless the guest is to
        crash. The host may not run QEMU for a while: the guest must not report a stall, and the kernel's test
        of the timer would fail. NUMA balancing would make pages absent for a while at any time. The console is
        slow: a buffer of the usual size loses messages."""
        clock = f"tsc_early_khz={tsc_khz()}" if self._measured else ""
        disk = "root=/dev/vda rw" if self.disk else ""
        return " ".join(f"""console={console} panic=-1 panic_on_warn=1 oops=panic
            rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 workqueue.watchdog_thresh=120
            numa_balancing=disable log_buf_len=4M tsc=reliable {clock} no_timer_check {arguments} {self.append} {disk}""".split())

    def _boots_from(self, work, initramfs, arguments):
        disks = []
        if self.disk:
            # A system unpacks the files from its second disk.
            disks = ["-drive", f"file={self.disk},if=virtio,format=raw,snapshot=on",
                     "-drive", f"file={initramfs},if=virtio,format=raw,readonly=on"]
        initrd = self.initrd or initramfs
        if not self.secure_boot:
            return ["-kernel", str(self.image), "-initrd", str(initrd), "-append", arguments, *disks]
        output(VM / "boot-disk", work / "boot", self.secure_boot, self.image, initrd, arguments)
        # The guest may change the variables.
        shutil.copy(Path(self.secure_boot) / "vars.fd", work)
        return [*FIRMWARE, "-drive", f"file={work}/vars.fd,if=pflash,format=raw,unit=1", *disks,
                "-drive", f"file={work}/boot,if=virtio,format=raw"]

    # The boot

    def _boot_as_needed(self, work):
        command = self._command(work)
        self._boot(command, work)
        # Nothing of the project has run before init reports, so a second try hides no failure. QEMU
        # sometimes fails to boot a kernel, or is killed. Later, QEMU has to have failed for certain, and
        # nothing else.
        if not self.report.booted:
            reason = f"the first boot failed: {self._why_silent()}"
        elif self.parallel and "kvm" not in self.accelerators and not (
                self.report.complete or self.report.has_failure()):
            place = emulator_fault(self._console())
            reason = place and f"QEMU ran a breakpoint at {place}, where none is in memory"
        else:
            reason = ""
        if reason:
            self.notes.append(f"a second try, as {reason}")
            say(f"{self.name}: {self.notes[-1]}")
            os.replace(self.results / "console.log", self.results / "console-first.log")
            self._boot(command, work)

    def _boot(self, command, work):
        files = {}
        if _stopped.is_set():
            raise Error("the run was interrupted")

        def write(job, data):
            if self.show:
                os.write(1, data)
                return
            if job.name not in files:
                files[job.name] = open(self.results / f"{job.name}.tap", "wb", buffering=0)
            files[job.name].write(data)

        self.report, self._silence = Report(self.planned(), write), ""
        with open(work / "qemu.log", "wb") as log:
            qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        _children.add(qemu)
        try:
            self._read(qemu.stdout)
        finally:
            if self._silence:
                end(qemu)
            self._exit = qemu.wait()
            _children.discard(qemu)
            for file in files.values():
                file.close()
        # The serial console adds carriage returns.
        console = self.results / "console.log"
        console.write_bytes(console.read_bytes().replace(b"\r", b"") if console.exists() else b"")

    def _read(self, pipe):
        rest, silent = b"", 0
        while True:
            if not select.select([pipe], [], [], 10)[0]:
                silent += 10
                if silent >= self._patience():
                    self._silence = f"no report for {silent} s"
                    return
                if silent % QUIET == 0:
                    say(f"{self.name}: {self._waits_for()}: silent for {silent} s")
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                return
            silent = 0
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                running = self.report.job
                self.report.line(line.rstrip(b"\r"))
                if running and not self.report.job:
                    self._job_ended(running)
            if self.crashes and self.report.boots > 2:
                self._silence = "it crashed again"
                return

    def _patience(self):
        if self.report.booted:
            return self.timeout + GRACE
        return SYSTEM_BOOT_LIMIT if self.disk else BOOT_LIMIT

    def _waits_for(self):
        job = self.report.job
        if not job:
            return "the guest" if self.report.booted else "the boot"
        return f"{job.name} (limit {self.timeout} s)" + (f", last \"{job.last[:60]}\"" if job.last else "")

    def _job_ended(self, job):
        if self.show:
            return
        (self.results / f"{job.name}.status").write_text(f"{job.status} {job.seconds:.1f}\n")
        say(job.line(self.name))

    # The checks

    def _console(self):
        """The kernel's messages, from where the last boot begins to load the module."""
        console = self._log()
        return console[max(console.rfind("user_events vm: load"), 0):]

    def _log(self):
        return (self.results / "console.log").read_text(errors="replace")

    def _why_silent(self):
        """Why the guest did not end as it should: the first fault on the console, and where it was."""
        console = self._console()
        ended = f"signal {-self._exit}" if self._exit < 0 else f"exit code {self._exit}"
        found = [line for lines in faults(console).values() for line in lines[:1]][:1] + PLACE.findall(console)[:1]
        return "; ".join([self._silence or f"the guest stopped, QEMU with {ended}", *found])

    def _why_failed(self, job):
        if not job.begun:
            return "it did not run"
        if not job.status:
            return f"{self._why_silent()}, while it ran"
        return "" if self.only_vm else job.why_failed(needs_tests=not self.show)

    def _check(self):
        report, with_module = self.report, self.module is not None
        console = self._console()
        silent = "" if report.complete and END.search(console) else self._why_silent()
        self.checks = [("boots", "" if report.booted else silent)]
        if with_module:
            self.checks.append(("the module loads", "" if report.loaded else report.refused or silent))
        self.checks += [(f"{job.name} runs to its end", self._why_failed(job)) for job in self.jobs]
        self.checks += [(f"the kernel reports no fault in {place}", "\n".join(lines))
                        for place, lines in (faults(console) if report.booted else {}).items()]
        if with_module:
            self.checks.append(("the module unloads", "" if report.unloaded else report.stuck or silent or
                                "it was never loaded"))
        self.checks.append(("the guest's clock is right", report.wrong_clock() if self._measured else ""))
        self.checks.append(("the guest runs to its end", silent))
        self.failures = [check for check in self.checks if check[1]]

    def _write_checks(self, work):
        with open(self.results / "vm.tap", "w", encoding="utf-8") as tap:
            print(f"1..{len(self.checks)}", file=tap)
            for number, (what, reason) in enumerate(self.checks, 1):
                # Who sees no more than the names of what failed sees the first line. "#" begins a directive.
                first = reason.partition("\n")[0].replace("#", "")
                print(f"not ok {number} - {what}: {first}" if reason else f"ok {number} - {what}", file=tap)
                for line in reason.splitlines():
                    print(f"# {line}", file=tap)
            for note in self.notes:
                print(f"# {note}", file=tap)
        if not self.failures:
            return
        for what, reason in self.failures:
            say(f"{self.name}: FAILED: {what}: {reason}")
        console = self._log().splitlines()[-40:]
        say(f"{self.name}: the end of {self.results}/console.log:", *(f"    {line}" for line in console))
        say((work / "qemu.log").read_text(errors="replace"))


def tsc_khz():
    """The frequency of the machine's time stamp counter, which is also the guest's. A guest that
    measures it while the host is busy may find a fraction of it; its time then runs many times too
    fast."""
    counter, source = ROOT / "build" / "tsc_khz", VM / "tsc_khz.cpp"
    with _measuring:
        if not counter.exists() or counter.stat().st_mtime < source.stat().st_mtime:
            counter.parent.mkdir(exist_ok=True)
            # Renamed, because other runs may build it at the same time.
            temporary = f"{counter}.{os.getpid()}"
            output("g++", "-std=c++20", "-O2", "-o", temporary, source)
            os.replace(temporary, counter)
        return output(counter)


_measuring = threading.Lock()
