/**
 * Preloaded (`node --import`), so that a process takes itself for one on the machine of PLAYED_MACHINE, such as `darwin-arm64`
 * or `linux-x64-musl`, and on the Node of PLAYED_NODE. This shows what is said there, and not that anything runs there.
 */

const { PLAYED_MACHINE = '', PLAYED_NODE = process.versions.node } = process.env;
const [platform, arch, libc] = PLAYED_MACHINE.split('-');

Object.defineProperty(process, 'platform', { value: platform });
Object.defineProperty(process, 'arch', { value: arch });
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: PLAYED_NODE } });
if (libc === 'musl') Object.defineProperty(process.report, 'getReport', { value: () => ({ header: {} }) });
