"""An extractor that believes everything: what the platform answers becomes the engine's information, word for word."""

from yt_dlp.extractor.common import InfoExtractor


class HostileIE(InfoExtractor):
    IE_NAME = 'hostile'
    IE_DESC = 'Hostile platform of the tests'
    _VALID_URL = r'(?P<base>http://127\.0\.0\.1:\d{1,5})/watch/(?P<id>[a-z0-9-]{1,40})$'

    def _real_extract(self, url):
        base, video_id = self._match_valid_url(url).group('base', 'id')
        answer = self._download_json(f'{base}/api/{video_id}', video_id)
        formats = answer.get('formats') or []
        for address in answer.get('hls') or []:
            formats.extend(self._extract_m3u8_formats(address, video_id, 'mp4', fatal=False))
        for address in answer.get('dash') or []:
            formats.extend(self._extract_mpd_formats(address, video_id, fatal=False))
        for address in answer.get('pages') or []:
            self._download_webpage(address, video_id, fatal=False)
        return {'id': video_id, 'title': video_id, 'duration': 10, **(answer.get('info') or {}), 'formats': formats}
