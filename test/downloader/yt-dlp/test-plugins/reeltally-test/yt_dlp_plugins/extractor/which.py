"""Says which extractor would read an address, without reading it: for tests of the table of platforms."""

import json
import re

from yt_dlp.extractor import gen_extractor_classes
from yt_dlp.extractor.common import ExtractorError, InfoExtractor


class WhichIE(InfoExtractor):
    IE_NAME = 'reeltally:which'
    _VALID_URL = r'reeltally-which:(?P<id>.+)'

    def _real_extract(self, url):
        path = self._match_id(url)
        with open(path, encoding='utf-8') as file:
            questions = json.load(file)
        extractors = list(gen_extractor_classes())
        names = {name for question in questions for name in question['names'].split(',')}
        by_name = {name: [ie for ie in extractors if re.fullmatch(name, ie.IE_NAME, re.I)] for name in names}
        with open(f'{path}.answers', 'w', encoding='utf-8') as file:
            json.dump([self._which(by_name, **question) for question in questions], file)
        raise ExtractorError('answered', expected=True)

    @staticmethod
    def _which(by_name, names, url):
        """As `--ies NAMES` chooses: in the order of the names, the first that takes the address."""
        chosen = [by_name[name] for name in names.split(',')]
        readers = [ie.IE_NAME for found in chosen for ie in found if ie.suitable(url)]
        return {'counts': [len(found) for found in chosen], 'reader': readers[0] if readers else None}
