import Module, { register } from 'node:module';
import './register.js';

try {
  // Node 22 and 24 have them too, but as long as any are registered some packages of CommonJS cannot be imported there
  // (ERR_VM_MODULE_LINK_FAILURE).
  if (Module.registerHooks && Number(process.versions.node.split('.')[0]) >= 26) {
    const { hooks } = await import('./loader.mjs');
    Module.registerHooks(hooks);
  } else {
    register('./loader.mjs', import.meta.url);
  }
} catch (error) {
  process.emitWarning(`@sync/otel-callsites does not see import statements: ${error?.message ?? error}`);
}
