/** Secrets used in tests. */
const secrets = new Set<string>();
const logs: Log[] = [];

/** Shorter texts may occur in a log by chance. */
const SHORTEST = 6;
/** A token of the service, whole or cut. `plant_store_migrations` with one bit flipped has 16 letters next. */
const TOKEN = /plant_[\dA-Za-z]{17,}/;
const CREDENTIALS =
  /bearer +(\S{16,})|access_token["':= ]+([^\s"'&]{16,})|:\/\/[^/\s:@]*:([^/\s@]+)@/gi;

/** Variables that make a service log everything. */
export const LOG_ALL = { LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' } as const;

/** The output of one application or process. */
export class Log {
  text = '';

  constructor() {
    logs.push(this);
  }

  /** Adds lines of pino, or output of a process. */
  write(text: string | Buffer): void {
    this.text += text.toString();
  }

  /** The lines of a JSON log from one part of the service. */
  lines(context: string): Record<string, unknown>[] {
    const lines = this.text.split('\n').filter((line) => line.startsWith('{'));
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.context === context);
  }
}

/**
 * Records tokens and passwords in a text that is sent to the service or configures it. The service's own
 * tokens are found anyway, and a test may forge a hundred thousand.
 */
export function recordSecrets(text: string): void {
  for (const [, ...groups] of text.matchAll(CREDENTIALS)) {
    const found = groups.filter((secret) => secret && secret.length >= SHORTEST);
    for (const secret of found) if (!TOKEN.test(secret)) secrets.add(secret);
  }
}

/**
 * Checks all logs. Runs at the end of every test and of every service.
 *
 * @throws Error if a log shows a token or a recorded secret
 */
export function assertSecrecy(): void {
  for (const log of logs) {
    // In development main.ts prints the first token on indented lines outside the log.
    const text = log.text.replace(/^ {2}(plant_|curl ).*$/gm, '');
    const shown = [...secrets].find((secret) => text.includes(secret)) ?? TOKEN.exec(text)?.[0];
    if (shown !== undefined) throw new Error(`a log shows ${shown}: ${lineWith(text, shown)}`);
  }
}

function lineWith(text: string, shown: string): string | undefined {
  return text.split('\n').find((line) => line.includes(shown));
}
