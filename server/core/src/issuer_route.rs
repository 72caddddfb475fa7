//! How a JSON Web Token finds its organization before anything of it is believed.

use sha2::{Digest as _, Sha256};

/// What leads from an issuer to an organization: a digest, so that the table of routes, which is of no organization,
/// says nothing about any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IssuerRoute([u8; 32]);

impl IssuerRoute {
    /// Every token of the issuer.
    pub fn whole(issuer: &str) -> Self {
        Self::of(&[issuer])
    }

    /// Tokens of the issuer whose `claim` is `value`.
    pub fn by_claim(issuer: &str, claim: &str, value: &str) -> Self {
        Self::of(&[issuer, claim, value])
    }

    /// As stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Hashes the parts, each with its length, so that no two lists of parts give the same bytes.
    fn of(parts: &[&str]) -> Self {
        let mut hasher = Sha256::new_with_prefix("sync issuer route\0");
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_differ_where_what_they_name_differs() {
        let routes = [
            IssuerRoute::whole("https://id.example"),
            IssuerRoute::whole("https://id.example/"),
            IssuerRoute::by_claim("https://id.example", "org", "acme"),
            IssuerRoute::by_claim("https://id.example", "orga", "cme"),
            IssuerRoute::by_claim("https://id.exampleorg", "", "acme"),
        ];
        for (at, route) in routes.iter().enumerate() {
            assert!(!routes[..at].contains(route), "{at}");
        }
        assert_eq!(IssuerRoute::whole("a"), IssuerRoute::whole("a"));
    }
}
