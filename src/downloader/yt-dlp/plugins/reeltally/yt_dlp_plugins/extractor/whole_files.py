"""Refuses what was cut on its way although the server said that this was all of it, and says what is proved of the rest.

The engine compares what it gets with the length that was announced, and no more. Film files say by themselves where they
end: MP4 in boxes that state their lengths, WebM in elements, Ogg in pages, MPEG transport streams in packets of 188 bytes,
AAC and MP3 in frames. Other kinds of files are left alone. The check stands where the engine downloads every file and every
piece of a stream, so that what is wrong with one is found before it is joined with others. Of the order of pieces see
`whole_streams.py`.

A file may be odd and whole: never closed by its recorder, shortened by an editor that left its lengths alone, with a tag, zeros
or a note behind it. Where a length was announced and came, such a file is taken if it ends between two of its units, since a
transfer that was cut ends inside of one. Without a length, the file has to prove its end itself.
"""

import json
import os
import re

from yt_dlp import YoutubeDL
from yt_dlp.downloader.http import HttpFD

# The end of the name that the engine gives to a piece of a stream.
PIECE = re.compile(r'-Frag\d+$')
PACKET_BYTES = 188
SEEN_PACKETS = 8
WEBM, SEGMENT, CLUSTER = (bytes.fromhex(name) for name in ('1a45dfa3', '18538067', '1f43b675'))
OGG = b'OggS'
# What lies in a file, in a segment, and in a cluster that does not say where it ends.
ELEMENTS = {WEBM, SEGMENT, CLUSTER, *map(bytes.fromhex, (
    'ec bf 114d9b74 1549a966 1654ae6b 1c53bb6b 1941a469 1043a770 1254c367 a3 a0 e7 ab a7 5854').split())}
ADTS_BYTES = 7
MP3_HEAD_BYTES = 4
# In kbit/s, by version and layer, for the indexes from 1 to 14.
MP3_RATES = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
MP3_SAMPLES_PER_SECOND = (44100, 48000, 32000)
# A note behind a film is no longer than this; a tag may be.
TAIL_BYTES = 1 << 20
TAGS = (b'TAG', b'APETAGEX', b'LYRICSBEGIN')
FRAGMENT_BOXES = (b'moof', b'traf', b'mdat')
FILM_BOXES = (b'moov', b'mdat', b'moof', b'mfra', b'sidx')
FIRST_BOXES = (b'ftyp', b'styp', b'moof', b'moov', b'sidx', b'mdat', b'emsg', b'prft')


def is_piece(path):
    return PIECE.search(path) is not None


def box_at(file, position):
    """The name and the length of the box that begins there: 0 if it goes on to the end, less than 8 if it is none."""
    file.seek(position)
    head = file.read(16)
    length = int.from_bytes(head[:4], 'big')
    return head[4:8], int.from_bytes(head[8:16], 'big') or 1 if length == 1 else length


def holds(*marks):
    return lambda rest: any(mark in rest for mark in marks)


def is_tail(file, position, has_media):
    """Whether only what lies behind a film begins there: a tag, zeros, or a note in which there is no media."""
    file.seek(position)
    rest = file.read(TAIL_BYTES + 1)
    # Less than that may be the beginning of a head.
    is_note = 8 <= len(rest) <= TAIL_BYTES and not has_media(rest)
    return rest.startswith(TAGS) or not rest.strip(b'\0') or is_note


def box_end(file, size, is_announced):
    """How long the file would have to be for its boxes to be whole. What lies behind a whole film is nobody's concern."""
    position, names = 0, set()
    while position < size:
        name, length = box_at(file, position)
        if {b'moov', b'mdat'} <= names and name not in FILM_BOXES:
            if b'moof' not in names:
                return size
            if is_announced and is_tail(file, position, holds(*FRAGMENT_BOXES)):
                return position
        names.add(name)
        if size - position < 8:
            return position + 8
        if length == 0:
            return size
        if length < 8:
            return size + 1
        position += length
    return position


