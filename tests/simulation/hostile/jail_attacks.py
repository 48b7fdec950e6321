"""Attacks as plain Python, run after `sandbox.lock`: what the jail must stop even when the allow-list has a hole.

Each is the body of a script with these names: SECRET (a file outside), OUTSIDE (its folder), INSIDE (the writable
folder), ROOT (the repository), VICTIM (a process of the same user), PORT (a listening TCP port), SOCKET and ABSTRACT
(listening unix sockets), and `syscall(number, ...)`, which raises OSError. An attack that ends without an exception did
harm. The numbers are x86-64's.
"""

FILES = {
    "read_a_file": "open(SECRET).read()",
    "read_the_web_application": "open(ROOT + '/webapp/settings.py').read()",
    "list_the_repository": "os.listdir(ROOT)",
    "read_passwd": "open('/etc/passwd').read()",
    "read_through_dots": "open(INSIDE + '/../secret.txt').read()",
    "list_a_folder": "os.listdir(OUTSIDE)",
    "create_a_file": "open(OUTSIDE + '/new', 'w').write('x')",
    "append_to_a_file": "open(SECRET, 'a').write('x')",
    "truncate_a_file": "os.truncate(SECRET, 0)",
    "delete_a_file": "os.unlink(SECRET)",
    "make_a_folder": "os.mkdir(OUTSIDE + '/folder')",
    "move_a_file_in": "os.rename(SECRET, INSIDE + '/mine')",
    "hard_link": "os.link(SECRET, INSIDE + '/link')",
    "symbolic_link": "os.symlink(SECRET, INSIDE + '/link'); open(INSIDE + '/link').read()",
    "named_pipe": "os.mkfifo(INSIDE + '/pipe')",
    "device_node": "os.mknod(INSIDE + '/device', 0o600 | 0o020000, os.makedev(1, 3))",
    "change_mode": "os.chmod(SECRET, 0o777)",
    "change_owner": "os.chown(SECRET, os.getuid(), os.getgid())",
    "change_times": "os.utime(SECRET, (0, 0))",
    "extended_attribute": "os.setxattr(INSIDE, 'user.x', b'x')",
    "own_environment_file": "open('/proc/self/environ', 'rb').read()",
    "other_environment_file": "open(f'/proc/{VICTIM}/environ', 'rb').read()",
    "own_memory_file": "open('/proc/self/mem', 'r+b')",
    "root_through_proc": "open('/proc/self/root' + SECRET).read()",
    "thread_reads": """
found = []
thread = threading.Thread(target=lambda: found.append(open(SECRET).read()))
thread.start(); thread.join()
assert found
""",
    "change_folder": "os.chdir(OUTSIDE)",
    "change_root": "os.chroot(INSIDE)",
    "shared_memory": "from multiprocessing import shared_memory as m; m.SharedMemory('prefine-x', True, 16).unlink()",
    "memory_file": "os.memfd_create('x')",
    "watch_files": "syscall(253)",
}

NETWORK = {
    "tcp_connect": "socket.create_connection(('127.0.0.1', PORT))",
    "tcp_listen": "socket.create_server(('127.0.0.1', 0))",
    "udp_send": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    "unix_connect": "socket.socket(socket.AF_UNIX).connect(SOCKET)",
    "abstract_connect": "socket.socket(socket.AF_UNIX).connect(ABSTRACT)",
    "socket_pair": "socket.socketpair()",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
}

PROCESSES = {
    "fork": "os.fork() or os._exit(0)",
    "fork_by_number": "syscall(57) or os._exit(0)",
    "clone_by_number": "syscall(56, 17, 0, 0, 0, 0) or os._exit(0)",
    "subprocess": "subprocess.run(['/bin/true'], check=True)",
    "spawn": "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)",
    "shell": "assert os.system('true') == 0",
    "signal_another": "os.kill(VICTIM, 0)",
    "kill_another": "os.kill(VICTIM, signal.SIGTERM)",
    "signal_by_descriptor": "signal.pidfd_send_signal(os.pidfd_open(VICTIM), 0)",
    "own_a_file_for_another": "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, VICTIM)",
    "choose_the_signal_of_a_file": "import fcntl; fcntl.fcntl(os.pipe()[0], 10, signal.SIGKILL)",
    "signal_when_a_file_is_ready": "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETFL, os.O_ASYNC)",
    "lease_a_file": "import fcntl; fcntl.fcntl(os.open(INSIDE + '/x', os.O_CREAT), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
    "watch_a_folder_by_signal": "import fcntl; fcntl.fcntl(os.open(INSIDE, os.O_RDONLY), fcntl.F_NOTIFY, 1)",
    "trace_another": "syscall(101, 16, VICTIM, 0, 0)",
    "read_other_memory": """
buffer = ctypes.create_string_buffer(8)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 8)
remote = (ctypes.c_uint64 * 2)(ADDRESS, 8)
syscall(310, VICTIM, vector, 1, remote, 1, 0)
""",
    "raise_other_priority": "os.setpriority(os.PRIO_PROCESS, VICTIM, 5)",
    "limit_another": "resource.prlimit(VICTIM, resource.RLIMIT_NOFILE)",
}

KERNEL = {
    "new_namespaces": "syscall(272, 0x10000000)",
    "mount": "syscall(165, b'none', INSIDE.encode(), b'tmpfs', 0, 0); syscall(166, INSIDE.encode(), 2)",
    "become_another_user": "os.setuid(os.getuid())",
    "set_host_name": "syscall(170, socket.gethostname().encode(), len(socket.gethostname()))",
    "io_uring": "syscall(425, 4, ctypes.create_string_buffer(120))",
    "user_fault": "syscall(323, 1)",
    "key_ring": "syscall(250, 0, -2, 1)",
    "system_v_memory": "syscall(29, 0, 4096, 0o1600)",
    "file_handle": "syscall(303, -100, SECRET.encode(), (ctypes.c_int * 40)(128), ctypes.byref(ctypes.c_int()), 0)",
    "personality": "syscall(135, 0x0040000)",
}

RESOURCES = {
    "memory": "bytearray(700 << 20)",
    "memory_map": "import mmap; mmap.mmap(-1, 700 << 20)",
    "huge_file": "open(INSIDE + '/huge', 'wb').truncate(5 << 30)",
    "many_open_files": "kept = [os.open('/dev/null', os.O_RDONLY) for _ in range(400)]",
    "processor_time": "import time\nwhile time.process_time() < 4: pass",
    "raise_limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)); assert HARD > 256",
    "environment": "assert os.environ['PREFINE_SECRET']",
    "environment_of_libc": "assert ctypes.CDLL(None).getenv(b'PREFINE_SECRET')",
}

ATTACKS = {**FILES, **NETWORK, **PROCESSES, **KERNEL, **RESOURCES}
