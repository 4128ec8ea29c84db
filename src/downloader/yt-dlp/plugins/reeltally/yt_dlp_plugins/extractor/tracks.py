"""Tells the film as it was made from its dubs, audio descriptions, commentaries and sign languages.

The engine's own order protects the original language only where an extractor knows it. Playlists of HLS and manifests of DASH name
the role of each track, which the engine leaves out. Here each format gets two numbers to sort and filter by: `reeltally_track`,
0 for the best kind of track that there is and less for any other, and `reeltally_tried`, how often earlier attempts have fetched it.
`reeltally_id` is its name from one attempt to the next: addresses change, and the engine numbers ids that occur twice.
What the engine has chosen by them is printed as a line of JSON.
"""

import json
import re
import urllib.parse

from yt_dlp.extractor.common import InfoExtractor
from yt_dlp.utils import FormatSorter, parse_m3u8_attributes
from yt_dlp.YoutubeDL import YoutubeDL

MARK = 'CHOSEN '
CHOSEN = ('format_id', 'protocol', 'language', 'width', 'height', 'vcodec', 'acodec',
          'reeltally_id', 'reeltally_kind', 'reeltally_tried', 'reeltally_left_out')
UNWANTED, DUB, ALTERNATE = -1000, -10, -1
ROLE = '_reeltally_role'

# What names of tracks say, in the languages of the platforms.
UNWANTED_NAME = re.compile(r'''(?ix)
    audio[ -]?descri | descri(?:bed|ptive) | \bdescri(?:ption|ptions|ptif)\b | commentar | \bsign(?:ed)?\ (?:language|lang)
    | \b(?:AD|DVS|BSL|ASL|LSF|DGS)\b | visually\ impaired | hearing\ impaired | hard\ of\ hearing | \bdialogue\ (?:boost|enhance)
    | audiodeskr | h.rfassung | hörfilm | kommentar | geb.rden | audiodescri | commentaire | langue\ des\ signes | malentend
    | comentari | lengua\ de\ se | l.ngua\ de\ sinais | lengua\ de\ signos | lingua\ dei\ segni | commento
    | тифлокоммент | аудиоописани | комментари | жестов | 解説 | 音声ガイド | 副音声 | 手話 | 화면\ ?해설 | 코멘터리 | 수어 | 수화
    | 口述影像 | 无障碍 | 無障礙 | 评论音轨 | 解说音轨 | 手语 | sesli\ betimleme | işaret\ dili | audiodeskrypc | komentarz
    | język\ migowy | وصف\ صوتي | لغة\ الإشارة | تعليق | ऑडियो\ विवरण | deskripsi\ audio
''')
DUB_NAME = re.compile(r'''(?ix)\b(?:dub(?:bed|bing)?|doblad[ao]|doblaje|dublad[ao]|dublagem|doublée?|doublage|vff?|synchronfassung
    |doppiat[ao])\b|дубл|吹替|吹き替え|더빙|配音|dublaj|polski\ lektor|مدبلج''')
ORIGINAL_NAME = re.compile(r'(?i)\boriginal|version\ originale|originalfassung|originalton|оригинал|オリジナル|原声|原音|원어|\bVOS?T?\b')
UNWANTED_ROLES = {'description', 'commentary', 'sign', 'enhanced-audio-intelligibility', 'emergency', 'karaoke', 'easyreader'}
OTHER_ROLES = {'dub': DUB, 'alternate': ALTERNATE, 'supplementary': ALTERNATE}


def role_of_name(name):
    if UNWANTED_NAME.search(name):
        return UNWANTED
    if DUB_NAME.search(name):
        return DUB
    return 1 if ORIGINAL_NAME.search(name) else 0


def in_first_language(tracks):
    """Where nothing else tells tracks apart, the first one's language is that of the film, as players take it."""
    wanted = [track for track in tracks if track[ROLE] > ALTERNATE]
    if any(track['isMain'] for track in tracks) or not wanted:
        return
    first = wanted[0]['language']
    for track in wanted:
        if track['language'] != first:
            track[ROLE] += ALTERNATE


