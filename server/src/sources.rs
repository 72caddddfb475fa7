//! Sources: repositories that are registered once and then follow their code. What may be registered, what is followed
//! of it, and how a provider of code intelligence says what it can do.

pub mod credential;
pub mod erase;
pub mod names;
pub mod provider;
pub mod refresh;
pub mod register;
