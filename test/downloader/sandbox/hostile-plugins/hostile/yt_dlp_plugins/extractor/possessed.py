"""Extractors that no longer do what they should, as if a platform had taken the process over."""

import base64
import ctypes
import json
import os
import signal

from yt_dlp.extractor.common import InfoExtractor

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PROCESS_VM_READV = 16, 310
NAMESPACES = os.CLONE_NEWUSER | os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC | os.CLONE_NEWNET


def words_of(url):
    return json.loads(base64.b64decode(url.partition(':')[2]))


class ScriptIE(InfoExtractor):
    """Becomes a shell that runs a script."""
    IE_NAME = 'script'
    IE_DESC = 'Script of the tests'
    _VALID_URL = r'script:.+'

    def _real_extract(self, url):
        os.execv('/bin/sh', ['/bin/sh', '-c', *words_of(url)])


def works(attack, *arguments):
    try:
        return attack(*arguments) is not False
    except OSError:
        return False


def read(path):
    with open(path, 'rb') as file:
        file.read(1)


def write(path):
    os.close(os.open(path, os.O_WRONLY))


def let_all_write(path):
    os.chmod(path, 0o777)


def trace(pid):
    return libc.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0


def read_memory(pid):
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_size_t * 2)(id(libc), 8)
    return libc.syscall(PROCESS_VM_READV, pid, local, 1, remote, 1, 0) > 0


def enter(pid):
    os.setns(os.pidfd_open(pid), NAMESPACES)


def attacks_on(pid):
    """Those that worked, on a number that means another process here than outside."""
    attacks = {
        'traces': (trace, pid),
        'reads memory': (read_memory, pid),
        'enters namespaces': (enter, pid),
        'opens memory': (read, f'/proc/{pid}/mem'),
        'reads the environment': (read, f'/proc/{pid}/environ'),
        'opens what it has open': (read, f'/proc/{pid}/fd/0'),
        'gets at the root': (os.listdir, f'/proc/{pid}/root'),
    }
    return [f'{name} of {pid}' for name, attack in attacks.items() if works(*attack)]


def open_files():
    names = [name for name in os.listdir('/proc/self/fd') if int(name) > 2]
    return [os.readlink(f'/proc/self/fd/{name}') for name in names if os.path.lexists(f'/proc/self/fd/{name}')]


def remembers(reversed_text):
    """Whether the text, which is here only the other way round, is anywhere in this process."""
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', buffering=0) as memory:
        areas = [line.split()[0].split('-') for line in maps if ' rw' in line]
        for begin, end in areas:
            memory.seek(int(begin, 16))
            content = memory.read(int(end, 16) - int(begin, 16))
            if content[::-1].find(reversed_text) >= 0:
                return True
    return False


class AttackIE(InfoExtractor):
    """Attacks the processes that it came from, and prints which attacks worked."""
    IE_NAME = 'attack'
    IE_DESC = 'Attacks of the tests'
    _VALID_URL = r'attack:.+'

    def _real_extract(self, url):
        others, reversed_secret, files = words_of(url)
        worked = [f'has open {target}' for target in open_files()]
        worked += [name for pid in [1, *others] for name in attacks_on(pid)]
        worked += [f'ends {pid}' for pid in others if works(os.kill, pid, signal.SIGKILL)]
        worked += [f'writes {path}' for path in files if works(write, path) or works(let_all_write, path)]
        worked += ['remembers another'] if remembers(reversed_secret.encode()) else []
        worked += [] if remembers(b'mraw:yllatleer') else ['could not look into its own memory']
        print('WORKED ' + json.dumps(worked), flush=True)
        raise SystemExit(0)
