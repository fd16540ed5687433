import type { RequestListener } from 'node:http';
import { defaultTextMapGetter, ROOT_CONTEXT, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Config } from '../config/config.js';
import { engineOf } from '../database/engine-of.js';
import { exchangeOf } from '../http/exchange.js';
import { endRequestSpan, methodOf, schemeOf } from './request-span.js';
import { Tracers } from './tracers.js';
import { setSpan, type RequestSpan, type Tracing } from './tracing.js';

/** {@link Tracing} by OpenTelemetry. */
export class OpenTelemetry implements Tracing {
  private readonly tracers: Tracers;
  private readonly propagator = new W3CTraceContextPropagator();
  private readonly database: Readonly<Record<string, string>>;

  constructor(config: Config, endpoint: string) {
    this.tracers = new Tracers(config, endpoint);
    this.database = {
      'db.system.name': engineOf(config.databaseUrl).system,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
    };
  }

  traced(listener: RequestListener): RequestListener {
    return (request, response) => {
      const parent = this.propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
      const method = methodOf(request);
      const attributes = { 'http.request.method': method, 'url.scheme': schemeOf(request) };
      const options = { kind: SpanKind.SERVER, attributes };
      const span = this.tracers.requests.startSpan(method, options, parent);
      if (span.isRecording()) {
        setSpan(request, span);
        response.once('close', () => endRequestSpan(span, exchangeOf(response)));
      }
      listener(request, response);
    };
  }

  async commit<Result>(
    requests: readonly (RequestSpan | undefined)[],
    commit: () => Promise<Result>,
  ): Promise<Result> {
    const recorded = requests.filter((request) => request !== undefined);
    if (recorded.length === 0) return commit();
    const links = recorded.map((request) => ({ context: request.spanContext() }));
    const attributes = { ...this.database, 'plant_store.plants': requests.length };
    const options = { kind: SpanKind.CLIENT, links, attributes };
    const span = this.tracers.commits.startSpan('commit plants', options, ROOT_CONTEXT);
    const link = { context: span.spanContext() };
    // The client of one that has ended is gone; its plant is committed all the same.
    for (const request of recorded) if (request.isRecording()) request.addLink(link);
    try {
      return await commit();
    } catch (error) {
      span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  close(): Promise<void> {
    return this.tracers.close();
  }
}

/** An error's code or class. Not its message: a store repeats in it what it could not store. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  return codeOf(error) ?? codeOf(error.cause) ?? error.constructor.name;
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
