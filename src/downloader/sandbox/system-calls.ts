/**
 * The system calls that children may not make: a seccomp filter, which no process can take off again and every program that it
 * starts inherits. It refuses what neither yt-dlp nor ffmpeg needs and faults of the kernel are found in; it is no list of
 * all that they need, which changes with each of their builds.
 */

/** Linux's numbers. */
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];

/** The numbers of the two kinds of processors (from the kernel's tables); undefined where one has no such call. */
interface Call {
  x64?: number;
  arm64?: number;
}

const both = (number: number): Call => ({ x64: number, arm64: number });

/** Refused as not permitted. */
const forbidden: Readonly<Record<string, Call>> = {
  // Other processes.
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: both(438),
  // Keys of the kernel.
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  // Programs for the kernel, and its own memory.
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  modify_ldt: { x64: 154 },
  // Namespaces and mounts.
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_tree: both(428),
  move_mount: both(429),
  fsopen: both(430),
  fsconfig: both(431),
  fsmount: both(432),
  fspick: both(433),
  mount_setattr: both(442),
  name_to_handle_at: { x64: 303, arm64: 264 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  fanotify_init: { x64: 300, arm64: 262 },
  // The machine as a whole.
  reboot: { x64: 169, arm64: 142 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: both(443),
  syslog: { x64: 103, arm64: 116 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  adjtimex: { x64: 159, arm64: 171 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  vhangup: { x64: 153, arm64: 58 },
  migrate_pages: { x64: 256, arm64: 238 },
  move_pages: { x64: 279, arm64: 239 },
};

/** Refused as if the kernel did not know them, so that a program takes another way. */
const unknown: Readonly<Record<string, Call>> = {
  io_uring_setup: both(425),
  io_uring_enter: both(426),
  io_uring_register: both(427),
  // Its flags lie in memory, where no filter sees them; programs then use clone.
  clone3: both(435),
  memfd_secret: both(447),
};

export const refusedCalls = [
  ...Object.entries(forbidden).map(([name, numbers]) => ({ name, numbers, errno: EPERM })),
  ...Object.entries(unknown).map(([name, numbers]) => ({ name, numbers, errno: ENOSYS })),
];

/** Local sockets, both kinds of addresses, and the kernel's list of networks, which name servers are looked up with. */
const socketFamilies = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 };

/** The flags of clone that make a namespace. */
const namespaceFlags = 0x7e02_0000;

/** What the filter needs to know of a kind of processor. Both have a small-endian order of bytes. */
const processors = {
  x64: { audit: 0xc000_003e, socket: 41, clone: 56, prctl: 157 },
  arm64: { audit: 0xc000_00b7, socket: 198, clone: 220, prctl: 167 },
} as const;

type Processor = keyof typeof processors;

const isKnown = (architecture: string): architecture is Processor => architecture in processors;

// Classic BPF, as linux/filter.h and linux/seccomp.h have it.
const [load, jumpIfEqual, jumpIfAtLeast, jumpIfAnyBit, answer] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [numberAt, processorAt, firstArgumentAt] = [0, 4, 16];
const allow = 0x7fff_0000;
const refuse = (errno: number) => 0x0005_0000 | errno;
/** The calls of x64 for programs with pointers of 32 bits have numbers from here on. */
const otherNumbers = 0x4000_0000;

type Instruction = readonly [code: number, value: number, ifTrue?: number, ifFalse?: number];

function instructionsFor(processor: Processor): Instruction[] {
  const { audit, socket, clone } = processors[processor];
  const refusals = refusedCalls.flatMap(({ errno, numbers: { [processor]: number } }): Instruction[] =>
    number === undefined
      ? []
      : [
          [jumpIfEqual, number, 0, 1],
          [answer, refuse(errno)],
        ],
  );
  const families = Object.values(socketFamilies).flatMap((family): Instruction[] => [
    [jumpIfEqual, family, 0, 1],
    [answer, allow],
  ]);
  return [
    [load, processorAt],
    [jumpIfEqual, audit, 1, 0],
    [answer, refuse(EPERM)],
    [load, numberAt],
    [jumpIfAtLeast, otherNumbers, 0, 1],
    [answer, refuse(ENOSYS)],
    ...refusals,
    [jumpIfEqual, clone, 0, 4],
    [load, firstArgumentAt],
    [jumpIfAnyBit, namespaceFlags, 0, 1],
    [answer, refuse(EPERM)],
    [answer, allow],
    [jumpIfEqual, socket, 0, families.length + 2],
    [load, firstArgumentAt],
    ...families,
    [answer, refuse(EAFNOSUPPORT)],
    [answer, allow],
  ];
}

export type CallFilter = NonNullable<ReturnType<typeof callFilter>>;

/** @returns undefined for a processor whose calls are not known here */
export function callFilter(architecture: string = process.arch) {
  if (!isKnown(architecture)) return undefined;
  const instructions = instructionsFor(architecture);
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, value, ifTrue = 0, ifFalse = 0]] of instructions.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return {
    /** The filter, in hexadecimal, as the kernel reads it. */
    program: bytes.toString('hex'),
    /** The number of the call that loads it. */
    prctl: processors[architecture].prctl,
  };
}
