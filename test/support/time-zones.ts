/** Does some work in each time zone, one after the other, with this process moved there. @returns what each gave */
export function inEachZone<Result>(zones: readonly string[], work: (zone: string) => Result): Result[] {
  const usual = process.env['TZ'];
  try {
    return zones.map((zone) => {
      process.env['TZ'] = zone;
      return work(zone);
    });
  } finally {
    if (usual === undefined) delete process.env['TZ'];
    else process.env['TZ'] = usual;
  }
}
