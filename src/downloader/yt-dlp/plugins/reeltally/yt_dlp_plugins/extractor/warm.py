"""Forks a child for each attempt, so that the engine is loaded once and not each time.

The worker starts the engine with the one address of this extractor, and it stays here. It reads the numbers and marks of
holders: processes that keep the namespaces of one attempt. For each it forks a child, which enters these namespaces, takes over the
outputs, and only then reads what it is to do, from the holder. So nothing of an attempt is ever in the process from which
the next child is forked.
"""

import ctypes
import errno
import gc
import json
import os
import resource
import select
import signal
import ssl
import sys
import traceback

import yt_dlp
from yt_dlp.extractor.common import InfoExtractor

PIDFD_GETFD = 438
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38
SECCOMP_MODE_FILTER, INSTRUCTION_BYTES = 2, 8
CAPABILITY_VERSION_3 = 0x20080522
MAX_CAPABILITIES = 64
MAX_LIMITS = 16
RLIMIT_LOCKS = 10
MAX_FILES = 65_536
NAMESPACES = ('user', 'mnt', 'pid', 'ipc', 'net')
NO_PRIVILEGES = {**dict.fromkeys(('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'), '0' * 16), 'NoNewPrivs': '1'}

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def say(text):
    os.write(1, f'{text}\n'.encode())


def exit_code(status):
    """As a shell tells it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def silence(*numbers):
    null = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        os.dup2(null, number)
    os.close(null)


def take_place(holder):
    """Enters the namespaces. That of processes takes effect for children only: hence the second fork."""
    process = os.pidfd_open(holder)
    # Its job (jobDescriptor of launch.ts), its output and its errors.
    taken = [checked(libc.syscall(PIDFD_GETFD, process, number, 0)) for number in (5, 1, 2)]
    for number, file in enumerate(taken):
        os.dup2(file, number)
    try:
        os.setns(process, os.CLONE_NEWUSER)
    except OSError as error:
        # So the kernel says that this process is in it already.
        if error.errno != errno.EINVAL:
            raise
    os.setns(process, os.CLONE_NEWNS | os.CLONE_NEWIPC | os.CLONE_NEWNET)
    processes = os.open('/proc/1/ns/pid', os.O_RDONLY)
    os.setns(processes, os.CLONE_NEWPID)


def drop_privileges(user):
    for capability in range(MAX_CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, none = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    checked(libc.capset(header, none))
    # With another user, and another namespace of users, the kernel has taken from it that it may read its own /proc/self, and
    # that it ends with the process that forked it.
    checked(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
    checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))


class FilterProgram(ctypes.Structure):
    _fields_ = [('instructions', ctypes.c_ushort), ('program', ctypes.c_char_p)]


def refuse_calls(program):
    loaded = FilterProgram(len(program) // INSTRUCTION_BYTES, program)
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(loaded), 0, 0))


def require_place(user):
    """Looks at each guard as it is, before anything of a platform is read."""
    with open('/proc/self/status') as file:
        status = dict(line.split(':', 1) for line in file)
    wrong = [name for name, value in NO_PRIVILEGES.items() if status[name].strip() != value]
    if user is not None and (set(status['Uid'].split()) != {str(user)} or status['Groups'].strip()):
        wrong.append('Uid')
    wrong += [name for name in os.listdir('/proc/self/fd') if int(name) > 2 and os.path.exists(f'/proc/self/fd/{name}')]
    if wrong:
        raise PermissionError(f'{", ".join(wrong)} is not as it should be')


def be_child(mark):
    """Checks that it is where it should be, and only then reads what it is to do. Returns its arguments."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    for name in NAMESPACES:
        if os.readlink(f'/proc/self/ns/{name}') != os.readlink(f'/proc/1/ns/{name}'):
            raise PermissionError(f'the namespace {name} is another one')
    if resource.prlimit(1, RLIMIT_LOCKS)[0] != mark:
        raise PermissionError('the holder is another one')
    with open(0, closefd=False) as file:
        job = json.loads(file.readline())
    silence(0)
    # Those that the first process of the namespaces set for itself.
    for number in range(MAX_LIMITS):
        resource.setrlimit(number, resource.prlimit(1, number))
    os.chdir(job['directory'])
    os.environ.clear()
    os.environ.update(job['environment'])
    drop_privileges(job.get('user'))
    require_place(job.get('user'))
    if 'filter' in job:
        refuse_calls(bytes.fromhex(job['filter']))
    # Python reseeds its own generator; OpenSSL sees a fork by the process number, which may be the same in another namespace.
    ssl.RAND_add(os.urandom(32), 32)
    return job['arguments']


def run(arguments):
    """Runs the engine with these arguments. Its plugins are loaded, and would wrap one another if they were once more."""
    yt_dlp._load_all_plugins = lambda: None
    try:
        yt_dlp.main(arguments)
    except SystemExit as ended:
        return ended.code
    except BaseException:
        # As the interpreter tells it.
        traceback.print_exc()
        return 1


def exit_with(code):
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def fork_child(mark):
    child = os.fork()
    if child == 0:
        exit_with(run(be_child(mark)))
    # The job is the child's, and the outputs end with it.
    silence(0, 1, 2)
    checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    os._exit(exit_code(os.waitpid(child, 0)[1]))


def fork_into(holder, mark):
    try:
        os.setsid()
        # Meant for the child, which is in the same group.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        take_place(holder)
        os.closerange(3, MAX_FILES)
        fork_child(mark)
    except BaseException as error:
        os.write(2, f'The child could not be put into its place.\n{error!r}\n'.encode())
    finally:
        os._exit(125)


def fork_leader(holder, mark):
    child = os.fork()
    if child == 0:
        fork_into(holder, mark)
    try:
        return os.pidfd_open(child), child
    except OSError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise


def serve():
    """Forks a child for each holder that comes in, and tells how each ended, until nothing more can come."""
    asked, children, is_open = b'', {}, True
    say('ready')
    while is_open or children:
        readable, _, _ = select.select([*children, *([0] if is_open else [])], [], [])
        for file in readable:
            if file in children:
                mark, child = children.pop(file)
                os.close(file)
                say(f'ended {mark} {exit_code(os.waitpid(child, 0)[1])}')
                continue
            received = os.read(0, 4096)
            is_open = received != b''
            *lines, asked = (asked + received).split(b'\n')
            for line in lines:
                holder, mark = map(int, line.split())
                try:
                    file, child = fork_leader(holder, mark)
                except OSError as error:
                    say(f'refused {mark} {error}')
                    continue
                children[file] = (mark, child)
                say(f'forked {mark} {child}')


class WarmIE(InfoExtractor):
    IE_NAME = 'reeltally:warm'
    IE_DESC = 'The engine itself, loaded once'
    _VALID_URL = r'reeltally:warm$'

    def _real_extract(self, url):
        gc.collect()
        gc.freeze()
        try:
            serve()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
