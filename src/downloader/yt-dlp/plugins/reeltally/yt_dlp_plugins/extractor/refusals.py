"""Prints why an item was refused, as a line of JSON: what the engine knows of a refusal and its text for people leaves out.

The line goes to standard output, where each line is one that the worker asked for: nothing that a platform says can look like it.
Only refusals of extractors are told. Failures of a download itself keep their text.
"""

import json
import sys

from yt_dlp.extractor.common import InfoExtractor
from yt_dlp.networking.exceptions import HTTPError, RequestError
from yt_dlp.utils import ExtractorError, GeoRestrictedError, UnsupportedError, UserNotLive
from yt_dlp.YoutubeDL import YoutubeDL

MARK = 'REFUSED '
MAX_WORDS = 2000
MAX_CAUSES = 8
CLASSES = {GeoRestrictedError: 'geo', UserNotLive: 'not_live', UnsupportedError: 'unsupported'}
FACTS = ('availability', 'live_status', 'age_limit')


def marked(method, kind):
    """A method that raises: what it raises is known by its kind, whatever words the extractor gave it."""
    def wrapped(*args, **kwargs):
        try:
            return method(*args, **kwargs)
        except ExtractorError as error:
            error.reeltally_kind = kind
            raise
    return wrapped


def with_facts(method):
    """Where an item has no format to take, what its extractor said of it tells why. A metadata request prints its metadata too."""
    def wrapped(self, info, *args, **kwargs):
        try:
            return method(self, info, *args, **kwargs)
        except ExtractorError as error:
            error.reeltally_facts = {name: info.get(name) for name in FACTS}
            if info.get('_has_drm'):
                error.reeltally_kind = 'drm'
            if self.params.get('simulate'):
                self._forceprint('video', {**info, 'formats': []})
            raise
    return wrapped


def only_told(method):
    """In a metadata request, an extractor that meets such a refusal tells of it and goes on to the metadata."""
    def wrapped(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except ExtractorError as error:
            if not self.get_param('simulate'):
                raise
            tell(self._downloader, error)
    return wrapped


def causes(error):
    """The error and those that led to it, the nearest first."""
    found, left = [], [error]
    while left and len(found) < MAX_CAUSES:
        each = left.pop(0)
        if not isinstance(each, BaseException) or each in found:
            continue
        found.append(each)
        left += [getattr(each, 'cause', None), (getattr(each, 'exc_info', None) or (None, None))[1],
                 each.__cause__, each.__context__]
    return found


def described(error):
    requests = [each for each in causes(error) if isinstance(each, RequestError)]
    return {
        'kind': getattr(error, 'reeltally_kind', None) or next(
            (kind for each, kind in CLASSES.items() if isinstance(error, each)), 'other'),
        'expected': bool(error.expected),
        'words': str(getattr(error, 'orig_msg', error))[:MAX_WORDS],
        # Whether the words are the engine's own about a request that failed; the platform's may follow a failed request too.
        'of_request': isinstance(error.cause, RequestError),
        'status': next((each.status for each in requests if isinstance(each, HTTPError)), None),
        'failed_request': bool(requests),
        **getattr(error, 'reeltally_facts', {}),
    }


def tell(engine, error):
    engine.to_stdout(MARK + json.dumps(described(error), default=str))


def trouble(self, message=None, tb=None, is_error=True, *, original=YoutubeDL.trouble):
    error = sys.exc_info()[1]
    if is_error and message is not None and isinstance(error, ExtractorError):
        tell(self, error)
    return original(self, message, tb, is_error)


YoutubeDL.trouble = trouble
YoutubeDL.process_video_result = with_facts(YoutubeDL.process_video_result)
InfoExtractor.report_drm = only_told(marked(InfoExtractor.report_drm, 'drm'))
InfoExtractor.raise_login_required = marked(InfoExtractor.raise_login_required, 'login')
