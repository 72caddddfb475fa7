// What OpenTelemetry tells applications made of ECMAScript modules to load.
import { register } from 'node:module';

register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
