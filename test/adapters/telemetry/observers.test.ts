import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { observeAppends } from '../../../src/adapters/telemetry/observers.ts';

it('counts the events of stored appends, and the cents that they charge and give back', async () => {
  const registry = new Registry();
  const observer = observeAppends([registry]);
  const charged = { type: 'OverageCharged', data: { cents: 25 } };
  const queued = { type: 'DownloadQueued', data: {} };
  observer.appendEnded('stored', 0.01, [charged, queued, charged, queued]);
  observer.appendEnded('stored', 0.01, [{ type: 'ChargeWaived', data: { cents: 10 } }]);
  observer.appendEnded('stored', 0.01, [{ type: 'DownloadVoided', data: { cents: 25 } }]);
  observer.appendEnded('conflict', 0.01, [charged, queued]);
  observer.appendEnded('failed', 0.01, [charged, queued]);
  const lines = (await registry.metrics()).split('\n');
  const grown = lines.filter((line) => /^reeltally_(?:events_stored|overage_cents)_total.* (?!0$)/.test(line));
  expect(grown).toEqual([
    'reeltally_events_stored_total{type="OverageCharged"} 2',
    'reeltally_events_stored_total{type="DownloadQueued"} 2',
    'reeltally_events_stored_total{type="DownloadVoided"} 1',
    'reeltally_events_stored_total{type="ChargeWaived"} 1',
    'reeltally_overage_cents_total{kind="charged"} 50',
    'reeltally_overage_cents_total{kind="given_back"} 35',
  ]);
});
