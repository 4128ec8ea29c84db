import fc from 'fast-check';
import { expect } from 'vitest';

import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { Refused } from '../../src/domain/refusals.ts';
import { centsOf } from '../../src/domain/usage-events.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { accountId, changePlan, idOf, opened, plan, removeCap, setCap, token, video } from './usage-examples.ts';
import { UsageModel } from './usage-model.ts';
import type { ModelAnswer } from './usage-model.ts';
import { ModelLog, ModelProcess } from './usage-processes.ts';

/** Generated histories, and one run of a history: by processes that know nothing of each other, and by the model. */

type Answer = readonly UsageEvent[] | Refused;

const effective = fc.constantFrom('now' as const, 'next_period' as const);
const small = fc.integer({ min: 0, max: 5 });
const which = fc.nat({ max: 30 });

const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('download' as const),
      key: fc.option(fc.constantFrom('key 1', 'key 2', 'key 3'), { nil: undefined, freq: 2 }),
      quality: fc.constantFrom('best' as const, 'best' as const, 'best' as const, '720' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lookup' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('plan' as const),
      effective,
      downloads_limit: small,
      metadata_limit: small,
      overage_cents: fc.option(fc.integer({ min: 1, max: 30 })),
      fee_cents: fc.constantFrom(0, 1900, 5900, 14900),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('cap' as const),
      effective,
      cents: fc.option(fc.integer({ min: 0, max: 120 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('confirm' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('waive' as const),
      which,
      cents: fc.integer({ min: 1, max: 30 }),
      reference: fc.constantFrom('CASE-1', 'CASE-2', 'CASE-3', 'CASE-4'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: -2, max: 800 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

export const history = fc.record({
  openedAt: fc
    .date({ min: new Date('2023-12-01'), max: new Date('2028-03-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  overage_cents: fc.option(fc.integer({ min: 1, max: 30 })),
  downloads_limit: small,
  overage_cap_cents: fc.option(fc.integer({ min: 0, max: 120 })),
  steps: fc.array(fc.record({ step, process: fc.nat({ max: 2 }), losesReply: fc.boolean(), again: fc.boolean() }), {
    maxLength: 40,
    size: 'max',
  }),
});
export type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

const hexOf = (text: string) => Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);

export class Run {
  readonly log = new ModelLog();
  readonly model: UsageModel;
  readonly #processes: ModelProcess[];
  #now: string;
  #steps = 0;

  constructor({ openedAt, steps: _steps, ...changed }: History) {
    const { anchorDay, ...dates } = firstBillingPeriod(openedAt);
    const terms = { ...plan, warning_percents: [80, 100], ...changed };
    const stream = usageStream(accountId, dates);
    const event = opened(terms, dates, anchorDay);
    this.log.append({ stream, expected: -1, events: [{ id: idOf(0), event, time: openedAt }] });
    this.model = new UsageModel(dates, terms, anchorDay);
    this.#processes = [0, 1, 2].map(() => new ModelProcess(this.log, stream));
    this.#now = openedAt;
  }

  take({ step: taken, process: index, losesReply, again }: History['steps'][number]): void {
    this.#steps += 1;
    const process = this.#processes[index];
    if (!process) throw new Error('there are three processes');
    const act = this.#prepare(taken, process, losesReply);
    if (!act) return;
    const took = act.model();
    expect(this.#took(act.real())).toEqual(took);
    this.model.watch(took.took === 'credit' && ['download', 'plan', 'cap'].includes(taken.kind));
    if (!again) return;
    // The same command once more: a change that is made is made, a correction is there, a keyed download is known.
    const stored = this.#storedEvents();
    if (taken.kind === 'download' || taken.kind === 'lookup') return;
    act.real();
    expect(this.#storedEvents()).toBe(stored);
  }

  #prepare(
    taken: Step,
    process: ModelProcess,
    losesReply: boolean,
  ): { real: () => Answer; model: () => ModelAnswer } | undefined {
    const { model } = this;
    const now = this.#now;
    const number = this.#steps;
    switch (taken.kind) {
      case 'wait':
        // A clock may step back: time that an account has lived through does not come again.
        this.#now = new Date(Date.parse(now) + taken.hours * 3_600_000).toISOString();
        return undefined;
      case 'restart':
        process.restart();
        return undefined;
      case 'download': {
        const { key, quality } = taken;
        const idempotency = key === undefined ? undefined : { keyHash: hexOf(key), fingerprint: hexOf(quality) };
        const command = {
          kind: 'queue_download',
          token: token(number),
          video,
          ...defaultOptions,
          quality,
          idempotency,
        } as const;
        return {
          real: () => process.ask(command, now, losesReply),
          model: () => {
            model.rollTo(now);
            return model.download(token(number), { key, fingerprint: quality });
          },
        };
      }
      case 'lookup': {
        const lookupId = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
        return {
          real: () => process.ask({ kind: 'debit_metadata', lookupId, video, downloadRefusal: null }, now, losesReply),
          model: () => {
            model.rollTo(now);
            return model.lookUp(lookupId);
          },
        };
      }
      case 'plan': {
        const { kind: _kind, effective: when, ...changed } = taken;
        const terms: PlanTerms = {
          ...plan,
          ...changed,
          warning_percents: [80, 100],
          rate_version: `at ${String(number)}`,
        };
        return {
          real: () => process.ask(changePlan(terms, when), now, losesReply),
          model: () => {
            model.rollTo(now);
            model.changePlan(terms, when);
            return { took: 'credit' };
          },
        };
      }
      case 'cap':
        return {
          real: () => {
            const { cents, effective: when } = taken;
            const command = cents === null ? { ...removeCap, effective: when } : setCap(cents, when);
            return process.ask(command, now, losesReply);
          },
          model: () => {
            model.rollTo(now);
            const { terms, coming } = model.current;
            const capComing = coming.cap === undefined ? terms.overage_cap_cents : coming.cap;
            const changesNow = taken.effective === 'now' && terms.overage_cap_cents !== taken.cents;
            const isSaid = capComing === taken.cents && !changesNow;
            if (!isSaid) model.changeCap(taken.cents, taken.effective);
            return { took: isSaid ? 'nothing' : 'credit' };
          },
        };
      case 'close': {
        const period = model.periods.find(({ closed }) => !closed);
        if (!period) return undefined;
        const stream = usageStream(accountId, period.dates);
        return {
          real: () => process.close(stream, now),
          model: () => model.close(period, now),
        };
      }
      case 'void':
      case 'confirm':
      case 'waive':
        return this.#prepareCorrection(taken, process);
    }
  }

  #prepareCorrection(taken: Extract<Step, { which: number }>, process: ModelProcess) {
    const all = this.model.periods.flatMap((period) => period.downloads.map((download) => ({ period, download })));
    const chosen = all[taken.which % Math.max(all.length, 1)];
    if (!chosen) return undefined;
    const { token: about } = chosen.download;
    const stream = usageStream(accountId, chosen.period.dates);
    switch (taken.kind) {
      case 'void':
        return {
          real: () => process.correct(stream, { kind: 'void_download', token: about }, this.#now),
          model: () => this.model.voidDownload(about),
        };
      case 'confirm':
        return {
          real: () => process.correct(stream, { kind: 'confirm_download', token: about }, this.#now),
          model: () => this.model.confirm(about),
        };
      case 'waive': {
        const { cents, reference } = taken;
        return {
          real: () => process.correct(stream, { kind: 'waive_charge', token: about, cents, reference }, this.#now),
          model: () => this.model.waive(about, cents, reference),
        };
      }
    }
  }

  /** The sum of an answer's events, in the model's words. */
  #took(answer: Answer): ModelAnswer {
    if (isRefused(answer)) return { took: 'no', why: answer.refusal };
    const [first] = answer;
    if (!first) return { took: 'nothing' };
    if (first.type === 'DownloadConfirmed') return { took: 'repeat' };
    const cents = centsOf(first);
    return { took: 'credit', ...(cents !== undefined && { cents: cents === 0 ? 0 : cents }) };
  }

  #storedEvents(): number {
    return [...this.log.streams.values()].reduce((sum, events) => sum + events.length, 0);
  }
}
