"""Refuses what was cut on its way although the server said that this was all of it.

The engine compares what it gets with the length that was announced, and no more. Film files and the pieces of streams say
by themselves where they end: MP4 in boxes that state their lengths, WebM in elements, Ogg in pages, MPEG transport streams
in packets of 188 bytes. Other kinds of files are left alone. Two pieces of one stream hold the same bytes only if they have
the same address, as an advertisement that is shown twice: otherwise each tells its own time. The check stands where the
engine downloads every file and every piece, so that what is wrong with one is found before it is joined with others.
"""

import hashlib
import os

from yt_dlp.downloader.http import HttpFD
from yt_dlp.utils import ContentTooShortError

# In the name that the engine gives to a piece of a stream.
PIECE = '-Frag'
PACKET_BYTES = 188
SEEN_PACKETS = 8
WEBM, SEGMENT, CLUSTER = (bytes.fromhex(name) for name in ('1a45dfa3', '18538067', '1f43b675'))
OGG = b'OggS'
# What lies in a file, in a segment, and in a cluster that does not say where it ends.
ELEMENTS = {WEBM, SEGMENT, CLUSTER, *map(bytes.fromhex, (
    'ec bf 114d9b74 1549a966 1654ae6b 1c53bb6b 1941a469 1043a770 1254c367 a3 a0 e7 ab a7 5854').split())}
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


def element(file, position):
    """The name of the WebM element that begins there, where its contents begin, and where it ends: None if that is open."""
    file.seek(position)
    head = file.read(12)
    name_bytes = 9 - head[0].bit_length()
    length_bytes = 9 - head[name_bytes].bit_length() if name_bytes < len(head) else 9
    begin = position + name_bytes + length_bytes
    length = int.from_bytes(head[name_bytes:name_bytes + length_bytes], 'big') % (1 << 7 * length_bytes)
    is_open = length == (1 << 7 * length_bytes) - 1
    return head[:name_bytes], begin, None if is_open else begin + length


def element_end(file, size, is_piece):
    """How long a WebM file would have to be for its elements to be whole. One written while it was sent may not say."""
    position, promised = 0, 0
    while position < (promised or size):
        name, begin, end = element(file, position)
        if name not in ELEMENTS:
            return size + 1
        # The head of a stream in pieces may state the length of all of them.
        if name == SEGMENT and end is not None and not is_piece:
            promised = end
        if promised > size:
            return promised
        position = begin if name == SEGMENT or end is None else end
    return max(position, size)


def page_end(file, size, is_piece):
    """The same for Ogg: pages, each of which lists the lengths of what it holds. The last of a stream says that it is."""
    position, is_last = 0, is_piece
    while position < size:
        file.seek(position)
        head = file.read(27)
        if len(head) < 27 or head[:4] != OGG:
            return size + 1
        lengths = file.read(head[26])
        position += 27 + head[26] + sum(lengths)
        is_last = is_piece or bool(head[5] & 4)
    return position if is_last else size + 1


def expected_bytes(path):
    """The length that the file itself promises, or None where it promises none."""
    size = os.path.getsize(path)
    with open(path, 'rb') as file:
        head = file.read(SEEN_PACKETS * PACKET_BYTES)
        if head[4:8] in FIRST_BOXES:
            return box_end(file, size)
        if head[:4] in (WEBM, CLUSTER):
            return element_end(file, size, is_piece=PIECE in path)
        if head[:4] == OGG:
            return page_end(file, size, is_piece=PIECE in path)
        # Several packets, since a piece that is encrypted begins with any byte.
        if head and set(head[::PACKET_BYTES]) == {ord('G')}:
            return packet_end(file, size)
    return None


pieces_seen = {}


def is_swapped(filename, info_dict):
    """Whether another piece of the same stream had the very same bytes. Heads of streams may well be repeated."""
    stream, mark, _ = filename.rpartition(PIECE)
    if not mark:
        return False
    with open(filename, 'rb') as file:
        content = file.read()
    if content[4:8] in (b'ftyp', b'moov'):
        return False
    address = info_dict['url'], (info_dict.get('http_headers') or {}).get('Range')
    return pieces_seen.setdefault((stream, hashlib.sha256(content).digest()), address) != address


download = HttpFD.real_download


def download_whole(self, filename, info_dict):
    done = download(self, filename, info_dict)
    if done and os.path.isfile(filename):
        size, expected = os.path.getsize(filename), expected_bytes(filename)
        if expected is not None and expected != size:
            raise ContentTooShortError(size, expected)
        if is_swapped(filename, info_dict):
            self.report_error('A piece was sent in the place of another')
    return done


HttpFD.real_download = download_whole
