/** Members that have their own place in a readable line, or none, or stand in the message. */
const PLACED = new Set(
  ['level', 'time', 'pid', 'context', 'msg', 'stack'].concat('method', 'path', 'status'),
);

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', hour12: false });

/** Controls of terminals and of the direction of writing, line breaks among them. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * A line of JSON as a person reads it: the time, the level, the context, the message, what else there
 * is as `name=value`; a stack on lines of its own. What a client has sent cannot colour the terminal,
 * or pass for another line: controls are written as JSON writes them. (pino-pretty prints them.)
 */
export function readable(json: string): string {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { level, time, context, msg, stack } = line;
  const at = new Date(String(time));
  const others = Object.entries(line).filter(([name]) => !PLACED.has(name));
  const words = [
    `${CLOCK.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`,
    String(level).toUpperCase().padEnd(5),
    ...(context === undefined ? [] : [`[${text(context)}]`]),
    ...(msg === undefined ? [] : [text(msg)]),
    ...others.map(([name, value]) => `${text(name)}=${text(value)}`),
  ];
  const below = typeof stack === 'string' ? stack.split('\n') : [];
  return `${[words.join(' '), ...below.map((one) => `    ${text(one)}`)].join('\n')}\n`;
}

function text(value: unknown): string {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  return written.replace(CONTROLS, escape);
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
