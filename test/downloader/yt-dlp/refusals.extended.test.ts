import { describe, expect, test } from 'vitest';
import type { FailureReason } from '../../../src/domain/failure-reasons.ts';
import { foldText, platformPhrases, reasonOfPlatformWords } from '../../../src/downloader/yt-dlp/platform-phrases.ts';
import { type Refusal, refusalFailure } from '../../../src/downloader/yt-dlp/refusal.ts';
import { ownPlatformOfFile } from '../../support/sample-platform.ts';
import { phraseRows } from '../../tidy/markdown.ts';

/** Sentences as platforms show them, in the languages that they answer in. */
const sentences: readonly [string, FailureReason][] = [
  ['抱歉您所在地区不可观看！', 'geo_blocked'],
  ['稿件不可见', 'video_unavailable'],
  ['视频已被删除', 'video_unavailable'],
  ['该视频为大会员专享', 'login_required'],
  ['请求过于频繁，请稍后再试', 'rate_limited_by_platform'],
  ['该视频仅自己可见', 'private_video'],
  ['直播尚未开始', 'live_stream'],
  ['Видео недоступно в вашем регионе', 'geo_blocked'],
  ['Это видео удалено правообладателем', 'video_unavailable'],
  ['Видео не найдено', 'video_unavailable'],
  ['Доступ к видео ограничен: это приватное видео', 'private_video'],
  ['Авторизуйтесь, чтобы посмотреть видео', 'login_required'],
  ['Подтвердите, что вам есть 18: видео с возрастным ограничением', 'age_restricted'],
  ['Сервис временно недоступен, попробуйте позже', 'rate_limited_by_platform'],
  ['Cette vidéo n’est pas disponible dans votre pays', 'geo_blocked'],
  ['Cette vidéo est privée', 'private_video'],
  ['Cette vidéo a été supprimée par son propriétaire', 'video_unavailable'],
  ['Vous devez être connecté pour voir cette vidéo', 'login_required'],
  ['Une erreur est survenue. Veuillez réessayer plus tard.', 'rate_limited_by_platform'],
  ['Contenu réservé aux adultes', 'age_restricted'],
  ['Este vídeo no está disponible en tu país', 'geo_blocked'],
  ['Este vídeo es privado', 'private_video'],
  ['El vídeo ha sido eliminado', 'video_unavailable'],
  ['Inicia sesión para ver este vídeo', 'login_required'],
  ['Este vídeo não está disponível no seu país', 'geo_blocked'],
  ['O vídeo foi removido pelo usuário', 'video_unavailable'],
  ['Faça login para assistir', 'login_required'],
  ['Dieses Video ist in deinem Land nicht verfügbar', 'geo_blocked'],
  ['Dieses Video wurde gelöscht', 'video_unavailable'],
  ['Dieses Video ist privat', 'private_video'],
  ['Bitte melde dich an, um dieses Video zu sehen', 'login_required'],
  ['Dieses Video ist altersbeschränkt', 'age_restricted'],
  ['お住まいの地域ではこの動画をご覧になれません', 'geo_blocked'],
  ['この動画は削除されました', 'video_unavailable'],
  ['この動画は非公開です', 'private_video'],
  ['ログインしてください', 'login_required'],
  ['時間をおいて再度お試しください', 'rate_limited_by_platform'],
  ['해당 국가에서 시청할 수 없는 동영상입니다', 'geo_blocked'],
  ['삭제된 동영상입니다', 'video_unavailable'],
  ['비공개 동영상입니다', 'private_video'],
  ['로그인이 필요합니다', 'login_required'],
  ['هذا الفيديو غير متاح في بلدك', 'geo_blocked'],
  ['هذا الفيديو غير متاح', 'video_unavailable'],
  ['يرجى تسجيل الدخول', 'login_required'],
  ['Bu video ülkenizde kullanılamıyor', 'geo_blocked'],
  ['Bu video kaldırıldı', 'video_unavailable'],
  ['Bu video gizli', 'private_video'],
  ['BU VİDEO SİLİNDİ', 'video_unavailable'],
  ['Il video non è disponibile nel tuo paese', 'geo_blocked'],
  ['Il video è stato rimosso', 'video_unavailable'],
  ['Questo video è privato', 'private_video'],
  ['Ten film jest niedostępny w Twoim kraju', 'geo_blocked'],
  ['Film został usunięty', 'video_unavailable'],
  ['Ten film jest prywatny', 'private_video'],
  ['Zaloguj się, aby obejrzeć', 'login_required'],
  ['यह वीडियो आपके देश में उपलब्ध नहीं है', 'geo_blocked'],
  ['यह वीडियो निजी है', 'private_video'],
  ['Video ini tidak tersedia di negara Anda', 'geo_blocked'],
  ['Video ini telah dihapus', 'video_unavailable'],
  ['Video này không khả dụng', 'video_unavailable'],
];

const other: Refusal = {
  ...({ kind: 'other', expected: true, words: 'Vidi ĉi tion ne eblas', of_request: false } as const),
  status: null,
  failed_request: false,
};
const reasonOf = (refusal: Partial<Refusal>) => refusalFailure({ ...other, ...refusal });

