"""Refuses a stream of which a piece is not the one that its playlist names, however whole each piece is.

What is odd in a film proves nothing: it may stand still, fall silent, or begin its clock anew. But pieces tell their place: each
by the times in it, and by counters that run on from one to the next. Where the pieces around one leave room for it, and it
tells of another time, it was sent in the place of another; so it was where it alone was made in another way, and where the
counters run on everywhere but around it. A playlist that marks a discontinuity says that nothing runs on there.

Pieces of MP4 may begin anew with a head of their own, and with a clock that does. The file that they are joined to has one head
and one clock, since nobody reads a second: other heads are left out where they describe the same make, else the stream is
refused, and the clock of later pieces is put forward.
"""

import hashlib
import re
from collections import Counter

from yt_dlp.downloader.dash import DashSegmentsFD
from yt_dlp.downloader.fragment import FragmentFD
from yt_dlp.downloader.hls import HlsFD

from yt_dlp.utils import parse_m3u8_attributes

from yt_dlp_plugins.extractor.whole_files import (
    ADTS_BYTES, PACKET_BYTES, adts_frame_bytes, is_adts, is_page, proofs, tag_bytes, tell)

CLOCK_WRAP = 1 << 33
MIN_FOR_MANY = 3
SPS = b'\x00\x00\x01\x67'
SETUP_BYTES = 32
HEADS = (b'ftyp', b'moov')
CLOCK_OWNER, CLOCK_RATE = b'com.apple.streaming.transportStreamTimestamp\0', 90_000
SAMPLES_OF_FRAME = 1024
ADTS_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350)
# Other frames of silence, or of any sound that repeats, say nothing of their place. The first may differ.
DIFFERENT_FRAMES = 3


class Piece:
    """What a piece says of its place. Times are begin and end of each track, in the track's own units."""

    def __init__(self, content, is_new):
        self.is_new = is_new
        self.digest = hashlib.sha256(content).digest()
        self.address = None
        self.times, self.first_counts, self.last_counts, self.setup = {}, {}, {}, None
        self.is_told = False

    def length(self, track):
        begin, end = self.times[track]
        return end - begin


def stamp(data, at):
    """A time stamp of 33 bits, as streams of packets write it."""
    return ((data[at] >> 1 & 7) << 30 | data[at + 1] << 22 | data[at + 2] >> 1 << 15 | data[at + 3] << 7 | data[at + 4] >> 1)


def packet_track(content, at):
    return (content[at + 1] & 0x1f) << 8 | content[at + 2]


def payload_at(content, at):
    """Where the payload of a packet begins; None if it has none."""
    if not content[at + 3] & 0x10:
        return None
    begin = at + 4 + (1 + content[at + 4] if content[at + 3] & 0x20 else 0)
    return begin if begin < at + PACKET_BYTES else None


def read_packets(piece, content):
    stamps = {}
    for number, flags in enumerate(content[1::PACKET_BYTES]):
        at = number * PACKET_BYTES
        begin = payload_at(content, at) if flags & 0x40 else None
        if begin is None or content[begin:begin + 3] != b'\0\0\1' or not 0xbd <= content[begin + 3] <= 0xef:
            continue
        if content[begin + 7] & 0x80:
            stamps.setdefault(packet_track(content, at), []).append(stamp(content, begin + 9))
    for track, times in stamps.items():
        first, last = min(times), max(times)
        if last - first < CLOCK_WRAP // 2:
            step = (last - first) / max(len(times) - 1, 1)
            piece.times[track] = (first, last + step)
    read_counts(piece, content, set(stamps))
    found = content.find(SPS)
    if found >= 0:
        piece.setup = content[found:found + SETUP_BYTES]


