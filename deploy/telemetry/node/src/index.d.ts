import type { Context } from '@opentelemetry/api';

export interface CallSiteOptions {
  /**
   * Also read the frames of functions that *await* the request (`await sdk.call()` where the SDK is none that is
   * wrapped). Such a frame says where a promise is awaited, which is not always where it was made: off by default.
   */
  asyncFrames?: boolean;
}

/**
 * Sets `code.file.path`, `code.line.number`, `code.column.number` (and, where it is sure, `code.function.name`) and
 * `sync.callsite.via` (`facade`, `stack` or `async-stack`) on CLIENT and PRODUCER spans when they start. Leaves spans
 * alone that carry any `code.*` already, spans of databases, and spans whose line it is not sure of. Never throws.
 *
 * Fits OpenTelemetry SDK 1.x, 2.x and 3.x: `spanProcessors: [new CallSiteSpanProcessor(), …]`.
 */
export class CallSiteSpanProcessor {
  constructor(options?: CallSiteOptions);
  // The spans of the three majors differ in their types; what is used of them does not.
  onStart(span: any, parentContext: Context): void;
  onEnd(span: any): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

export interface WrapOptions {
  /**
   * Hosts whose requests belong to this client: exact, or `*.example.com` for everything below. A request to any
   * other host is never attributed to a call of this client. Without hosts the client comes back as it was.
   */
  hosts: readonly string[];
  /** Paths (without query) of requests that the SDK makes for itself, such as fetching a token. */
  ignore?: RegExp;
  /** Calls that give back an object of the SDK (`client.messages(id).fetch()`): wrap that object too. */
  subclients?: boolean;
}

/** The same client, whose calls remember the line that made them. Two calls with one client give one facade. */
export function wrapClient<T extends object>(client: T, options: WrapOptions): T;
