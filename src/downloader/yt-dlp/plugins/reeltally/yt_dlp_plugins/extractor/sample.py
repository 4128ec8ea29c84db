"""Reads items of the sample platform that the demo and the tests bring along.

The platform's own JSON says what an item is; where it says that an item cannot be had, this raises what the engine
raises for the same case on a public platform, so that every failure takes the same way through the service.
"""

from yt_dlp.extractor.common import InfoExtractor
from yt_dlp.utils import ExtractorError, determine_ext, float_or_none, int_or_none, str_or_none, urljoin


class SampleIE(InfoExtractor):
    IE_NAME = 'sample'
    IE_DESC = 'Sample platform on the loopback address'
    _VALID_URL = r'(?P<base>http://127\.0\.0\.1:\d{1,5})/(?:watch|photo)/(?P<id>[a-z0-9-]{1,64})$'

    def _raise_if_refused(self, refusal, video_id):
        if refusal == 'geo':
            self.raise_geo_restricted(countries=['AQ'])
        if refusal == 'login':
            self.raise_login_required()
        if refusal == 'drm':
            # In a metadata request it returns.
            self.report_drm(video_id)
        elif refusal:
            raise ExtractorError(refusal, expected=True)

    def _formats(self, base, item, video_id):
        formats = []
        for rendition in item.get('renditions') or []:
            formats.append({
                'format_id': rendition['id'],
                'url': urljoin(base, rendition['path']),
                'ext': rendition['extension'],
                'width': int_or_none(rendition.get('width')),
                'height': int_or_none(rendition.get('height')),
                'tbr': float_or_none(rendition.get('kilobitsPerSecond')),
                'filesize': int_or_none(rendition.get('sizeBytes')),
                'vcodec': rendition['videoCodec'],
                'acodec': rendition['audioCodec'],
            })
        if item.get('playlistPath'):
            formats.extend(self._extract_m3u8_formats(urljoin(base, item['playlistPath']), video_id, 'mp4'))
        if item.get('manifestPath'):
            formats.extend(self._extract_mpd_formats(urljoin(base, item['manifestPath']), video_id))
        return formats

    def _stills(self, base, paths, video_id, common):
        """Without codecs: a still for which they were said to be missing would not be downloaded."""
        return [{
            **common,
            'id': f'{video_id}-{number}',
            'url': urljoin(base, path),
            'ext': determine_ext(path),
        } for number, path in enumerate(paths, 1)]

    def _real_extract(self, url):
        base, video_id = self._match_valid_url(url).group('base', 'id')
        item = self._download_json(f'{base}/api/items/{video_id}', video_id)
        self._raise_if_refused(item.get('refusal'), video_id)
        common = {
            'title': str_or_none(item.get('title')),
            'thumbnail': urljoin(base, item.get('thumbnailPath')),
        }
        if item.get('stillPaths'):
            return self.playlist_result(self._stills(base, item['stillPaths'], video_id, common), video_id, **common)
        return {
            **common,
            'id': video_id,
            'duration': float_or_none(item.get('durationSeconds')),
            'is_live': bool(item.get('isLive')),
            'formats': self._formats(base, item, video_id),
        }
