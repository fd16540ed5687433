/** @engine sqlite */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';

const PAGES = globSync('{*.md,docs/*.md,drill/*.md,test/clients/*.md}');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

it.each(PAGES)('the links of %s lead to existing files and headings', (page) => {
  const links = readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g);
  for (const [link, path = '', anchor] of links) {
    const target = path === '' ? page : join(dirname(page), path);
    expect({ link, isThere: existsSync(target) }).toEqual({ link, isThere: true });
    if (anchor === undefined) continue;
    expect({ link, anchors: anchorsOf(target) }).toEqual({
      link,
      anchors: expect.arrayContaining([anchor]),
    });
  }
});
