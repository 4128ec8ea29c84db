import type { Unreached } from './coverage.ts';

/**
 * The files whose code decides what becomes of a request, a charge or a job, and why branches of them are reached by no history:
 * `npm run simulate -- --coverage` compares.
 */
const deciding = [/^src\/(?:commands|dispatcher|worker)\//, /^src\/domain\//, /^src\/http\/(?:post-video|get-)/];

/** Files of these folders that histories use, and that decide nothing of that kind. */
const aside = [
  // Addresses of videos and of short links: pure functions with examples of their own.
  /^src\/domain\/(?:parse-video-url|download-options|platforms\/.*)\.ts$/,
  /^src\/commands\/name-video\.ts$/,
  // Who may sign in, what plans there are, and what stands on documents and in mails.
  /^src\/domain\/(?:account|people|staff|billing-details|plain-text|cents|plans|parse-event|document-number)\.ts$/,
  /^src\/commands\/(?:accounts|staff|ids\/reference-ids|issuer)\.ts$/,
  /^src\/dispatcher\/document-mail-text\.ts$/,
  // What support asks about mails.
  /^src\/commands\/(?:ask-document-mails|mails-of-document)\.ts$/,
  // Polls that wait, which are about connections.
  /^src\/http\/get-video-status\.ts$/,
  // What programs read, which decides nothing.
  /^src\/http\/get-(?:video-events|downloads|usage|documents)\.ts$/,
  // Traces, which are off.
  /^src\/commands\/handler\/trace-append\.ts$/,
];

export const isSimulated = (path: string): boolean =>
  deciding.some((each) => each.test(path)) && !aside.some((each) => each.test(path));

export interface Explanation {
  why: string;
  /** How the branch begins. */
  text: RegExp;
  /** In which files; default: all. */
  path?: RegExp;
}

export const explanations: readonly Explanation[] = [
  // Kinds of branches that stand in many files.
  {
    why: 'a guard against bugs of the service: the judge would tell of it',
    text: /^(?:\{ )?throw (?:new Error\(|error;|refusedError)|^\(token: string, refusal: Refusal\) => new Error/,
  },
  { why: 'the compiler shows that nothing is left for it', text: /^(?:default: )?return \w+ satisfies never/ },
  { why: 'the type allows it, and the line before has excluded it', text: /^(?:\?\? (?:''|0|null|\[\]|-1)|\?\.\w+)$/ },
  {
    why: 'metrics, traces and live progress, which are off',
    text: /observer|heldBack|tracer|traceparent|progress\.report|voids\?|storedBytes/,
  },
  {
    why: 'an order about something that does not exist, which nobody gives here',
    text: /^(?:: )?return refuse\('(?:charge|invoice|correction|account|staff)_not_found'\)|^\?\? refuse\('\w+_not_found'\)/,
  },
  {
    why: 'an order of somebody who was removed or lost a role meanwhile: staff do neither here',
    text: /^return by;|^return refuse\('(?:role_too_low|correction_not_permitted)'\)|^: refuse\('correction_not_permitted'\)/,
  },
  {
    why: 'a period of thousands of charges, or an account of a hundred changes of plan',
    text: /^: \[\[revisions|^return refuse\('too_many|^\? refuse\('too_many|maxRepetitionSeconds/,
  },
  {
    why: 'dispatchers are killed here, and do not stop',
    path: /^src\/dispatcher\//,
    text: /^return;|^\(\) => undefined|looking\.stop\(\)/,
  },
  // Single ones, by file.
  {
    why: 'the log contradicts a row that is believed: only a log that was restored from a backup does',
    path: /usage\/(?:account-writer|usage-cache)/,
    text: /beginAnew|beginAt|NotInLog|^for \(const request of batch\) Object|^return true;|^\? undefined/,
  },
  {
    why: 'the row of an account is always there before its first request',
    path: /usage\/(?:account-writer|usage-cache)/,
    text: /^return (?:false|undefined);/,
  },
  {
    why: 'a reader that comes before the next period is open',
    path: /usage-cache/,
    text: /^break;|^\/\/ The next period/,
  },
  {
    why: 'an append that the log refuses outright: one that is too large',
    path: /account-writer/,
    text: /^this\.#setInFlight/,
  },
  { why: 'a single request of more events than an append takes', path: /decide-batch/, text: /^&& events\.length/ },
  { why: 'an account whose first period is opened by somebody else', path: /decide-batch/, text: /^: time/ },
  {
    why: 'a token that was made up, or of another installation',
    path: /request-token|writer-registry/,
    text: /^return/,
  },
  {
    why: 'the log is away at the one moment at which a poll reads behind a newer cache: see writer-registry.test.ts',
    path: /writer-registry/,
    text: /^catch/,
  },
  {
    why: 'a note whose reference another has: the request for it is refused first',
    path: /domain\/invoice\.ts/,
    text: /^: refuse\('reference_reused'\)/,
  },
  {
    why: 'what is left of each line of an invoice is asked only by the console',
    path: /what-is-left|credit-note|domain\/invoice\.ts|invoice-lines/,
    text: /^(?:async )?function readLinesLeft|line\??\.kind|^return left|^\? left|^: (?:\[\]|0)/,
  },
  { why: 'a repeated note or line of nothing', path: /domain\/invoice(?:-lines)?\.ts/, text: /^return \[\];/ },
  {
    why: 'the opening invoice of a period that follows another',
    path: /issue-invoice/,
    text: /^(?:: \[\]|\?\? first)/,
  },
  {
    why: 'a correction whose charge or period has become another while two people decided: see correction-races.extended.test.ts',
    path: /commands\/(?:correct|carry-out-correction|give-back|what-is-left)\.ts|domain\/(?:charges|correction-requests)\.ts|carry-out-corrections/,
    text: /^return (?:handled|left|false|refuse)|^return \{ waived|^(?:: |\?|&& one)|period_closed/,
  },
  {
    why: 'a clock that steps back between two looks at it',
    path: /clos(?:e-period|ing)/,
    text: /^\/\/ The clock|^return refuse\('(?:grace|period)/,
  },
  {
    why: 'used by reports and the console alone',
    text: /^(?:async )?function (?:readPeriods|centsOf)|^\(reason: FailureReason/,
  },
  { why: 'years of which no history is', path: /billing-period/, text: /^return (?:undefined|\(year)/ },
  { why: 'an event of another stream', path: /evolve-usage/, text: /^return state/ },
  {
    why: 'the caller has lost its time before it began',
    path: /handle-command|record-job-progress|return-service-failure|record-warning-mail|document-mails/,
    text: /^(?:continue|return (?:undefined|'nothing'))|^&& (?:\{ known|!isRefused)/,
  },
  {
    why: 'no mail about a document is asked for again: see send-document-mails.test.ts',
    path: /document-mails/,
    text: /DocumentMailAsked|function decideMailsAgain|waitingFor|document_event_id: id|naming\.metadata\.time/,
  },
  {
    why: 'mails that are dropped, or recorded without the id of a server',
    path: /-mails?\.ts/,
    text: /drop\(|messageId: null/,
  },
  {
    why: 'a film that fails as metadata could have told, and formats that were tried: see called-possible.test.ts',
    path: /download-job|worker\/download|was-called-possible/,
    text: /wasCalledPossible|isKnownBeforehand|tried|^\? 8_000|unsupported_media/,
  },
  {
    why: 'a directory that cannot be removed, and a file that is sent to another store',
    path: /worker\/download/,
    text: /^await put|could not be removed/,
  },
  {
    why: 'files expire here only as the simulation of files says',
    path: /download-job|link-and-file-lifetimes|link-to-file/,
    text: /FileExpired|expireFile|^function (?:expireFile|isOver)|^return (?:\[\]|'gone'|\{ blocked)/,
  },
  {
    why: 'limits of jobs per platform, and a full disk',
    path: /worker\/(?:choose|pull)/,
    text: /\('(?:account|platform)'\)|limitedAt|^&& waiting|^\? \[name|roomRetryMs|warnOfNoJob|^\?\? now/,
  },
  {
    why: 'no worker answers: metadata is simulated behind its port',
    path: /get-video-metadata/,
    text: /away: 'workers'/,
  },
  {
    why: 'options that fit no item, and short links: see input.test.ts',
    path: /post-video-download/,
    text: /wrong\.option|NotLookedUp|cutConnection/,
  },
  { why: 'the download of an earlier period was voided meanwhile', path: /queue-download/, text: /^\? 'voided'/ },
  { why: 'an append that opens a period has no charge', path: /resolve-unknown/, text: /^\? 0/ },
  { why: 'files of failed jobs, and files whose removal fails', path: /remove-files/, text: /^(?:\?|:|catch)/ },
  {
    why: 'rare: a failure in a closed period whose invoice is not there yet, which the plant `note-is-forgotten` meets',
    path: /return-service-failure/,
    text: /^if \(handled\.refusal === 'invoice_not_found'/,
  },
  {
    why: 'a failure that cannot be recorded, and the log of it',
    path: /worker\/download/,
    text: /could not be recorded/,
  },
  { why: 'a sweep without waiting jobs', path: /sweep-lost-jobs/, text: /^\?\? Infinity/ },
];

export const explains = ({ text, path }: Explanation, branch: Unreached): boolean =>
  (path === undefined || path.test(branch.path)) && text.test(branch.text);
