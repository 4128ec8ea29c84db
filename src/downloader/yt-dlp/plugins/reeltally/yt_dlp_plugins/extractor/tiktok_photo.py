"""Reads image posts of TikTok, which the engine's own extractor leaves out: a playlist with one entry for each still."""

from yt_dlp.extractor.common import InfoExtractor
from yt_dlp.utils import ExtractorError, determine_ext, int_or_none, traverse_obj, url_or_none


class TikTokPhotoIE(InfoExtractor):
    IE_NAME = 'tiktok:photo'
    IE_DESC = 'Image posts of TikTok'
    _VALID_URL = r'https?://(?:www\.)?tiktok\.com/@[^/?#]*/photo/(?P<id>\d+)'

    def _real_extract(self, url):
        post_id = self._match_id(url)
        webpage = self._download_webpage(url, post_id)
        data = self._search_json(
            r'<script[^>]+\bid="__UNIVERSAL_DATA_FOR_REHYDRATION__"[^>]*>', webpage, 'page data', post_id,
            end_pattern=r'</script>', default={})
        detail = traverse_obj(data, ('__DEFAULT_SCOPE__', 'webapp.video-detail', {dict})) or {}
        status = traverse_obj(detail, ('statusCode', {int_or_none})) or 0
        if status in (10216, 10222):
            raise ExtractorError('This post is private', expected=True)
        if status:
            raise ExtractorError(f'Post is unavailable, status code {status}', expected=True)
        post = traverse_obj(detail, ('itemInfo', 'itemStruct', {dict})) or {}
        stills = traverse_obj(post, ('imagePost', 'images', ..., 'imageURL', 'urlList', 0, {url_or_none}))
        if not stills:
            raise ExtractorError('There is no image in this post', expected=True)
        common = {
            'title': traverse_obj(post, ('desc', {str})) or f'TikTok image post {post_id}',
            'thumbnail': stills[0],
        }
        # Without codecs: a still for which they were said to be missing would not be downloaded.
        entries = [{
            **common,
            'id': f'{post_id}-{number}',
            'url': still,
            'ext': determine_ext(still, 'jpg'),
            'http_headers': {'Referer': 'https://www.tiktok.com/'},
        } for number, still in enumerate(stills, 1)]
        return self.playlist_result(entries, post_id, **common)
