//! The HTTP surface: who gets in, what everyone else is told, health, metadata, the end of the process.

mod credentials;
mod ending;
mod jwt;
mod rest;
mod surface;
