import { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { messageClasses } from './message-classes.js';

describe('messageClasses', () => {
  it.each(['20.19.0', '22.1.0', '23.11.1'])(
    "under Node %s, messages are born Express's",
    (version) => {
      const app = express();
      const options = messageClasses(app, version);
      expect(options.IncomingMessage?.prototype).toBe(app.request);
      expect(options.ServerResponse?.prototype).toBe(app.response);
      // Express's own methods, and behind them Node's.
      expect(app.request).toHaveProperty('accepts');
      expect(app.response).toHaveProperty('redirect');
      expect(app.request).toBeInstanceOf(IncomingMessage);
      expect(app.response).toBeInstanceOf(ServerResponse);
    },
  );

  it.each(['24.0.0', '26.1.0', '100.0.0'])('under Node %s nothing is changed', (version) => {
    const app = express();
    const { request, response } = app;
    expect(messageClasses(app, version)).toEqual({});
    expect({ request: app.request, response: app.response }).toEqual({ request, response });
  });
});