def audio_renditions(document):
    """The EXT-X-MEDIA of a playlist, each group with the order that it has there."""
    groups = {}
    for line in document.splitlines():
        if not line.startswith('#EXT-X-MEDIA:'):
            continue
        media = parse_m3u8_attributes(line)
        if media.get('TYPE') not in ('AUDIO', 'VIDEO'):
            continue
        role = role_of_name(media.get('NAME') or '')
        if 'public.accessibility' in (media.get('CHARACTERISTICS') or ''):
            role = UNWANTED
        is_default = media.get('DEFAULT') == 'YES' and role > UNWANTED
        groups.setdefault((media['TYPE'], media.get('GROUP-ID')), []).append({
            ROLE: role, 'isMain': is_default, 'uri': media.get('URI'),
            'language': media.get('LANGUAGE') or media.get('NAME')})
    for tracks in groups.values():
        main = next((track['language'] for track in tracks if track['isMain']), None)
        for track in tracks:
            if main is not None and not track['isMain'] and track['language'] != main:
                track[ROLE] += ALTERNATE
        in_first_language(tracks)
    return groups


def with_hls_roles(method):
    def parsed(self, m3u8_doc, m3u8_url=None, *args, **kwargs):
        formats, subtitles = method(self, m3u8_doc, m3u8_url, *args, **kwargs)
        groups = audio_renditions(m3u8_doc)
        if not groups:
            return formats, subtitles
        absolute = lambda uri: urllib.parse.urljoin(m3u8_url or '', uri)
        roles = {absolute(track['uri']): track[ROLE] for tracks in groups.values() for track in tracks if track['uri']}
        inside, variant = {}, {}
        for line in m3u8_doc.splitlines():
            if line.startswith('#EXT-X-STREAM-INF:'):
                variant = parse_m3u8_attributes(line)
            elif line.strip() and not line.startswith('#'):
                own = [track for track in groups.get(('AUDIO', variant.get('AUDIO')), []) if not track['uri']]
                if own:
                    inside[absolute(line.strip())] = own[0][ROLE], variant.get('CODECS')
                variant = {}
        for each in formats:
            if each['url'] in roles:
                each[ROLE] = roles[each['url']]
            elif each['url'] in inside:
                each[ROLE], codecs = inside[each['url']]
                # The engine takes a variant for a silent one where the first track of its group is another file.
                if each.get('acodec') == 'none' and codecs:
                    each['acodec'] = codecs.split(',')[-1].strip()
        return formats, subtitles
    return parsed


def dash_role(element):
    """Of one AdaptationSet: its Role and Accessibility, and its Label."""
    role, is_main = 0, False
    for child in element:
        name, scheme, value = child.tag.rpartition('}')[2], child.get('schemeIdUri') or '', child.get('value') or ''
        if name == 'Label':
            role = min(role, role_of_name(child.text or ''))
        if name == 'Accessibility' and (scheme.startswith('urn:tva:') or value in UNWANTED_ROLES):
            role = UNWANTED
        if name == 'Role' and scheme.startswith('urn:mpeg:dash:role'):
            is_main = is_main or value == 'main'
            role = min(role, UNWANTED if value in UNWANTED_ROLES else OTHER_ROLES.get(value, 0))
    return role, is_main and role == 0


def set_tracks(period):
    by_kind = {}
    for number, element in enumerate(each for each in period if each.tag.endswith('AdaptationSet')):
        first = next((each for each in element if each.tag.endswith('Representation')), element)
        kind = element.get('contentType') or (element.get('mimeType') or first.get('mimeType') or '').split('/')[0]
        role, is_main = dash_role(element)
        track = {ROLE: role, 'isMain': is_main, 'language': element.get('lang'), 'element': element}
        by_kind.setdefault(kind, []).append(track)
    for kind, tracks in by_kind.items():
        main = next((track['language'] for track in tracks if track['isMain']), None)
        for track in tracks:
            if main is not None and not track['isMain'] and (kind != 'audio' or track['language'] != main):
                track[ROLE] += ALTERNATE
        if kind == 'audio':
            in_first_language(tracks)
        yield from tracks


