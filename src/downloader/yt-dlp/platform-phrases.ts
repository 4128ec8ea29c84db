import type { FailureReason } from '../../domain/failure-reasons.ts';
import { type FailurePhrases, phrasesIn } from './failure-phrases.ts';

/**
 * Phrases in which platforms refuse in the languages of their own, each with the reason that it stands for. yt-dlp passes such words
 * on where its extractor recognises a refusal and no kind of it. The first row with a phrase counts: words that ask for another
 * try come early, since what passes must not be refused for good. `docs/failures.md` shows the same table.
 *
 * Each language begins on a line of its own. They are compared without case and without marks on letters (`foldText`).
 */
export const platformPhrases: readonly FailurePhrases[] = [
  {
    reason: 'drm_protected',
    phrases: phrasesIn(`
      版权保护
      защищено drm
      contenu protégé
      contenido protegido
      conteúdo protegido
      kopiergeschützt
      コピー防止
      contenuto protetto
    `),
  },
  {
    reason: 'age_restricted',
    phrases: phrasesIn(`
      年龄限制 | 年龄验证 | 未成年 | 未满18
      возраст | старше 18 | совершеннолет
      limite d'âge | réservé aux adultes | réservée aux adultes | réservé aux majeurs | réservée aux majeurs
      interdit aux moins | interdite aux moins | votre âge
      restricción de edad | mayores de 18 | mayor de edad | tu edad | contenido para adultos
      restrição de idade | maiores de 18 | menores de 18 | sua idade
      altersbeschränk | altersfreigabe | jugendschutz | dein alter | ihr alter | ab 18 jahren
      年齢制限 | 年齢確認 | 18歳 | 成人向け
      연령 제한 | 연령제한 | 성인 인증 | 성인인증 | 19세 | 청소년
      مقيد بالعمر | قيود العمر | عمرك | للبالغين
      yaş sınırı | yaş kısıt | 18 yaş | yaşınızı
      limiti di età | limite di età | maggiorenni | vietato ai minori | tua età
      ograniczenia wiekowe | ograniczenie wiekowe | ograniczeniami wiekowymi | pełnoletni | swój wiek
      आयु सीमा | आयु प्रतिबंध | उम्र की
      batasan usia | batas usia | usia anda
      giới hạn độ tuổi
      จำกัดอายุ
      leeftijdsbeperk
    `),
  },
  {
    reason: 'rate_limited_by_platform',
    phrases: phrasesIn(`
      稍后再试 | 稍後再試 | 稍后重试 | 过于频繁 | 操作频繁 | 访问频繁 | 风控 | 验证码
      попробуйте позже | попробуйте еще раз | повторите попытку | слишком много запросов | слишком часто | капч
      не робот
      réessayez | réessayer plus tard | veuillez réessayer | trop de requêtes
      inténtalo de nuevo | inténtalo más tarde | intente de nuevo | inténtelo | intente más tarde
      demasiadas solicitudes | demasiadas peticiones
      tente novamente | tente de novo | tente mais tarde | muitas solicitações | demasiados pedidos
      später erneut | später noch einmal | später wieder | zu viele anfragen | versuche es später
      versuchen sie es später
      時間をおいて | 時間を置いて | しばらくして | しばらく経って | しばらく待って | アクセスが集中
      もう一度お試し | 再度お試し
      잠시 후 | 나중에 다시 | 다시 시도 | 요청이 너무 | 너무 많은 요청
      حاول مرة أخرى | المحاولة مرة أخرى | حاول لاحق | المحاولة لاحق | طلبات كثيرة
      daha sonra tekrar | sonra tekrar dene | tekrar deneyin | çok fazla istek
      riprova | troppe richieste
      spróbuj ponownie | spróbuj później | zbyt wiele żądań | zbyt wiele zapytań | zbyt wiele prób
      बाद में | पुनः प्रयास | फिर से कोशिश
      coba lagi | cuba lagi | terlalu banyak permintaan
      thử lại sau
      ลองใหม่ | ลองอีกครั้ง
      спробуйте пізніше
      probeer het later | probeer het opnieuw
    `),
  },
  {
    reason: 'platform_error',
    phrases: phrasesIn(`
      系统繁忙 | 服务器错误 | 服务器繁忙 | 服务器开小差
      системная ошибка | ошибка сервера | технические работы | внутренняя ошибка
      erreur interne | erreur du serveur
      error interno | error del servidor
      erro interno | erro no servidor
      interner fehler | serverfehler | wartungsarbeiten
      サーバーエラー | メンテナンス
      서버 오류 | 서버 점검
      خطأ في الخادم
      sunucu hatası
      errore interno | errore del server
      błąd serwera
      सर्वर त्रुटि
      kesalahan server
      lỗi máy chủ
    `),
  },
  {
    reason: 'geo_blocked',
    phrases: phrasesIn(`
      地区限制 | 区域限制 | 所在地区 | 所在的地区 | 所在地區 | 该地区 | 港澳台 | 在您的国家
      в вашем регионе | вашего региона | в вашей стране | вашей страны | на территории | географическ
      dans votre pays | votre région | votre pays | zone géographique | géobloqu | restriction géographique
      votre territoire
      en tu país | en su país | en tu región | en su región | tu ubicación | su ubicación
      restricción geográfica
      no seu país | em seu país | na sua região | em sua região | sua localização | restrição geográfica
      in deinem land | in ihrem land | in deiner region | in ihrer region | deinem standort | ihrem standort
      geoblock | in diesem land
      お住まいの国 | お住まいの地域 | お使いの地域 | ご利用の地域 | この国では | 国外から | 地域制限 | 日本国内
      국가에서 | 지역에서 | 해외에서 | 지역 제한
      في بلدك | بلدك | منطقتك | دولتك
      ülkenizde | ülkende | bölgenizde | bölgende | bulunduğunuz
      nel tuo paese | nella tua area | nella tua regione | nella tua zona | area geografica | dall'estero
      w twoim kraju | w twoim regionie | w państwa kraju | twojej lokalizacji | poza polską
      आपके देश | आपके क्षेत्र
      di negara anda | di negaramu | di wilayah anda | di wilayahmu | di lokasi anda
      quốc gia của bạn | khu vực của bạn
      ประเทศของคุณ
      у вашій країні
      in jouw land | in uw land
    `),
  },
  {
    reason: 'private_video',
    phrases: phrasesIn(`
      私密 | 仅自己可见 | 私人视频 | 仅作者 | 私享
      приватн | доступ ограничен | ограничил доступ | ограничила доступ | видео закрыто | скрыто | скрыл
      только друзь | нет доступа | доступ запрещен | доступ к видео
      privée | privé | accès restreint | mot de passe | accès refusé
      privado | privada | contraseña | acceso denegado | acceso restringido
      acesso negado | senha | palavra-passe
      privates video | dieses video ist privat | ist privat | privat gestellt | passwort | zugriff verweigert
      kein zugriff | keine berechtigung
      非公開 | 限定公開 | 公開範囲 | パスワード | アクセス権 | プライベート
      비공개 | 나만 보기 | 비밀번호 | 접근 권한 | 권한이 없
      فيديو خاص | المقطع خاص | حساب خاص | كلمة المرور | كلمة مرور
      gizli | özel video | video özel | şifre | erişim izn
      privato | privata | accesso negato
      prywatn | hasłem | brak dostępu | odmowa dostępu
      निजी | पासवर्ड
      pribadi | kata sandi | akses ditolak
      riêng tư
      ส่วนตัว
      wachtwoord
    `),
  },
  {
    reason: 'login_required',
    phrases: phrasesIn(`
      请登录 | 请先登录 | 登录后 | 需要登录 | 未登录 | 登入 | 大会员 | 会员专享 | 付费 | 购买 | 充电专属
      权限不足
      войдите | авториз | требуется вход | необходимо войти | зарегистрирован | подписк | подписчик | платн
      connectez-vous | se connecter | connexion requise | être connecté | abonnés | abonnez
      réservé aux membres | réservée aux membres | payant | identifiez-vous
      inicia sesión | iniciar sesión | inicie sesión | suscriptores | suscríbete | suscripción | de pago
      usuarios registrados
      faça login | fazer login | inicie sessão | iniciar sessão | assinantes | assinatura
      anmelden | melde dich an | melden sie sich an | einloggen | angemeldet | abonnenten | kostenpflichtig
      nur für mitglieder | registrierte
      ログイン | 会員限定 | 会員のみ | 有料 | プレミアム会員 | メンバー限定 | サインイン
      로그인 | 회원 전용 | 유료 | 구독자 | 멤버십
      تسجيل الدخول | سجل الدخول | للمشتركين | اشتراك
      giriş yap | oturum aç | üye girişi | abonelere | abone ol | üyelere
      accedi | effettua l'accesso | effettuare l'accesso | abbonati | abbonamento | utenti registrati
      a pagamento
      zaloguj | zalogowan | subskrybent | abonent | płatn | wykup
      लॉग इन | लॉगिन | साइन इन | सदस्यों
      silakan masuk | masuk untuk | harus masuk | pelanggan | berlangganan | log masuk
      đăng nhập
      เข้าสู่ระบบ
      увійдіть
      ingelogd
    `),
  },
  {
    reason: 'video_unavailable',
    phrases: phrasesIn(`
      不存在 | 已删除 | 被删除 | 已失效 | 不可见 | 下架 | 找不到 | 不可用 | 啥都木有 | 无法播放 | 无法观看
      违规 | 審核 | 审核 | 已移除 | 已被移除
      удален | не найден | не существует | недоступн | заблокирован | правообладател | авторск
      supprimée | supprimé | n'existe pas | n'existe plus | introuvable | indisponible | n'est plus disponible
      n'est pas disponible | retirée | retiré par | droits d'auteur | désactivée
      eliminado | eliminada | no existe | no disponible | no está disponible | no se encuentra
      no se ha encontrado | no encontrado | retirado | derechos de autor | borrado
      removido | removida | excluído | excluída | não existe | indisponível | não está disponível
      não está mais disponível | não encontrado | direitos autorais | apagado
      gelöscht | entfernt | nicht verfügbar | nicht mehr verfügbar | existiert nicht | nicht gefunden
      urheberrecht | gesperrt | nicht vorhanden
      削除 | 存在しません | 見つかりません | ご覧になれません | ご覧いただけません | 視聴できません
      利用できません | 再生できません | 公開終了 | 配信終了 | 終了しました | 著作権
      삭제 | 존재하지 않 | 찾을 수 없 | 이용할 수 없 | 사용할 수 없 | 볼 수 없 | 재생할 수 없 | 저작권
      حذف | غير متاح | غير متوفر | غير موجود | لم يعد | إزالة | حقوق الطبع | حقوق النشر | لم يتم العثور
      silinmiş | silindi | kaldırıl | bulunamad | mevcut değil | kullanılamıyor | yayında değil | telif
      rimosso | cancellato | non esiste | non disponibile | non è disponibile | non è più disponibile
      non trovato | diritto d'autore
      usunięt | nie istnieje | niedostępn | nie jest dostępn | nie znalezion | praw autorskich | zablokowan
      उपलब्ध नहीं | हटा दिया | हटाया | मौजूद नहीं | नहीं मिला | कॉपीराइट
      dihapus | tidak tersedia | tidak ditemukan | hak cipta
      không khả dụng | đã bị xóa | không tồn tại | không có sẵn
      ถูกลบ | ไม่พบ
      видалено | не знайдено
      verwijderd | niet beschikbaar | bestaat niet
    `),
  },
  {
    reason: 'live_stream',
    phrases: phrasesIn(`
      直播未开始 | 直播尚未 | 尚未开始 | 未开播 | 正在直播 | 直播中 | 首播
      трансляция еще не | трансляция не нач | прямая трансляция | прямой эфир | премьера
      en direct | le direct n | pas encore commencé | bientôt disponible
      en vivo | aún no ha comenzado | aún no ha empezado | todavía no ha
      ao vivo | ainda não começou
      noch nicht begonnen | noch nicht gestartet | premiere beginnt
      ライブ配信 | 生放送 | 配信前 | 配信開始前 | プレミア公開 | まだ始まって
      라이브 방송 | 실시간 | 방송이 시작 | 방송 예정 | 생방송 | 아직 시작
      بث مباشر | البث المباشر | لم يبدأ
      canlı yayın | henüz başlamad
      in diretta | la diretta non | non è ancora iniziat | dal vivo
      na żywo | jeszcze się nie rozpoczę
      लाइव | शुरू नहीं
      siaran langsung | belum dimulai
      phát trực tiếp
      ถ่ายทอดสด
    `),
  },
];

/** Text as it is compared: in lower case, without marks on letters, with one kind of apostrophe. */
export const foldText = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f\u064b-\u0652]/g, '')
    .replaceAll('’', "'");

const folded = platformPhrases.map(({ reason, phrases }) => ({ reason, phrases: phrases.map(foldText) }));

/** The reason that a platform's own words stand for, in any of the languages; undefined if no phrase is in them. */
export function reasonOfPlatformWords(words: string): FailureReason | undefined {
  const text = foldText(words);
  return folded.find(({ phrases }) => phrases.some((phrase) => text.includes(phrase)))?.reason;
}
