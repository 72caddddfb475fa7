//! syncd: answers principals over MCP, and writes down each answer.
//!
//! The composition root is [`app`]; [`http`] carries requests in, [`identity`] says who asks, [`answers`] makes
//! what is answered, and [`audit`] is the door that every answer leaves through.

pub mod answers;
pub mod app;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
pub mod dev;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod gates;
pub mod http;
pub mod identity;
pub mod jobs;
pub mod keys;
pub mod log;
pub mod mcp;
pub mod postgres;
pub mod secrets;
pub mod shutdown;
pub mod sources;
pub mod usage;
pub mod webhooks;