def with_dash_roles(method):
    def parsed(self, mpd_doc, mpd_id=None, *args, **kwargs):
        roles = {}
        for period in (each for each in mpd_doc if each.tag.endswith('Period')):
            for track in set_tracks(period):
                for each in track['element']:
                    if each.tag.endswith('Representation') and each.get('id') is not None:
                        name = f'{mpd_id}-{each.get("id")}' if mpd_id else each.get('id')
                        # An id that two periods share is one track; the worst that is said of it counts.
                        roles[name] = min(roles.get(name, 1), track[ROLE])
        periods = list(method(self, mpd_doc, mpd_id, *args, **kwargs))
        for period in periods:
            for each in period['formats']:
                if each.get('format_id') in roles:
                    each[ROLE] = roles[each['format_id']]
        return periods
    return parsed


def role_of(each):
    if each.get(ROLE) is not None:
        return each[ROLE]
    language = each.get('language') or ''
    if '-desc' in language:
        return UNWANTED
    return role_of_name(f'{each.get("format_note") or ""} {each.get("format_id") or ""}')


def relative(values):
    """The best of them becomes 0."""
    best = max(values.values(), default=0)
    return {name: value - best for name, value in values.items()}


def rank(formats):
    """Sets `reeltally_track`. Pictures and sounds are compared among themselves: a film without its sound is not a dub."""
    with_sound = {number: each for number, each in enumerate(formats) if each.get('acodec') != 'none'}
    known = any(each.get('language_preference') is not None for each in with_sound.values())
    preferred = relative({
        number: (-1 if each.get('language_preference') is None else each['language_preference']) if known else 0
        for number, each in with_sound.items()})
    sounds = relative({number: role_of(each) + preferred[number] for number, each in with_sound.items()})
    pictures = relative({number: min(role_of(each), 0) for number, each in enumerate(formats)
                         if each.get('vcodec') != 'none' and number not in with_sound})
    for number, each in enumerate(formats):
        each['reeltally_track'] = sounds.get(number, pictures.get(number, 0))


def kind_of(each):
    role = role_of(each)
    return 'described, commented or signed' if role <= UNWANTED else 'dub' if role <= DUB else 'other' if role < 0 else ''


def lasting_id(each):
    known = ('format_id', 'protocol', 'height', 'tbr', 'language')
    return '/'.join(re.sub(r'[^!-~]', '_', str(each.get(name) or '')) for name in known)[:200]


def left_out(formats):
    """The languages and kinds of the sounds that are not taken, for people."""
    named = (f'{each.get("language") or ""} {kind_of(each)}'.strip() for each in formats if each['reeltally_track'] < 0)
    return ', '.join(list(dict.fromkeys(filter(None, named)))[:6])


def sort_formats(self, info_dict, *, original=YoutubeDL.sort_formats):
    formats = self._get_formats(info_dict)
    rank(formats)
    named = self.params.get('extractor_args', {}).get('reeltally', {}).get('tried', [])
    tried = [urllib.parse.unquote(each) for each in named]
    omitted = left_out(formats)
    for each in formats:
        each['reeltally_id'] = lasting_id(each)
        each['reeltally_tried'] = tried.count(each['reeltally_id'])
        each['reeltally_kind'] = kind_of(each)
        each['reeltally_left_out'] = omitted
    return original(self, info_dict)


def process_info(self, info_dict, *, original=YoutubeDL.process_info):
    formats = info_dict.get('requested_formats') or [info_dict]
    self.to_stdout(MARK + json.dumps([{name: each.get(name) for name in CHOSEN} for each in formats], default=str))
    return original(self, info_dict)


FormatSorter.settings['reeltally_track'] = {'convert': 'float', 'default': 0}
FormatSorter.settings['reeltally_tried'] = {'convert': 'float', 'default': 0}
YoutubeDL.sort_formats = sort_formats
YoutubeDL.process_info = process_info
InfoExtractor._parse_m3u8_formats_and_subtitles = with_hls_roles(InfoExtractor._parse_m3u8_formats_and_subtitles)
InfoExtractor._parse_mpd_periods = with_dash_roles(InfoExtractor._parse_mpd_periods)
