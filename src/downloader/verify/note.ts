import { type FileFacts, mediaStreams, type StreamFacts } from './packets.ts';

/** Transfer functions of HDR, by ffprobe's names: SMPTE ST 2084, and ARIB STD-B67. */
const hdrNames = new Map([
  ['smpte2084', 'PQ'],
  ['arib-std-b67', 'HLG'],
]);
const maxNamed = 6;
const maxLabelCharacters = 60;

interface Chosen {
  stream: StreamFacts;
  isCopied: boolean;
}

function inWords({ kind, codec, width, height, label }: StreamFacts): string {
  const size = width > 0 ? `${width}×${height}` : '';
  return `${kind} (${[codec, size, label.slice(0, maxLabelCharacters)].filter(Boolean).join(', ')})`;
}

/** Tracks of the fetched files that might have been delivered in the place of the chosen ones. */
function leftOut(parts: readonly FileFacts[], chosen: readonly StreamFacts[]): string {
  const others = parts
    .flatMap((part) => mediaStreams(part))
    .filter((stream) => !chosen.includes(stream) && chosen.some(({ kind }) => kind === stream.kind));
  const named = others.slice(0, maxNamed).map(inWords).join(', ');
  return named && `also in what was fetched: ${named}${others.length > maxNamed ? ', …' : ''}`;
}

function dynamicRange(chosen: readonly Chosen[], finished: readonly StreamFacts[]): string {
  const picture = chosen.find(({ stream }) => stream.kind === 'video');
  const hdr = hdrNames.get(picture?.stream.transfer ?? '');
  if (picture === undefined || hdr === undefined) return '';
  const isKept = finished.some(({ transfer }) => transfer === picture.stream.transfer);
  if (!isKept) return `HDR (${hdr}) was lost`;
  return `HDR (${hdr}) was kept${picture.isCopied ? '' : ', with 8 bits a colour'}`;
}

/** For the timeline: what the choice of formats cannot tell, since only the fetched files do. Empty if there is nothing to tell. */
export function noteOf(
  parts: readonly FileFacts[],
  chosen: readonly Chosen[],
  finished: readonly StreamFacts[],
): string {
  const streams = chosen.map(({ stream }) => stream);
  return [leftOut(parts, streams), dynamicRange(chosen, finished)].filter(Boolean).join('; ');
}
