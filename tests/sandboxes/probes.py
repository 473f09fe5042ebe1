"""Programs that try to break out of a sandbox. Each says that it tries, and what came of it.

A probe is an expression, or statements that set `found`; it has succeeded if nothing was raised and `found` is true.
"""

from dataclasses import dataclass

_FRAME = """\
import ctypes, os, select, signal, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    '''Whether a function of the C library succeeds.'''
    given = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    function = getattr(libc, name)
    function.restype = ctypes.c_long if name in ('syscall', 'ptrace') else ctypes.c_int
    if function(*given) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True
def system(x86_64, aarch64, *arguments):
    '''Whether a call of the system succeeds, by its numbers on both architectures.'''
    return call("syscall", x86_64 if os.uname().machine == "x86_64" else aarch64, *arguments)
print("tries", flush=True)
try:
{code}
except BaseException as error:
    print("refused:", type(error).__name__, error, flush=True)
else:
    print("succeeded:" if found else "refused: nothing found", found, flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One way out."""

    name: str
    code: str
    open_outside: bool = False
    """Whether it succeeds in a plain interpreter, so that the sandbox is what refuses it; tried where that is safe."""

    def program(self) -> str:
        """The probe as a program."""
        lines = self.code.strip().split("\n")
        if len(lines) == 1 and not lines[0].startswith(("import ", "found")):
            lines = [f"found = {lines[0]}"]
        return _FRAME.replace("{code}", "\n".join(f"    {line}" for line in lines))


def _socket(family: str, kind: str = "SOCK_STREAM", *, outside: bool = True) -> Probe:
    code = f"socket.socket(socket.{family}, socket.{kind}) is not None"
    name = f"socket {family}" if kind != "SOCK_DGRAM" else f"socket {family} for datagrams"
    return Probe(name=name, code=code, open_outside=outside)


def _system(name: str, x86_64: int, aarch64: int, *arguments: int) -> Probe:
    return Probe(name=name, code=f"system({x86_64}, {aarch64}, {', '.join(map(str, arguments))})")


