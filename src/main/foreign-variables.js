/**
 * Variables that a library would read behind our back: of a shell, for programs that are not ours. The service talks to its servers
 * as its own settings say, and to nothing else. The proxies of grpc, and its roots and ciphers, are read by it alone; Node reads
 * NODE_USE_ENV_PROXY, with HTTPS_PROXY and NO_PROXY, before this.
 */
const readByLibraries = /^(?:GRPC_\w+|(?:no_)?grpc_proxy|https?_proxy|no_proxy|all_proxy|PG[A-Z]+)$/;

/** @param {NodeJS.ProcessEnv} variables those of this process, before any library is loaded */
export function removeForeignVariables(variables) {
  for (const name of Object.keys(variables)) if (readByLibraries.test(name)) delete variables[name];
}