def read_counts(piece, content, tracks):
    packets = len(content) // PACKET_BYTES
    for counts, numbers in ((piece.first_counts, range(packets)), (piece.last_counts, range(packets - 1, -1, -1))):
        for number in numbers:
            at = number * PACKET_BYTES
            track = packet_track(content, at)
            if track in tracks and payload_at(content, at) is not None:
                counts.setdefault(track, content[at + 3] & 15)
            if len(counts) == len(tracks):
                break


def boxes(data, begin=0, end=None):
    end = len(data) if end is None else end
    while begin + 8 <= end:
        length, name = int.from_bytes(data[begin:begin + 4], 'big'), data[begin + 4:begin + 8]
        head = 8
        if length == 1:
            length, head = int.from_bytes(data[begin + 8:begin + 16], 'big'), 16
        if length < head:
            return
        yield name, begin + head, begin + length
        begin += length


def number_at(data, at, size=4):
    return int.from_bytes(data[at:at + size], 'big')


def read_run(data, begin, end, usual):
    """How long the samples of a run take; None where it takes the head of the stream to tell."""
    flags, count = number_at(data, begin + 1, 3), number_at(data, begin + 4)
    if not flags & 0x100:
        return None if usual is None else usual * count
    at = begin + 8 + (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
    stride = 4 * sum(bool(flags & flag) for flag in (0x100, 0x200, 0x400, 0x800))
    return sum(number_at(data, at + stride * sample) for sample in range(min(count, (end - at) // stride)))


def read_fragment(piece, data, begin, end, usual_lengths):
    for name, inner, last in boxes(data, begin, end):
        if name != b'traf':
            continue
        track = time = usual = None
        length = 0
        for box, at, stop in boxes(data, inner, last):
            if box == b'tfhd':
                flags, track = number_at(data, at + 1, 3), number_at(data, at + 4)
                skipped = (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
                usual = number_at(data, at + 8 + skipped) if flags & 8 else usual_lengths.get(track)
            elif box == b'tfdt':
                time = number_at(data, at + 4, 8 if data[at] else 4)
            elif box == b'trun' and length is not None:
                run = read_run(data, at, min(stop, len(data)), usual)
                length = None if run is None else length + run
        if track is not None and time is not None and length:
            first = piece.times.get(track, (time, 0))[0]
            piece.times[track] = (first, time + length)


def usual_lengths(data):
    """Of the samples of each track, as the head of a stream states them."""
    found = {}
    for name, begin, end in boxes(data):
        for inner, at, last in boxes(data, begin, end) if name == b'moov' else ():
            for box, place, _ in boxes(data, at, last) if inner == b'mvex' else ():
                if box == b'trex':
                    found[number_at(data, place + 4)] = number_at(data, place + 12)
    return found


class Head:
    """Of a stream of MP4: what its tracks are made like, and the units of their clocks."""

    def __init__(self, data):
        self.make, self.units, self.end, self.has_fragments = {}, {}, len(data), False
        for name, begin, end in boxes(data):
            if name in (b'moof', b'mdat', b'styp', b'sidx'):
                self.end = begin - 8
                break
            for inner, at, last in boxes(data, begin, end) if name == b'moov' else ():
                self.has_fragments = self.has_fragments or inner == b'mvex'
                if inner == b'trak':
                    self.read_track(data, at, last)

    def read_track(self, data, begin, end):
        found = {}
        containers = [(begin, end)]
        while containers:
            for name, at, last in boxes(data, *containers.pop()):
                found.setdefault(name, data[at:last])
                if name in (b'mdia', b'minf', b'stbl'):
                    containers.append((at, last))
        wide = [found.get(name, b'\0')[:1] == b'\1' for name in (b'tkhd', b'mdhd')]
        track = number_at(found.get(b'tkhd', b''), 20 if wide[0] else 12)
        self.units[track] = number_at(found.get(b'mdhd', b''), 20 if wide[1] else 12) or 1
        self.make[track] = self.units[track], found.get(b'stsd')


def put_forward(data, units, seconds):
    """A piece of MP4 whose clock is so much later."""
    moved = bytearray(data)
    for name, begin, end in boxes(data):
        if name == b'sidx':
            # It tells the time too.
            moved[begin - 4:begin] = b'free'
        for inner, at, last in boxes(data, begin, end) if name == b'moof' else ():
            track = None
            for box, place, _ in boxes(data, at, last) if inner == b'traf' else ():
                if box == b'tfhd':
                    track = number_at(data, place + 4)
                if box == b'tfdt':
                    size = 8 if data[place] else 4
                    later = number_at(data, place + 4, size) + round(seconds * units.get(track, 1))
                    moved[place + 4:place + 4 + size] = (later % (1 << 8 * size)).to_bytes(size, 'big')
    return bytes(moved)


def repeats_itself(content):
    """Whether nearly all frames of a piece of sound without a container are the same; of other sound that is not known."""
    if not is_adts(content[:ADTS_BYTES]):
        return content[:2] == b'\x0b\x77' or content[:1] == b'\xff'
    position, frames = 0, set()
    while is_adts(head := content[position:position + ADTS_BYTES]):
        end = position + adts_frame_bytes(head)
        frames.add(content[position:end])
        position = end
    return 0 < len(frames) <= DIFFERENT_FRAMES


def read_piece(content, is_new, lengths):
    piece = Piece(content, is_new)
    try:
        read_times(piece, content, lengths)
    except IndexError:
        # Cut in the middle of what it says: it says nothing.
        piece.times.clear()
    piece.is_told = bool(piece.times) or not repeats_itself(content)
    return piece


def read_times(piece, content, lengths):
    if content[:1] == b'G' and set(content[::PACKET_BYTES]) == {ord('G')}:
        read_packets(piece, content)
    elif content[4:8] in (b'styp', b'moof', b'sidx', b'emsg', b'prft'):
        for name, begin, end in boxes(content):
            if name == b'moof':
                read_fragment(piece, content, begin, end, lengths)


def runs_of(pieces):
    """The pieces between two marks of a discontinuity."""
    runs = []
    for piece in pieces:
        if piece.is_new or not runs:
            runs.append([])
        runs[-1].append(piece)
    return runs


def is_outside(before, piece, after):
    """Whether the pieces around one leave room for it, and it is of another time."""
    for track in set(before.times) & set(piece.times) & set(after.times):
        begin, end = piece.times[track]
        room = before.times[track][1], after.times[track][0]
        half = piece.length(track) / 2
        if room[1] - room[0] > half and (begin < room[0] - half or end > room[1] + half):
            return True
    return False


def is_shuffled(run):
    """Whether the pieces of a run would follow one another without a gap in another order, and in that alone."""
    for track in set.intersection(*(set(piece.times) for piece in run)):
        ordered = sorted(run, key=lambda piece: piece.times[track][0])
        follows = all(
            abs(after.times[track][0] - before.times[track][1]) < before.length(track) / 2
            for before, after in zip(ordered, ordered[1:]))
        if follows and ordered != run:
            return True
    return False


def runs_on(before, after):
    """Whether the counters of two pieces follow one another; None where they have none."""
    tracks = set(before.last_counts) & set(after.first_counts)
    return all((before.last_counts[track] + 1) % 16 == after.first_counts[track] for track in tracks) if tracks else None


def jumps(before, after):
    return any(
        abs(after.times[track][0] - before.times[track][1]) > before.length(track) / 2
        for track in set(before.times) & set(after.times))


def has_uncounted(run):
    """Whether counters run on everywhere in a run but before and after one piece, although the times do."""
    broken = [number for number, (before, after) in enumerate(zip(run, run[1:])) if runs_on(before, after) is not True]
    if len(broken) != 2 or broken[1] != broken[0] + 1 or len(run) <= MIN_FOR_MANY:
        return False
    return all(runs_on(run[border], run[border + 1]) is False and not jumps(run[border], run[border + 1]) for border in broken)


def has_made_otherwise(run):
    """Whether all pieces of a run but one were made in one way."""
    counts = Counter(piece.setup for piece in run)
    return len(run) >= MIN_FOR_MANY and None not in counts and sorted(counts.values()) == [1, len(run) - 1]


def has_foreign(run):
    outside = any(is_outside(*run[number - 1:number + 2]) for number in range(1, len(run) - 1))
    return outside or has_uncounted(run) or has_made_otherwise(run)


def is_swapped(pieces):
    """Whether two addresses led to the very same bytes, which tell one time."""
    addresses = {}
    return any(
        piece.is_told and piece.address is not None and addresses.setdefault(piece.digest, piece.address) != piece.address
        for piece in pieces)


def is_whole(pieces):
    return not any(is_swapped(run) or is_shuffled(run) or has_foreign(run) for run in runs_of(pieces))


class Stream:
    """The pieces of the stream that is fetched, in the order in which they come."""

    def __init__(self, breaks=(), is_ended=True):
        self.breaks, self.is_ended = set(breaks), is_ended
        self.pieces, self.lengths, self.is_new, self.count = [], {}, False, 0
        self.all_proved = True
        self.head, self.has_other_make, self.later_seconds, self.ends = None, False, 0, {}

    def add(self, content, address, is_proved):
        """Returns what of a piece is to be joined."""
        self.count += 1
        self.all_proved = self.all_proved and is_proved
        if content[4:8] in HEADS:
            self.lengths.update(usual_lengths(content))
            self.is_new = True
            head = Head(content)
            if self.head is None:
                self.head = head
                return content
            self.has_other_make = self.has_other_make or head.make != self.head.make or not head.has_fragments
            content = content[head.end:]
            if not content:
                return content
        tag = content[:tag_bytes(content)] if is_packed_sound(content) else b''
        # The tag of a piece of sound would be taken for a damaged frame in the middle of it.
        content = content[len(tag):]
        piece = read_piece(content, self.is_new or self.count in self.breaks, self.lengths)
        read_tag(piece, tag, content)
        piece.address, self.is_new = address, False
        self.pieces.append(piece)
        return content if self.head is None else self.on_one_clock(piece, content)

    def on_one_clock(self, piece, content):
        times = {track: [each / self.head.units.get(track, 1) for each in span] for track, span in piece.times.items()}
        goes_back = [
            self.ends[track] - begin for track, (begin, end) in times.items()
            if track in self.ends and begin + self.later_seconds < self.ends[track] - (end - begin) / 2]
        if goes_back:
            self.later_seconds = max(goes_back)
        for track, (_, end) in times.items():
            self.ends[track] = max(self.ends.get(track, 0), end + self.later_seconds)
        return put_forward(content, self.head.units, self.later_seconds) if self.later_seconds else content


stream = None
append = FragmentFD._append_fragment
fetch = FragmentFD._download_fragment


def fetch_and_remember(self, ctx, frag_url, info_dict, headers=None, request_data=None):
    ctx['reeltally_address'] = frag_url, (headers or {}).get('Range')
    return fetch(self, ctx, frag_url, info_dict, headers, request_data)


def append_and_read(self, ctx, content):
    if stream is not None:
        is_proved = proofs.pop(ctx.get('fragment_filename_sanitized'), False)
        if is_page('', content[:256]):
            self.report_error('A page was sent in the place of media')
        content = stream.add(content, ctx.get('reeltally_address'), is_proved)
    return append(self, ctx, content)


def read_tag(piece, tag, content):
    """The tag of a piece of sound without a container may tell its time, and frames of AAC tell how long they last."""
    owner, _, time = tag.partition(CLOCK_OWNER)
    if owner and len(time) >= 8 and is_adts(content[:ADTS_BYTES]):
        begin, rate = int.from_bytes(time[:8], 'big'), content[2] >> 2 & 15
        frames, position = 0, 0
        while is_adts(head := content[position:position + ADTS_BYTES]):
            frames, position = frames + 1, position + adts_frame_bytes(head)
        if rate < len(ADTS_RATES):
            piece.times['tag'] = begin, begin + frames * SAMPLES_OF_FRAME * CLOCK_RATE // ADTS_RATES[rate]


def is_packed_sound(content):
    after = content[tag_bytes(content):][:2]
    return content[:3] == b'ID3' and (after == b'\x0b\x77' or after[:1] == b'\xff' and after[1:] >= b'\xe0')


ADDRESS = re.compile(r'[^#\s]')
OF_ONE_PIECE = ('#EXTINF', '#EXT-X-BYTERANGE', '#EXT-X-GAP', '#EXT-X-BITRATE')


def playable(playlist):
    """
    The playlist without what the engine does not know: pieces that the platform itself says are not there, and heads in the middle,
    which become pieces. Numbers of pieces stay what they were, since keys hang on them.
    """
    lines, of_piece, current_map, number = [], [], None, 0
    for line in map(str.strip, playlist.splitlines()):
        if line.startswith('#EXT-X-MEDIA-SEQUENCE:'):
            number = int(line.partition(':')[2])
        if line.startswith('#EXT-X-MAP') and current_map is not None:
            if line != current_map:
                head = parse_m3u8_attributes(line[11:])
                ranged = [f'#EXT-X-BYTERANGE:{head["BYTERANGE"]}'] if head.get('BYTERANGE') else []
                lines += [*ranged, head.get('URI') or '', f'#EXT-X-MEDIA-SEQUENCE:{number}']
                current_map = line
        elif line.startswith(OF_ONE_PIECE):
            of_piece.append(line)
        elif ADDRESS.match(line):
            number += 1
            is_gap = '#EXT-X-GAP' in of_piece
            lines += [f'#EXT-X-MEDIA-SEQUENCE:{number}'] if is_gap else [*of_piece, line]
            of_piece = []
        else:
            current_map = line if line.startswith('#EXT-X-MAP') else current_map
            lines.append(line)
    return '\n'.join(lines)


def breaks_of(playlist):
    """The numbers of the pieces before which a playlist marks a discontinuity, counted as the engine counts them."""
    found, number, is_new = [], 0, False
    for line in map(str.strip, playlist.splitlines()):
        if line.startswith('#EXT-X-DISCONTINUITY') and not line.startswith('#EXT-X-DISCONTINUITY-SEQUENCE'):
            is_new = True
        elif line.startswith('#EXT-X-MAP') or (line and not line.startswith('#')):
            number += 1
            if is_new:
                found.append(number)
            is_new = False
    return found


def judged(download):
    def real_download(self, filename, info_dict):
        global stream
        stream = Stream()
        if isinstance(self, HlsFD):
            stream = Stream(*read_playlist(self, info_dict))
        done = download(self, filename, info_dict)
        if done and stream.has_other_make:
            self.report_error('The stream goes on in another make, which one file cannot hold')
        if done and not is_whole(stream.pieces):
            self.report_error('A piece was sent in the place of another')
        if done:
            tell(self, stream.all_proved and stream.is_ended)
        stream = None
        return done
    return real_download


def read_playlist(self, info_dict):
    """Fetches the playlist for the engine too."""
    if not info_dict.get('hls_media_playlist_data'):
        response = self.ydl.urlopen(self._prepare_url(info_dict, info_dict['url']))
        info_dict['url'] = response.url
        info_dict['hls_media_playlist_data'] = response.read().decode('utf-8', 'ignore')
    playlist = info_dict['hls_media_playlist_data'] = playable(info_dict['hls_media_playlist_data'])
    return breaks_of(playlist), '#EXT-X-ENDLIST' in playlist


FragmentFD._download_fragment = fetch_and_remember
FragmentFD._append_fragment = append_and_read
HlsFD.real_download = judged(HlsFD.real_download)
DashSegmentsFD.real_download = judged(DashSegmentsFD.real_download)
