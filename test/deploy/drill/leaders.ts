import { docker } from './run-compose.ts';

/** The leader of each kind answers this, within its own container. */
const leads: readonly { kind: RegExp; ask: readonly string[]; answer: RegExp }[] = [
  {
    kind: /^event-store/,
    ask: ['curl', '--silent', '--insecure', 'https://localhost:2113/info'],
    answer: /"state":\s*"leader"/,
  },
  {
    kind: /^(?:projector|dispatcher)/,
    ask: ['node', '-e', "fetch('http://127.0.0.1:8080/metrics').then((a) => a.text()).then(console.log)"],
    answer: /^reeltally_\w+_leading 1$/m,
  },
  {
    kind: /^nats/,
    ask: ['wget', '--quiet', '--output-document=-', 'http://127.0.0.1:8222/jsz?streams=1'],
    answer: /"name":\s*"DOWNLOADS"[^]*"leader":\s*"@"/,
  },
  { kind: /^postgres/, ask: ['sh', '-c', 'ls $PGDATA/standby.signal || echo primary'], answer: /^primary/ },
];

export async function isLeader(name: string, id: string): Promise<boolean> {
  const lead = leads.find(({ kind }) => kind.test(name));
  if (!lead) return false;
  const answer = await docker('exec', id, ...lead.ask).catch(() => '');
  return new RegExp(lead.answer.source.replace('@', name), lead.answer.flags).test(answer);
}
