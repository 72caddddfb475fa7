'use strict';
const { a: { b = 1 } } = require('./x');
module.exports = { run() { return this.y?.[b]?.(...arguments); } };
exports.z = async () => { for await (const q of b()) await import(`./${q}`); };
