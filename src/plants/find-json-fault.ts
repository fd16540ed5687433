/** One token of JSON (RFC 8259) and the blanks before it: a string, another scalar, or punctuation. */
const TOKEN =
  /([\t\n\r ]*)(?:("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))?/y;

const STRING = '"';
const SCALAR = '0';
/** A plant has a dozen tokens. A body of brackets alone would take 20 ms. */
const MAX_TOKENS = 1_000;
/** Tokens that a value can begin with. */
const VALUE = `${STRING}${SCALAR}{[`;

/**
 * Finds the first token that JSON does not allow at its place, in a text that JSON.parse() refuses. V8's own message
 * mostly has no position, and quotes the text, which may hold a secret.
 *
 * @returns its offset in UTF-16 code units; the length of a text that ends too early; undefined after 1,000 tokens
 */
export function findJsonFault(text: string): number | undefined {
  const open: string[] = [];
  let expected = VALUE;
  TOKEN.lastIndex = 0;
  for (let tokens = 0; tokens < MAX_TOKENS; tokens++) {
    const start = TOKEN.lastIndex;
    const [, blanks = '', string, scalar, mark = ''] = TOKEN.exec(text) ?? [];
    const token = string ? STRING : scalar ? SCALAR : mark;
    if (token === '' || !expected.includes(token)) return start + blanks.length;
    const isKey = token === STRING && !expected.includes(SCALAR);
    if (token === '{' || token === '[') open.push(token);
    if (token === '}' || token === ']') open.pop();
    const isInObject = open.at(-1) === '{';
    if (token === '{') expected = `${STRING}}`;
    else if (token === '[') expected = `${VALUE}]`;
    else if (token === ',' && isInObject) expected = STRING;
    else if (token === ',' || token === ':') expected = VALUE;
    else if (isKey) expected = ':';
    else if (open.length === 0) expected = '';
    else expected = isInObject ? ',}' : ',]';
  }
  return undefined;
}
