/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotesService } from './notes.module.js';
import { FORMS } from './notes.parts.js';

let notes: NotesService;
beforeAll(async () => {
  notes = await NotesService.start();
});
afterAll(() => notes.service.stop());

describe('what a handler throws', () => {
  it.each(Object.entries(FORMS))('%s', async (name, [thrown, status, body]) => {
    const { status: sent, body: shown } = await notes.send('GET', `/notes/forms/${name}`);
    expect({ status: sent, body: shown }).toEqual({ status, body });
    if (status >= 500 && thrown instanceof Error)
      expect(notes.service.log.text).toContain(`${thrown.name}: ${thrown.message}`);
  });

  it('an exception of asynchronous middleware keeps its status and message', async () => {
    const response = { status: 404, body: { error: 3005, message: 'by middleware' } };
    expect(await notes.send('GET', '/notes?middleware=throws')).toMatchObject(response);
    expect(await notes.create('/plants?middleware=throws')).toMatchObject(response);
  });

  it('behind a response it leaves the connection open, and is in the log', async () => {
    const connection = await notes.service.connect();
    for (const [path, text] of [
      ['ended', '{"ended":true}'],
      ['7', '{"id":7}'],
    ]) {
      connection.write(`GET /notes/${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      const response = await connection.read({ method: 'GET', path: '/docs' });
      expect(response).toMatchObject({ status: 200, text });
    }
    connection.close();
    expect(notes.service.log.text).toContain('Error: after the response');
  });

  it.each(['partial', 'broken'])('in the middle of a body it breaks the body off: %s', (path) =>
    expect(notes.send('GET', `/notes/${path}`)).rejects.toThrow(/^(terminated|fetch failed)$/),
  );
});
