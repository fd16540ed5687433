// A create, step 7 of 13: finds the members of the plant in the text, or the place of an error.

/** Kinds of tokens, as bits: what may come next is a set of them. */
const END = 1;
const STRING = 2;
/** A number, true, false or null. */
const SCALAR = 4;
const COLON = 8;
const COMMA = 16;
const OPEN_OBJECT = 32;
const CLOSE_OBJECT = 64;
const OPEN_ARRAY = 128;
const CLOSE_ARRAY = 256;
/** What a value begins with. */
const VALUE = STRING | SCALAR | OPEN_OBJECT | OPEN_ARRAY;

const BLANK = 512;

/** The kind of token that begins with a character, by its code. */
const KINDS = new Uint16Array(128);
for (const [characters, kind] of [
  ['"', STRING],
  ['-0123456789tfn', SCALAR],
  [':', COLON],
  [',', COMMA],
  ['{', OPEN_OBJECT],
  ['}', CLOSE_OBJECT],
  ['[', OPEN_ARRAY],
  [']', CLOSE_ARRAY],
  [' \t\n\r', BLANK],
] as const)
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const SCALAR_TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** The rest of a string token, from its first escape (RFC 8259, section 7). */
const ESCAPED_REST = /(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[\x20\x21\x23-\x5b\x5d-\uffff]*)+"/y;

/** The end of a token that is none. */
const NONE = -1;

/** Texts of values, by the names of their members. */
export type JsonLiterals<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/**
 * Scans a JSON text (RFC 8259) in one pass. It accepts what JSON.parse() accepts, but makes no values. Those can cost
 * several times as much: V8 makes a shape for each new set of keys, and keeps each new key until a full collection.
 */
export class JsonScan<Name extends string = never> {
  /**
   * Offset of the first token that JSON does not allow at its place, in UTF-16 code units; the length of a text that
   * ends too early; undefined if the text is valid.
   */
  readonly fault: number | undefined;
  private readonly found: Partial<Record<Name, string>> = {};
  /** Brackets that are open, the innermost last. */
  private readonly open: number[] = [];
  private expected = VALUE;
  /** The member of the text's own object that is being scanned, if it is asked for. */
  private name: Name | undefined;
  private valueStart = 0;

  /** @param names of the members whose texts {@link literals} has: letters alone */
  constructor(
    private readonly text: string,
    private readonly names: readonly Name[] = [],
  ) {
    this.fault = this.findFault();
  }

  /** Of a valid text that is an object. Of members with the same name it has the last, as JSON.parse() does. */
  get literals(): JsonLiterals<Name> | undefined {
    const first = this.text.charCodeAt(skipBlanks(this.text, 0));
    return KINDS[first] === OPEN_OBJECT && this.fault === undefined ? this.found : undefined;
  }

  private findFault(): number | undefined {
    const { text } = this;
    for (let end = 0; ;) {
      const start = skipBlanks(text, end);
      const kind = start === text.length ? END : (KINDS[text.charCodeAt(start)] ?? 0);
      if (!(kind & this.expected)) return start;
      if (kind === END) return undefined;
      end = findTokenEnd(text, start, kind);
      if (end === NONE) return start;
      if (this.open.length === 1) this.scanMember(kind, start, end);
      this.expected = this.follow(kind);
    }
  }

  /** Takes a token of the text's own object, or of its own array, which has no keys. */
  private scanMember(kind: number, start: number, end: number): void {
    const { text, name } = this;
    if (this.isKey(kind)) this.name = this.findName(text.slice(start + 1, end - 1));
    else if (kind === COLON) this.valueStart = end;
    else if (kind & (COMMA | CLOSE_OBJECT) && name !== undefined)
      this.found[name] = text.slice(this.valueStart, start).trim();
  }

  private findName(literal: string): Name | undefined {
    const key = literal.includes('\\') ? (JSON.parse(`"${literal}"`) as string) : literal;
    return this.names.find((name) => name === key);
  }

  private isKey(kind: number): boolean {
    return kind === STRING && !(this.expected & SCALAR);
  }

  /** Returns what may come after a token. */
  private follow(kind: number): number {
    const { open } = this;
    if (this.isKey(kind)) return COLON;
    if (kind & (OPEN_OBJECT | OPEN_ARRAY)) {
      open.push(kind);
      return kind === OPEN_OBJECT ? STRING | CLOSE_OBJECT : VALUE | CLOSE_ARRAY;
    }
    if (kind & (CLOSE_OBJECT | CLOSE_ARRAY)) open.pop();
    if (open.length === 0) return END;
    const isInObject = open[open.length - 1] === OPEN_OBJECT;
    if (kind === COLON || kind === COMMA) return kind === COMMA && isInObject ? STRING : VALUE;
    return isInObject ? COMMA | CLOSE_OBJECT : COMMA | CLOSE_ARRAY;
  }
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (at < text.length && KINDS[text.charCodeAt(at)] === BLANK) at++;
  return at;
}

function findTokenEnd(text: string, start: number, kind: number): number {
  if (kind === STRING) return findStringEnd(text, start);
  return kind === SCALAR ? findMatchEnd(SCALAR_TOKEN, text, start) : start + 1;
}

/** A regular expression costs more than this loop, but for escapes. */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) return findMatchEnd(ESCAPED_REST, text, at);
    if (code < SPACE) return NONE;
  }
  return NONE;
}

/** @param sticky a regular expression with the flag `y` */
function findMatchEnd(sticky: RegExp, text: string, start: number): number {
  sticky.lastIndex = start;
  return sticky.test(text) ? sticky.lastIndex : NONE;
}
