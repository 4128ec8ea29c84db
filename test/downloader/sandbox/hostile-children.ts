/** Programs that do what no downloader should; each is a shell script whose first argument names the attempt. */
export interface HostileChild {
  script: string;
  /** Only where it is in namespaces of its own: elsewhere it would do to this machine what it is meant to. */
  caged?: boolean;
}

const forever = 'while :; do sleep 0.2; done';

export const hostileChildren: Readonly<Record<string, HostileChild>> = {
  'a fork bomb': { caged: true, script: 'bomb() { bomb | bomb & }; bomb; wait' },
  'many processes': { script: `for i in $(seq 150); do sh -c '${forever}' "$1" & done; wait` },
  'deaf to being asked': { script: `trap '' TERM INT HUP; sh -c 'trap "" TERM; ${forever}' "$1" & ${forever}` },
  'a daemon in a session of its own': { script: `setsid sh -c '${forever}' "$1" & exit 0` },
  'a daemon, twice removed': { script: `(setsid sh -c 'trap "" TERM; (${forever}) & ${forever}' "$1" &) & exit 0` },
  'a daemon without its environment': { script: `env -i PATH="$PATH" setsid sh -c '${forever}' "$1" & exit 0` },
  'a daemon that holds the pipes': { script: `setsid sh -c 'trap "" TERM; ${forever}' "$1" & ${forever}` },
  stopped: { script: 'kill -STOP $$' },
  'kills whatever it can': { caged: true, script: `kill -9 -1; ${forever}` },
  'endless lines': { script: 'yes' },
  'endless complaints': { script: 'yes >&2' },
  'one endless line': { script: "tr '\\0' x < /dev/zero" },
  'a link out of its directory': {
    script:
      'ln -s "$2" out; ln -s / all; echo changed > out/file; echo changed > "all$2/file"; echo changed > "$2/new"',
    caged: true,
  },
  'a second name for a file outside': {
    caged: true,
    script: 'ln "$2/file" own && echo changed > own; ln "$2/file" own2',
  },
  'removes what lies outside': { caged: true, script: 'rm -rf "$2" /work /root /home 2>/dev/null; cd ..; rm -rf ./*' },
  'a file of holes': {
    script: `dd if=/dev/zero of=holes bs=1 count=1 seek=30M 2>/dev/null; dd if=/dev/zero of=more bs=1 count=1 seek=9T; ${forever}`,
  },
  'many files': { script: 'i=0; while :; do i=$((i + 1)); : > f$i; done' },
  'a tree without end': {
    script:
      'while :; do mkdir dddddddddddddddddddddddddddddddddddddddd && cd dddddddddddddddddddddddddddddddddddddddd; done',
  },
  'folders that nobody may open': { script: 'mkdir -p a/b; : > a/b/c; chmod 0 a/b a; exit 1' },
  'one huge file': { script: 'cat /dev/zero > huge; sleep 9' },
  'several large files at once': { script: 'for i in 1 2 3 4; do cat /dev/zero > large$i & done; wait' },
  'a file without a name': { script: 'exec 9> gone; rm gone; cat /dev/zero >&9; sleep 9' },
  hungry: { script: 'tail -c 9G /dev/zero; exit 1' },
  'hungry, several': { script: 'for i in 1 2 3 4 5 6; do tail -c 9G /dev/zero & done; wait; exit 1' },
  'reads the environment of others': {
    caged: true,
    script:
      'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -v -e "^REELTALLY_RUN=" -e "^\\(PATH\\|HOME\\|TMPDIR\\|LANG\\|PWD\\|OLDPWD\\|_\\)=" && touch found; exit 1',
  },
};
