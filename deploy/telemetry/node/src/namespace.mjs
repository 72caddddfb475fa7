// Seen by the modules that stand in for packages (loader.mjs): the same table and the same facades as for `require`.
import instrument from './instrument.js';

export const { instrumentNamespace } = instrument;
