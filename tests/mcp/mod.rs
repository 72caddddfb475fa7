//! MCP by hand: the protocol's table, what is listed, what is written down, and what happens when things break.

mod audit;
mod failures;
pub(crate) mod held;
mod load;
mod protocol;
mod surface;