def packet_end(file, size, is_announced):
    """The same for a transport stream: whole packets, each of which begins with the same byte. A recording ends anywhere."""
    whole = -(-size // PACKET_BYTES) * PACKET_BYTES
    last = max(whole - PACKET_BYTES, 0)
    file.seek(last)
    if file.read(1) == b'G':
        return size if is_announced else whole
    return size if is_announced and not file.read().strip(b'\0') else size + 1


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


def element_end(file, size, in_stream, is_announced):
    """How long a WebM file would have to be for its elements to be whole. One written while it was sent may not say."""
    position, promised = 0, 0
    while position < (promised or size):
        name, begin, end = element(file, position)
        if name not in ELEMENTS:
            return position if is_announced and is_tail(file, position, holds(CLUSTER)) else size + 1
        # The head of a stream in pieces may state the length of all of them.
        if name == SEGMENT and end is not None and not in_stream:
            promised = end
        if promised > size:
            return promised
        position = begin if name == SEGMENT or end is None else end
    return max(position, size)


def page_end(file, size, in_stream, is_announced):
    """The same for Ogg: pages, each of which lists the lengths of what it holds. The last of a stream says that it is."""
    position, is_last = 0, in_stream or is_announced
    while position < size:
        file.seek(position)
        head = file.read(27)
        if len(head) < 27 or head[:4] != OGG:
            return position if is_last and not in_stream and is_tail(file, position, holds(OGG)) else size + 1
        lengths = file.read(head[26])
        position += 27 + head[26] + sum(lengths)
        is_last = in_stream or is_announced or bool(head[5] & 4)
    return position if is_last else size + 1


def tag_bytes(head):
    """How long the ID3 tag is with which the file begins."""
    if head[:3] != b'ID3' or len(head) < 10:
        return 0
    high, mid, low, last = head[6:10]
    return 10 + (high << 21 | mid << 14 | low << 7 | last)


def is_adts(head):
    return len(head) >= ADTS_BYTES and head[0] == 0xff and head[1] & 0xf6 == 0xf0


def adts_frame_bytes(head):
    """How long a frame is; its head at least, so that whoever walks over frames comes on."""
    return max((head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5, ADTS_BYTES)


def has_adts_frames(rest):
    """Whether two frames follow one another somewhere."""
    at = rest.find(b'\xff')
    while at >= 0:
        head = rest[at:at + ADTS_BYTES]
        if is_adts(head):
            following = at + adts_frame_bytes(head)
            if is_adts(rest[following:following + ADTS_BYTES]):
                return True
        at = rest.find(b'\xff', at + 1)
    return False


def adts_end(file, size, position, is_announced):
    """The same for AAC without a container: frames, each of which states its length."""
    while position < size:
        file.seek(position)
        head = file.read(10)
        if is_adts(head):
            position += adts_frame_bytes(head)
        elif head[:3] == b'ID3':
            position += tag_bytes(head)
        elif head.startswith(b'TAG') or is_announced and is_tail(file, position, has_adts_frames):
            return position
        else:
            return position + ADTS_BYTES if len(head) < ADTS_BYTES else size + 1
    return position


def mp3_frame_bytes(head):
    """How long a frame is; 0 if none begins there, or its length is not known."""
    if len(head) < MP3_HEAD_BYTES or head[0] != 0xff or head[1] < 0xe0:
        return 0
    version, layer, rate, sampling = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3), head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or layer == 4 or rate in (0, 15) or sampling == 3:
        return 0
    bits = 1000 * MP3_RATES[1 if version == 3 else 2, layer][rate - 1]
    samples_per_second = MP3_SAMPLES_PER_SECOND[sampling] // (4 - version if version else 4)
    padding = head[2] >> 1 & 1
    if layer == 1:
        return (12 * bits // samples_per_second + padding) * 4
    return (72 if layer == 3 and version != 3 else 144) * bits // samples_per_second + padding


def mp3_promised(head):
    """What the first frame of an MP3 file says of its length: where its encoder wrote it down."""
    found = max(head.find(b'Xing'), head.find(b'Info'))
    if 0 <= found <= len(head) - 16 and head[found + 7] & 2:
        at = found + (12 if head[found + 7] & 1 else 8)
        return int.from_bytes(head[at:at + 4], 'big')
    found = head.find(b'VBRI')
    return int.from_bytes(head[found + 10:found + 14], 'big') if 0 <= found <= len(head) - 14 else 0


def ends_between_frames(file, size, position):
    while position < size:
        file.seek(position)
        length = mp3_frame_bytes(file.read(MP3_HEAD_BYTES))
        if length == 0:
            return is_tail(file, position, lambda rest: True)
        position += length
    return position == size


def mp3_end(file, size, position, is_announced):
    """What an editor leaves of a longer file ends between two frames, and still states the length that it had."""
    file.seek(position)
    promised = position + mp3_promised(file.read(200))
    if promised <= size or is_announced and ends_between_frames(file, size, position):
        return size
    return promised


def is_transport_stream(head):
    """Several packets, since a piece that is encrypted begins with any byte."""
    return len(head) >= 2 * PACKET_BYTES and set(head[::PACKET_BYTES]) == {ord('G')}


def is_avi(head):
    return head[:4] == b'RIFF' and head[8:12] == b'AVI '


def avi_bytes(head):
    return 8 + int.from_bytes(head[4:8], 'little')


def expected_bytes(path, is_announced):
    """
    The length that the file itself promises, or None where it promises none.

    :param is_announced: a length was announced for it, and came
    """
    size, in_stream = os.path.getsize(path), is_piece(path)
    # The pieces of a stream are cut by its maker, each between two units.
    is_announced = is_announced and not in_stream
    with open(path, 'rb') as file:
        head = file.read(SEEN_PACKETS * PACKET_BYTES)
        if head[4:8] in FIRST_BOXES:
            return box_end(file, size, is_announced)
        if head[:4] in (WEBM, CLUSTER):
            return element_end(file, size, in_stream, is_announced)
        if head[:4] == OGG:
            return page_end(file, size, in_stream, is_announced)
        if is_transport_stream(head):
            return packet_end(file, size, is_announced)
        if is_avi(head):
            # An AVI that was never closed states 0, or too much.
            return size if is_announced else max(avi_bytes(head), size)
        begin = tag_bytes(head)
        file.seek(begin)
        first = file.read(ADTS_BYTES)
        if is_adts(first):
            return adts_end(file, size, begin, is_announced)
        if first[:1] == b'\xff' and first[1:2] >= b'\xe0':
            return mp3_end(file, size, begin, is_announced)
    return None


def ends_inside(path):
    """Whether a file ends inside of a packet, or before its stated end, as recordings do, and transfers that were cut."""
    size = os.path.getsize(path)
    with open(path, 'rb') as file:
        head = file.read(SEEN_PACKETS * PACKET_BYTES)
    return is_transport_stream(head) and size % PACKET_BYTES != 0 or is_avi(head) and avi_bytes(head) > size


def proves_its_end(path):
    """Whether a file would show by itself that its end is missing, if no length had been announced."""
    with open(path, 'rb') as file:
        head = file.read(12)
        if head[:4] == OGG:
            return True
        if head[:4] == WEBM:
            size = os.path.getsize(path)
            position = 0
            while position < size:
                name, begin, end = element(file, position)
                if name == SEGMENT:
                    return end is not None
                position = end or begin
            return False
        names = box_names(file, os.path.getsize(path)) if head[4:8] in FIRST_BOXES else set()
        return b'moov' in names and (b'moof' not in names or b'mfra' in names)


def box_names(file, size):
    names, position = set(), 0
    while position < size:
        name, length = box_at(file, position)
        names.add(name)
        position += length if length >= 8 else size
    return names


def is_page(content_type, head):
    """Whether what came is a page that says what is wrong, in the place of media."""
    text = head.lstrip()[:1]
    is_text = b'\0' not in head and all(byte >= 32 or byte in b'\t\r\n' for byte in head)
    return is_text and (text in (b'<', b'{') or content_type.split(';')[0].split('/')[0] == 'text' or 'json' in content_type)


# How the answer to the last question began: the file is the body of it.
last_headers = {}
open_url = YoutubeDL.urlopen


def open_and_remember(self, *arguments, **options):
    response = open_url(self, *arguments, **options)
    last_headers.clear()
    last_headers.update((name.lower(), value) for name, value in response.headers.items())
    return response


def has_known_length():
    """What came has the length that was announced: the engine has compared them. Chunks end also where their sender broke off."""
    return 'content-length' in last_headers


proofs = {}
download = HttpFD.real_download


def download_whole(self, filename, info_dict):
    done = download(self, filename, info_dict)
    if not done or not os.path.isfile(filename):
        return done
    size, expected = os.path.getsize(filename), expected_bytes(filename, has_known_length())
    if expected is not None and expected < size:
        # What lies behind is none of the film, and would be taken for a damaged piece of it.
        os.truncate(filename, expected)
    if expected is not None and expected > size:
        self.report_error(f'The file is not whole by its own lengths: {size} bytes in the place of {expected}')
    with open(filename, 'rb') as file:
        if is_page(last_headers.get('content-type', ''), file.read(256)):
            self.report_error('A page was sent in the place of media')
    if is_piece(filename):
        # Pieces are judged together, by what is said of each here.
        proofs[filename] = has_known_length() or proves_its_end(filename)
    else:
        tell(self, has_known_length() and not ends_inside(filename) or proves_its_end(filename))
    return done


def tell(downloader, is_proved):
    """For the worker: whether everything came of a part of the film."""
    downloader.ydl.to_stdout(f'WHOLE {json.dumps(is_proved)}')


YoutubeDL.urlopen = open_and_remember
HttpFD.real_download = download_whole