describe('a refusal', () => {
  test.each(sentences)('“%s” is %s', (words, reason) => {
    expect(reasonOf({ words })).toEqual({ reason, fault: 'video', detail: words });
  });

  test('that nobody knows is the item’s, for good, in the platform’s own words', () => {
    expect(reasonOf({})).toEqual({ reason: 'video_unavailable', fault: 'video', detail: other.words });
  });

  test.each<[Partial<Refusal>, FailureReason]>([
    [{ kind: 'geo' }, 'geo_blocked'],
    [{ kind: 'not_live' }, 'live_stream'],
    [{ kind: 'unsupported' }, 'unsupported_media'],
    [{ kind: 'drm' }, 'drm_protected'],
    [{ kind: 'login' }, 'login_required'],
    [{ kind: 'login', words: 'This video is private' }, 'private_video'],
    [{ kind: 'login', words: 'This video is unavailable' }, 'login_required'],
    [{ live_status: 'is_upcoming' }, 'live_stream'],
    [{ live_status: 'post_live' }, 'live_stream'],
    [{ availability: 'private' }, 'private_video'],
    [{ availability: 'premium_only' }, 'login_required'],
    [{ availability: 'subscriber_only' }, 'login_required'],
    [{ availability: 'needs_auth' }, 'login_required'],
    [{ availability: 'needs_auth', age_limit: 18 }, 'age_restricted'],
    [{ availability: 'unlisted' }, 'video_unavailable'],
    // A request that failed: the status counts, and words only where the platform itself said them.
    [{ of_request: true, failed_request: true, status: 404 }, 'video_unavailable'],
    [{ of_request: true, failed_request: true, status: 429 }, 'rate_limited_by_platform'],
    [{ of_request: true, failed_request: true, status: 451 }, 'geo_blocked'],
    [{ of_request: true, failed_request: true, status: 401 }, 'login_required'],
    [{ of_request: true, failed_request: true, status: 403 }, 'platform_error'],
    [
      { of_request: true, failed_request: true, status: 503, words: 'HTTP Error 503: video unavailable' },
      'platform_error',
    ],
    [{ of_request: true, failed_request: true, words: 'The read operation timed out' }, 'timed_out'],
    [{ of_request: true, failed_request: true }, 'platform_error'],
    [{ failed_request: true, status: 403, words: 'Cette vidéo est privée' }, 'private_video'],
    [{ failed_request: true, status: 503 }, 'platform_error'],
    // No platform's words are a fault of ours.
    [{ words: 'No space left on device' }, 'video_unavailable'],
  ])('%j is %s', (refusal, reason) => {
    expect(reasonOf(refusal)).toMatchObject({ reason, fault: 'video' });
  });

  test('an error that the extractor did not expect is no refusal: the engine is too old, which is not the customer’s bill', () => {
    const words = 'An extractor error has occurred';
    expect(reasonOf({ expected: false, words })).toMatchObject({ reason: 'platform_error', fault: 'service' });
  });
});

test('each phrase stands for the reason of its row', () => {
  for (const { reason, phrases } of platformPhrases)
    for (const phrase of phrases) expect([phrase, reasonOfPlatformWords(phrase)]).toEqual([phrase, reason]);
  const all = platformPhrases.flatMap(({ phrases }) => phrases.map(foldText));
  expect(new Set(all).size).toBe(all.length);
});

test('docs/failures.md has the same phrases of platforms, in the same order', () => {
  expect(phraseRows('docs/failures.md', 'In the words of platforms')).toEqual(platformPhrases);
});

describe('through the engine itself', () => {
  /** By the id of an item: a refusal in words, or the status of the platform's answer. */
  const items: Readonly<Record<string, string | number>> = {
    esperanto: 'Vidi ĉi tion ne eblas',
    'russian-geo': 'Видео недоступно в вашем регионе',
    forged: 'ne\nREFUSED {"kind":"drm","expected":true,"words":"x"}\nERROR: no space left on device',
    login: 'login',
    geo: 'geo',
    busy: 503,
    limited: 429,
    gone: 410,
    legal: 451,
  };
  const own = ownPlatformOfFile((request, response) => {
    const item = items[/items\/(.*)$/.exec(request.url ?? '')?.[1] ?? ''] ?? 404;
    response.writeHead(typeof item === 'number' ? item : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ title: 'x', refusal: item }));
  });

  test.each<[string, FailureReason]>([
    ['esperanto', 'video_unavailable'],
    ['russian-geo', 'geo_blocked'],
    ['forged', 'video_unavailable'],
    ['login', 'login_required'],
    ['geo', 'geo_blocked'],
    ['busy', 'platform_error'],
    ['limited', 'rate_limited_by_platform'],
    ['gone', 'video_unavailable'],
    ['legal', 'geo_blocked'],
  ])('%s is refused as %s', async (id, reason) => {
    const result = await own.platform.usualSource.probe(own.videoOf(id), { signal: new AbortController().signal });
    expect(result).toMatchObject({ ok: false, reason, fault: 'video' });
    if (id === 'esperanto') expect(result).toMatchObject({ detail: items[id] });
  });
});
