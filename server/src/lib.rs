//! syncd: answers principals over MCP, and writes down each answer.
//!
//! The composition root is [`app`]; [`http`] carries requests in, [`identity`] says who asks, [`audit`] is the door
//! that every answer leaves through.

pub mod audit;
pub mod clock;
pub mod dev;
pub mod jobs;
pub mod postgres;
