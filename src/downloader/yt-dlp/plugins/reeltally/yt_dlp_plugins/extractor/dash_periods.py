"""Takes all periods of a film of DASH, and its sound.

The engine joins the periods of a film only where all that they say of a track is the same; of others it takes one period for the
film. And a picture whose codec a manifest does not name it takes for one with sound, so that the film would be delivered without.
Of periods that are files see `dash_ranges.py`, of periods of another make `whole_streams.py`.
"""

import urllib.parse

from yt_dlp.extractor.common import InfoExtractor


def name_silent(formats):
    if any(each.get('vcodec') == 'none' for each in formats):
        for each in formats:
            if each.get('acodec') is None and each.get('format_note') == 'DASH video':
                each['acodec'] = 'none'


def with_mended_periods(method):
    def parsed(self, mpd_doc, *args, **kwargs):
        periods = list(method(self, mpd_doc, *args, **kwargs))
        for period in periods:
            name_silent(period['formats'])
        return periods
    return parsed


def kind(each):
    return each.get('vcodec') == 'none', each.get('acodec') == 'none'


def seconds_of(period):
    return max((sum(piece.get('duration') or 0 for piece in each.get('fragments') or ()) for each in period['formats']), default=0)


def nearest(wanted, formats):
    """The track of another period that stands for this one."""
    def distance(each):
        differs = [each.get(name) != wanted.get(name) for name in ('language', 'ext', 'vcodec', 'acodec')]
        return *differs, abs((each.get('height') or 0) - (wanted.get('height') or 0)), abs((each.get('tbr') or 0) - (wanted.get('tbr') or 0))
    return min((each for each in formats if kind(each) == kind(wanted)), key=distance, default=None)


def absolute(each):
    """The pieces of a track, by addresses that hold in every period."""
    base = each.get('fragment_base_url') or ''
    return [
        {**piece, 'url': piece.get('url') or urllib.parse.urljoin(base, piece.get('path') or '')} for piece in each['fragments']]


def merge(self, periods, *, original=InfoExtractor._merge_mpd_periods):
    """Each track of the longest period goes through all of the film."""
    periods = list(periods)
    all_in_pieces = all(each.get('fragments') for period in periods for each in period['formats'])
    if len(periods) > 1 and all_in_pieces:
        leading = max(periods, key=seconds_of)['formats']
        found = [(wanted, [nearest(wanted, period['formats']) for period in periods]) for wanted in leading]
        for number, period in enumerate(periods):
            period['formats'] = [
                {**wanted, 'fragments': absolute(through[number])} for wanted, through in found if None not in through]
    return original(self, periods)


InfoExtractor._parse_mpd_periods = with_mended_periods(InfoExtractor._parse_mpd_periods)
InfoExtractor._merge_mpd_periods = merge
