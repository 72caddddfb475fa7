//! server/store
