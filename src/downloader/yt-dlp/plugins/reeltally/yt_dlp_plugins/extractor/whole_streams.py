"""Refuses a stream of which a piece is not the one that its playlist names, however whole each piece is.

What is odd in a film proves nothing: it may stand still, fall silent, or begin its clock anew. But pieces tell their place: each
by the times in it, and by counters that run on from one to the next. Where the pieces around one leave room for it, and it
tells of another time, it was sent in the place of another; so it was where it alone was made in another way, and where the
counters run on everywhere but around it. A playlist that marks a discontinuity says that nothing runs on there.
"""

import hashlib
from collections import Counter

from yt_dlp.downloader.dash import DashSegmentsFD
from yt_dlp.downloader.fragment import FragmentFD
from yt_dlp.downloader.hls import HlsFD

from yt_dlp_plugins.extractor.whole_files import ADTS_BYTES, PACKET_BYTES, adts_frame_bytes, is_adts, is_page, proofs, tell

CLOCK_WRAP = 1 << 33
MIN_FOR_MANY = 3
SPS = b'\x00\x00\x01\x67'
SETUP_BYTES = 32
HEADS = (b'ftyp', b'moov')
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

    def add(self, content, address, is_proved):
        self.count += 1
        self.all_proved = self.all_proved and is_proved
        if content[4:8] in HEADS:
            self.lengths.update(usual_lengths(content))
            self.is_new = True
            return
        piece = read_piece(content, self.is_new or self.count in self.breaks, self.lengths)
        piece.address, self.is_new = address, False
        self.pieces.append(piece)


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
        stream.add(content, ctx.get('reeltally_address'), is_proved)
    return append(self, ctx, content)


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
    playlist = info_dict['hls_media_playlist_data']
    return breaks_of(playlist), '#EXT-X-ENDLIST' in playlist


FragmentFD._download_fragment = fetch_and_remember
FragmentFD._append_fragment = append_and_read
HlsFD.real_download = judged(HlsFD.real_download)
DashSegmentsFD.real_download = judged(DashSegmentsFD.real_download)