_READABLE = ("meminfo", "cpuinfo", "stat", "uptime", "loadavg", "version", "cmdline", "partitions")
"""What `/proc` tells everybody of the machine."""
PROBES: tuple[Probe, ...] = (
    # Network
    _socket("AF_INET"),
    _socket("AF_INET", "SOCK_DGRAM"),
    _socket("AF_INET6"),
    _socket("AF_UNIX"),
    _socket("AF_NETLINK", "SOCK_RAW"),
    _socket("AF_PACKET", "SOCK_RAW", outside=False),
    _socket("AF_VSOCK", outside=False),
    _socket("AF_ALG", "SOCK_SEQPACKET", outside=False),
    Probe(name="socketpair", code="socket.socketpair() is not None", open_outside=True),
    Probe(name="socket of a descriptor", code="socket.socket(fileno=3).send(b'x')"),
    Probe(name="DNS", code="socket.getaddrinfo('localhost', 80)", open_outside=True),
    Probe(
        name="connection to the host",
        code="import urllib.request\nfound = urllib.request.urlopen('http://127.0.0.1:1/').read()",
    ),
    # Files of the host
    Probe(name="host file", code="open('/etc/passwd').read()", open_outside=True),
    Probe(name="host folder", code="os.listdir('/usr/bin')", open_outside=True),
    Probe(name="home folders", code="os.listdir('/root') or os.listdir('/home')"),
    Probe(
        name="the interpreter's own place",
        code="found = [p for p in {m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)}\n"
        "         if not p.startswith('/lib/python') and os.path.exists(p)]",
        open_outside=True,
    ),
    Probe(name="installed packages", code="import gymnasium\nfound = gymnasium"),
    Probe(name="Palaestra", code="import palaestra.rubrics\nfound = palaestra.rubrics"),
    Probe(name="dot dot", code="open('/lib/../../../../etc/passwd').read()", open_outside=True),
    Probe(
        name="dot dot by a descriptor",
        code="os.listdir(os.open('..', os.O_RDONLY, dir_fd=os.open('/', 0))).index('usr') >= 0",
    ),
    Probe(name="the working folder", code="found = os.path.exists('usr') or os.getcwd() != '/'", open_outside=True),
    Probe(
        name="a symbolic link", code="os.symlink('/etc/passwd', '/lib/python/link') or open('/lib/python/link').read()"
    ),
    Probe(name="links that are there", code="open(os.readlink('/proc/self/exe'), 'rb').read(1)", open_outside=True),
    Probe(
        name="processes of the host",
        code="found = [n for n in os.listdir('/proc') if n.isdigit() and int(n) not in (os.getpid(), os.getppid())]",
        open_outside=True,
    ),
    *(
        Probe(name=f"/proc/{name}", code=f"open('/proc/{name}', 'rb').read(64)", open_outside=name in _READABLE)
        for name in (*_READABLE, "kcore", "kmsg", "keys", "sysrq-trigger", "vmallocinfo")
    ),
    *(
        Probe(name=f"writing /proc/{name}", code=f"os.open('/proc/{name}', os.O_WRONLY) is not None")
        for name in ("sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "self/oom_score_adj")
    ),
    Probe(name="settings of the kernel", code="os.listdir('/proc/sys/kernel')", open_outside=True),
    Probe(name="own memory in /proc", code="open('/proc/self/mem', 'r+b') is not None", open_outside=True),
    Probe(name="the guard's memory", code="open(f'/proc/{os.getppid() or 1}/mem', 'rb') is not None"),
    Probe(name="the guard's files", code="os.listdir(f'/proc/{os.getppid() or 1}/fd')"),
    Probe(name="own map of users", code="open('/proc/self/uid_map', 'w').write('0 0 1')"),
    Probe(name="own environment in /proc", code="open('/proc/self/environ', 'rb').read()", open_outside=True),
    Probe(name="the parent's environment", code="open(f'/proc/{os.getppid()}/environ', 'rb').read()"),
    Probe(name="the first process's root", code="os.listdir('/proc/1/root')"),
    Probe(name="/sys", code="os.listdir('/sys')", open_outside=True),
    Probe(name="/dev/zero", code="open('/dev/zero', 'rb').read(1)", open_outside=True),
    Probe(name="/dev/urandom", code="open('/dev/urandom', 'rb').read(1)", open_outside=True),
    Probe(
        name="disks", code="found = [n for n in os.listdir('/dev') if n.startswith(('sd', 'vd', 'nvme', 'loop', 'dm'))]"
    ),
    Probe(name="the terminal", code="os.isatty(os.open('/dev/tty', os.O_RDWR))"),
    Probe(
        name="the Docker Engine",
        code="found = [n for n in ('docker.sock', 'containerd', 'docker') if os.path.lexists(f'/run/{n}')]",
    ),
    Probe(name="groups of processes", code="os.listdir('/sys/fs/cgroup')", open_outside=True),
    Probe(
        name="a group of processes that calls a program",
        code="os.mkdir('/sys/fs/cgroup/x') or open('/sys/fs/cgroup/release_agent', 'w').write('/x')",
    ),
    Probe(
        name="setuid programs",
        code="found = [f for d, _, fs in os.walk('/') if not d.startswith('/proc') for n in fs\n"
        "         for f in [os.path.join(d, n)] if not os.path.islink(f) and os.lstat(f).st_mode & 0o6000]",
    ),
    Probe(
        name="programs",
        code="import shutil\nfound = [n for n in ('sh', 'bash', 'mount', 'su', 'apt-get', 'busybox') if any(\n"
        "         os.path.exists(f'{d}/{n}') for d in ('/bin', '/usr/bin', '/sbin', '/usr/sbin'))]",
        open_outside=True,
    ),
    Probe(
        name="files that it may write",
        code="found = [f for d, _, fs in os.walk('/') if not d.startswith('/proc') for n in [*fs, '.']\n"
        "         for f in [os.path.join(d, n)] if not f.startswith('/dev/') and os.access(f, os.W_OK)]",
    ),
    Probe(name="/dev/mem", code="open('/dev/mem', 'rb').read(1)"),
    Probe(name="/dev/kmsg", code="open('/dev/kmsg', 'rb').read(1)"),
    Probe(name="a device of its own", code="os.mknod('/null', 0o600 | 0o020000, os.makedev(1, 3)) or open('/null')"),
    # Writing
    Probe(name="a file", code="open('/x', 'w').write('x')"),
    Probe(name="a file in /tmp", code="import os.path\nfound = open('/tmp/probe-of-a-sandbox', 'w').write('x')"),
    Probe(name="the library", code="open('/lib/python/os.py', 'a').write('x')"),
    Probe(
        name="temporary files",
        code="import tempfile\nfound = tempfile.TemporaryFile().write(b'x' * 2**20)",
        open_outside=True,
    ),
    Probe(name="shared memory", code="open('/dev/shm/probe', 'w').write('x')"),
    Probe(name="a file in memory", code="os.memfd_create('x')", open_outside=True),
    Probe(name="a folder", code="os.mkdir('/x') is None"),
    Probe(name="a pipe", code="os.pipe()", open_outside=True),
    Probe(name="rights of a file", code="os.chmod('/lib/python/os.py', 0o777) is None"),
    Probe(name="remounting", code="call('mount', b'none', b'/', b'', 32, b'')"),
    # Processes
    Probe(name="fork", code="os.fork() or os._exit(0)", open_outside=True),
    Probe(
        name="fork bomb",
        code="found = 0\nfor _ in range(1000):\n    if os.fork() == 0:\n        signal.pause()\n    found += 1",
    ),
    Probe(name="a thread", code="threading.Thread(target=print).start() is None", open_outside=True),
    Probe(
        name="a program",
        code="subprocess.run([sys.executable or '/bin/true', '-c', '']).returncode == 0",
        open_outside=True,
    ),
    Probe(name="spawn", code="os.posix_spawn('/bin/true', ['true'], {})", open_outside=True),
    Probe(name="a shell", code="os.system('true') == 0", open_outside=True),
    Probe(name="exec", code="os.execv('/lib/python/os.py', ['x'])"),
    Probe(name="exec of a file in memory", code="os.execve(0, ['x'], {})"),
    Probe(
        name="a pickle that runs a program",
        code="import pickle\nfound = pickle.loads(b'cposix\\nsystem\\n(S\\'true\\'\\ntR.') == 0",
        open_outside=True,
    ),
    Probe(name="killing the parent", code="os.kill(os.getppid(), 9) is None"),
    Probe(name="killing everybody", code="os.kill(-1, 9) is None"),
    Probe(name="killing by number", code="found = any(not os.kill(n, 0) for n in range(2, 300))"),
    Probe(name="killing by a descriptor", code="os.pidfd_open(1)", open_outside=True),
    Probe(name="ptrace of the first process", code="call('ptrace', 16, 1, 0, 0)"),
    Probe(name="ptrace of itself", code="call('ptrace', 0, 0, 0, 0)"),
    Probe(name="memory of others", code="system(310, 270, 1, 0, 0, 0, 0, 0)"),
    # Rights
    Probe(name="becoming root", code="os.setuid(0) is None"),
    Probe(name="being root", code="found = 0 in (*os.getresuid(), *os.getresgid())"),
    Probe(name="mount", code="call('mount', b'tmpfs', b'/lib', b'tmpfs', 0, b'')"),
    Probe(name="umount", code="call('umount2', b'/lib/python', 2)"),
    Probe(name="chroot", code="os.chroot('/lib') is None"),
    Probe(name="a nested user namespace", code="call('unshare', 0x10000000)"),
    Probe(name="a nested mount namespace", code="call('unshare', 0x00020000)"),
    Probe(name="setns", code="call('setns', 0, 0)"),
    Probe(name="clone", code="system(56, 220, 0x10000000 | 17, 0, 0, 0, 0)"),
    Probe(name="prctl", code="call('prctl', 38, 0, 0, 0, 0)"),
    Probe(name="host name", code="call('sethostname', b'x', 1)"),
    Probe(name="terminal", code="import fcntl\nfound = fcntl.ioctl(0, 0x5412, b'x')"),
    Probe(name="size of a pipe", code="import fcntl\nfound = fcntl.fcntl(3, 1031, 2**20)"),
    Probe(name="limits", code="import resource\nfound = resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) is None"),
    _system("setns by number", 308, 268, 0, 0),
    _system("pivot_root", 155, 41, 0, 0),
    _system("kexec", 246, 104, 0, 0, 0, 0),
    _system("kexec of a file", 320, 294, 0, 0, 0, 0, 0),
    _system("reboot", 169, 142, 0xFEE1DEAD, 0x28121969, 0, 0),
    _system("kernel modules", 175, 105, 0, 0, 0),
    _system("bpf", 321, 280, 0, 0, 0),
    _system("perf", 298, 241, 0, 0, -1, -1, 0),
    _system("keys", 250, 219, 0, -3, 0),
    _system("io_uring", 425, 425, 1, 0),
    _system("userfaultfd", 323, 282, 1),
    _system("clone3", 435, 435, 0, 0),
    _system("seccomp", 317, 277, 0, 0, 0),
    _system("personality", 135, 92, 0xFFFFFFFF),
    _system("open_tree", 428, 428, -100, 0, 1),
    _system("name_to_handle_at", 303, 264, -100, 0, 0, 0, 0),
    _system("clock", 227, 112, 0, 0),
    _system("ports", 172, 999, 3),
)

FORGERIES: dict[str, str] = {
    "no JSON": "os.write(3, b'hello\\n')",
    "a pickle": "import pickle; os.write(3, pickle.dumps(print) + b'\\n')",
    "no object": "os.write(3, b'[1]\\n')",
    "arguments that are none": 'os.write(3, b\'{"tool":"echo","arguments":7}\\n\')',
    "a field more": 'os.write(3, b\'{"tool":"echo","arguments":{},"answer":1}\\n\')',
    "a line without end": "[os.write(3, b'x' * 65536) for _ in range(100)]",
    "no text": "os.write(3, b'\\xff\\xfe\\n')",
    "deep nesting": "os.write(3, b'[' * 60000 + b'\\n')",
}
"""What a program may write to its channel in place of requests."""
