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

/** The kind of token that begins with a character, by its code. */
const KINDS = mapCharacters({
  '"': STRING,
  '-0123456789tfn': SCALAR,
  ':': COLON,
  ',': COMMA,
  '{': OPEN_OBJECT,
  '}': CLOSE_OBJECT,
  '[': OPEN_ARRAY,
  ']': CLOSE_ARRAY,
});

/** Characters that have an escape of two characters. */
const ESCAPED = mapCharacters({ '"\\/bfnrt': 1 });

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BLANK = 32;
const QUOTE = 34;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;
const LETTER_A = 97;
const LETTER_E = 101;
const LETTER_F = 102;
const LETTER_U = 117;
const OPENING_BRACE = 123;
/** The bit that a capital letter lacks. */
const LOWER_CASE = 32;

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
    const isObject = this.text.charCodeAt(skipBlanks(this.text, 0)) === OPENING_BRACE;
    return isObject && this.fault === undefined ? this.found : undefined;
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
    if (this.isKey(kind)) this.name = this.names.find((one) => isNamed(text, start, end, one));
    else if (kind === COLON) this.valueStart = end;
    else if (kind & (COMMA | CLOSE_OBJECT) && name !== undefined)
      this.found[name] = text.slice(this.valueStart, start).trim();
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

function mapCharacters(values: Readonly<Record<string, number>>): Uint16Array {
  const table = new Uint16Array(128);
  for (const [characters, value] of Object.entries(values))
    for (const character of characters) table[character.charCodeAt(0)] = value;
  return table;
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== BLANK && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) break;
  }
  return at;
}

function findTokenEnd(text: string, start: number, kind: number): number {
  if (kind === STRING) return findStringEnd(text, start);
  if (kind !== SCALAR) return start + 1;
  if (text.charCodeAt(start) < LETTER_A) return findNumberEnd(text, start);
  for (const word of ['true', 'false', 'null'])
    if (text.startsWith(word, start)) return start + word.length;
  return NONE;
}

function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < BLANK) return NONE;
    at = code === BACKSLASH ? findEscapeEnd(text, at) : at + 1;
    if (at === NONE) return NONE;
  }
  return NONE;
}

function findEscapeEnd(text: string, start: number): number {
  const code = text.charCodeAt(start + 1);
  if (code !== LETTER_U) return ESCAPED[code] ? start + 2 : NONE;
  const end = start + 6;
  for (let at = start + 2; at < end; at++) if (!isHexDigit(text.charCodeAt(at))) return NONE;
  return end;
}

function findNumberEnd(text: string, start: number): number {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  // No digit may follow a leading zero.
  const whole = text.charCodeAt(first) === ZERO ? first + 1 : skipDigits(text, first);
  if (whole === first) return NONE;
  const fraction = text.charCodeAt(whole) === DOT ? skipDigits(text, whole + 1) : whole;
  const end = fraction > whole + 1 ? fraction : whole;
  if ((text.charCodeAt(end) | LOWER_CASE) !== LETTER_E) return end;
  const sign = text.charCodeAt(end + 1);
  const power = sign === PLUS || sign === MINUS ? end + 2 : end + 1;
  const exponent = skipDigits(text, power);
  return exponent > power ? exponent : end;
}

function skipDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isHexDigit(code: number): boolean {
  const letter = code | LOWER_CASE;
  return isDigit(code) || (letter >= LETTER_A && letter <= LETTER_F);
}

/** Whether a string token stands for a name of letters, each of which may be escaped. */
function isNamed(text: string, start: number, end: number, name: string): boolean {
  let at = start + 1;
  for (let i = 0; i < name.length; i++) {
    const isEscaped = text.charCodeAt(at) === BACKSLASH && text.charCodeAt(at + 1) === LETTER_U;
    const code = isEscaped ? parseInt(text.slice(at + 2, at + 6), 16) : text.charCodeAt(at);
    if (code !== name.charCodeAt(i)) return false;
    at += isEscaped ? 6 : 1;
  }
  return at === end - 1;
}
