"""Reads manifests of DASH in which a track is one file, and its pieces are ranges of bytes.

The engine knows no ranges. It stops at a piece without an address, and fetches a whole file for each piece that names one. Where the
ranges begin at the first byte and follow one another, the track is the file itself, which the engine can fetch. It cannot join files
of several periods either, and would take one for the film.
"""

import re
import urllib.parse
import xml.etree.ElementTree
from collections import Counter

from yt_dlp.extractor.common import InfoExtractor

# The attributes by which the parts of a list name their file, and their range in it.
ATTRIBUTES = {'Initialization': ('sourceURL', 'range'), 'RepresentationIndex': ('sourceURL', 'range'),
              'SegmentURL': ('media', 'mediaRange')}


def name_of(element):
    return element.tag.rpartition('}')[2]


def file_of(pieces):
    """The file that all pieces make up, as they name it: empty for that of the track. None if they do not make up one file."""
    files, next_byte = set(), 0
    for piece in pieces:
        address, span = ATTRIBUTES[name_of(piece)]
        found = re.fullmatch(r'(\d{1,18})-(\d{1,18})', piece.get(span) or '')
        if found is None or int(found[1]) != next_byte or int(found[2]) < next_byte:
            return None
        next_byte = int(found[2]) + 1
        files.add(piece.get(address) or '')
    return files.pop() if len(files) == 1 else None


def take_file(track, pieces, file):
    """Leaves the file as the address of the track, and no pieces."""
    base = next((each for each in track if name_of(each) == 'BaseURL'), None)
    if base is None:
        base = xml.etree.ElementTree.SubElement(track, track.tag.replace('Representation', 'BaseURL'))
    base.text = urllib.parse.urljoin(base.text or '', file)
    track.remove(pieces)


def leave_out_parts(periods):
    """A file that one of several periods alone names is a part of the film. One that several name may be cut at an advertisement."""
    with_tracks = [period for period in periods if period['formats']]
    files = Counter(file for period in with_tracks for file in {each['url'] for each in period['formats'] if 'fragments' not in each})
    for period in with_tracks if len(with_tracks) > 1 else []:
        period['formats'] = [each for each in period['formats'] if 'fragments' in each or files[each['url']] > 1]


def with_ranges(method):
    def parsed(self, mpd_doc, *args, **kwargs):
        periods = [each for each in mpd_doc if name_of(each) == 'Period']
        tracks = mpd_doc.iter() if len(periods) == 1 else []
        for track in [each for each in tracks if name_of(each) == 'Representation']:
            for pieces in [each for each in track if name_of(each) == 'SegmentList']:
                file = file_of([each for each in pieces if name_of(each) in ATTRIBUTES])
                if file is not None:
                    take_file(track, pieces, file)
        found = list(method(self, mpd_doc, *args, **kwargs))
        leave_out_parts(found)
        return found
    return parsed


InfoExtractor._parse_mpd_periods = with_ranges(InfoExtractor._parse_mpd_periods)
