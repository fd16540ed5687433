/** What tests have used that a log must not show. */
const secrets = new Set<string>();
const logs: Log[] = [];

/** Below this a text is found in a log by chance. */
const SHORTEST = 6;
/** A token of the service, whole or cut; names of databases go on with `_`. */
const TOKEN = /plant_[\dA-Za-z]{16,}/;
const CREDENTIALS =
  /bearer +(\S{16,})|access_token["':= ]+([^\s"'&]{16,})|:\/\/[^/\s:@]*:([^/\s@]+)@/gi;

/** Variables with which a service logs all that it can. */
export const LOG_ALL = { LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' } as const;

/** All that one application, or one process, has written. */
export class Log {
  text = '';

  constructor() {
    logs.push(this);
  }

  /** Takes lines as pino writes them, and output of a process as it comes. */
  write(text: string | Buffer): void {
    this.text += text.toString();
  }

  /** The lines of a log in JSON that come from a part of the service. */
  lines(context: string): Record<string, unknown>[] {
    const lines = this.text.split('\n').filter((line) => line.startsWith('{'));
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.context === context);
  }
}

/** Notes tokens and passwords in a text that is sent to the service, or configures it. */
export function noteSecrets(text: string): void {
  for (const [, ...groups] of text.matchAll(CREDENTIALS)) {
    for (const secret of groups) if (secret && secret.length >= SHORTEST) secrets.add(secret);
  }
}

/**
 * Every test comes through here, when it ends and when a service of its ends.
 *
 * @throws Error where a log shows a token, or a secret that was noted
 */
export function demandSecrecy(): void {
  for (const log of logs) {
    // main.ts prints the first token in development: it is not of the log, and stands apart.
    const text = log.text.replace(/^ {2}(plant_|curl ).*$/gm, '');
    const shown = [...secrets].find((secret) => text.includes(secret)) ?? TOKEN.exec(text)?.[0];
    if (shown !== undefined) throw new Error(`a log shows ${shown}: ${lineWith(text, shown)}`);
  }
}

function lineWith(text: string, shown: string): string | undefined {
  return text.split('\n').find((line) => line.includes(shown));
}
