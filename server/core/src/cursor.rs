//! Opaque page cursors: a keyset with a MAC over everything the page depended on.
//!
//! A cursor used for another organization, principal, tool or arguments, or after the index or the feeds moved, is
//! refused; it is never answered with a shifted page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

/// The longest cursor that is looked at.
pub const MAX_CURSOR_BYTES: usize = 2048;

const MAC_BYTES: usize = 16;

/// The cursor does not belong to this question, or the answer behind it moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not from this question, or the index or a feed has moved since; ask again without it")]
pub struct CursorExpired;

/// Signs and checks cursors.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

impl CursorKey {
    /// From 32 secret bytes, the same on every replica.
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// A cursor that continues after `position`. `bound_to` is everything the page depended on: organization,
    /// principal, tool, arguments, index id, feed versions.
    pub fn seal<P: Serialize>(&self, bound_to: &[&str], position: &P) -> Result<String, serde_json::Error> {
        let body = serde_json::to_vec(position)?;
        let mut bytes = self.mac(bound_to, &body).to_vec();
        bytes.extend_from_slice(&body);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The position in a cursor, if it was sealed by this key for the same things.
    pub fn open<P: DeserializeOwned>(&self, bound_to: &[&str], cursor: &str) -> Result<P, CursorExpired> {
        if cursor.len() > MAX_CURSOR_BYTES {
            return Err(CursorExpired);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorExpired)?;
        let (mac, body) = bytes.split_at_checked(MAC_BYTES).ok_or(CursorExpired)?;
        let expected = self.mac(bound_to, body);
        if !bool::from(subtle::ConstantTimeEq::ct_eq(mac, &expected[..])) {
            return Err(CursorExpired);
        }
        serde_json::from_slice(body).map_err(|_| CursorExpired)
    }

    fn mac(&self, bound_to: &[&str], body: &[u8]) -> [u8; MAC_BYTES] {
        // A key shorter than SHA-256's block is padded with zeros (RFC 2104): done here, it cannot fail.
        let mut block = [0_u8; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        for part in bound_to {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.update(&u64::MAX.to_be_bytes());
        mac.update(body);
        let full = mac.finalize().into_bytes();
        let mut short = [0; MAC_BYTES];
        short.copy_from_slice(&full[..MAC_BYTES]);
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_opens_only_where_it_was_sealed() {
        let key = CursorKey::new([7; 32]);
        let cursor = key.seal(&["org", "tool"], &("src/a.ts", 3)).unwrap();
        assert_eq!(key.open::<(String, u32)>(&["org", "tool"], &cursor), Ok(("src/a.ts".to_owned(), 3)));
        assert_eq!(key.open::<(String, u32)>(&["other", "tool"], &cursor), Err(CursorExpired));
        assert_eq!(key.open::<(String, u32)>(&["or", "gtool"], &cursor), Err(CursorExpired));
        assert_eq!(CursorKey::new([8; 32]).open::<(String, u32)>(&["org", "tool"], &cursor), Err(CursorExpired));
        for broken in ["", "!", "AAAA", &cursor[..cursor.len() - 1], &"A".repeat(MAX_CURSOR_BYTES + 1)] {
            assert_eq!(key.open::<(String, u32)>(&["org", "tool"], broken), Err(CursorExpired), "{broken}");
        }
    }
}
