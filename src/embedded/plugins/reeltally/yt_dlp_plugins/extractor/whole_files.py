"""Refuses what was cut on its way although the server said that this was all of it.

The engine compares what it gets with the length that was announced, and no more. Film files and the pieces of streams say
by themselves where they end: MP4 in boxes that state their lengths, MPEG transport streams in packets of 188 bytes. Other
kinds of files are left alone. Two pieces of one stream never hold the same bytes, since each tells its own time. The
check stands where the engine downloads every file and every piece, so that what is wrong with one is found before it is
joined with others.
"""

import hashlib
import os

from yt_dlp.downloader.http import HttpFD
from yt_dlp.utils import ContentTooShortError

PACKET_BYTES = 188
SEEN_PACKETS = 8
FIRST_BOXES = (b'ftyp', b'styp', b'moof', b'moov', b'sidx', b'mdat', b'emsg', b'prft')


def box_end(file, size):
    """How long the file would have to be for its boxes to be whole."""
    position = 0
    while position < size:
        file.seek(position)
        head = file.read(16)
        if len(head) < 8:
            return position + 8
        length = int.from_bytes(head[:4], 'big')
        if length == 1:
            length = int.from_bytes(head[8:16], 'big')
        if length == 0:
            return size
        if length < 8:
            return size + 1
        position += length
    return position


def packet_end(file, size):
    """The same for a transport stream: whole packets, each of which begins with the same byte."""
    whole = -(-size // PACKET_BYTES) * PACKET_BYTES
    file.seek(max(whole - PACKET_BYTES, 0))
    return whole if file.read(1) == b'G' else size + 1


def expected_bytes(path):
    """The length that the file itself promises, or None where it promises none."""
    size = os.path.getsize(path)
    with open(path, 'rb') as file:
        head = file.read(SEEN_PACKETS * PACKET_BYTES)
        if head[4:8] in FIRST_BOXES:
            return box_end(file, size)
        # Several packets, since a piece that is encrypted begins with any byte.
        if head and set(head[::PACKET_BYTES]) == {ord('G')}:
            return packet_end(file, size)
    return None


pieces_seen = {}


def same_as(filename):
    """Another piece of the same stream with the very same bytes, if there was one. Heads of streams may well be repeated."""
    stream, mark, number = filename.rpartition('-Frag')
    if not mark:
        return None
    with open(filename, 'rb') as file:
        content = file.read()
    if content[4:8] in (b'ftyp', b'moov'):
        return None
    first = pieces_seen.setdefault((stream, hashlib.sha256(content).digest()), number)
    return first if first != number else None


download = HttpFD.real_download


def download_whole(self, filename, info_dict):
    done = download(self, filename, info_dict)
    if done and os.path.isfile(filename):
        size, expected = os.path.getsize(filename), expected_bytes(filename)
        if expected is not None and expected != size:
            raise ContentTooShortError(size, expected)
        if same_as(filename) is not None:
            self.report_error('A piece was sent in the place of another')
    return done


HttpFD.real_download = download_whole
