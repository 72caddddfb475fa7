//! Sync's own bearer tokens: `sync_<organization>_<id>_<secret><checksum>`.
//!
//! The organization and the id are 22 base-62 digits each, so that a token is looked up inside its organization's
//! row security; the secret is 43 (256 random bits), of which only the SHA-256 is stored; the checksum is the CRC-32
//! of all before it in 6 digits, by which a secret scanner tells a token from a look-alike without asking anyone,
//! and by which a truncated paste is named as such.

use std::fmt;

use sha2::{Digest as _, Sha256};
use sync_core::ids::{OrganizationId, TokenId};
use uuid::Uuid;

const PREFIX: &str = "sync_";
const ID_DIGITS: usize = 22;
const SECRET_DIGITS: usize = 43;
const CHECKSUM_DIGITS: usize = 6;
const SECRET_BYTES: usize = 32;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token as presented: whom it claims to be from, and the hash to compare with the stored one.
#[derive(Clone, PartialEq, Eq)]
pub struct PresentedToken {
    /// The organization it claims.
    pub organization: OrganizationId,
    /// Which of the organization's tokens.
    pub id: TokenId,
    /// SHA-256 of the secret.
    pub secret_hash: [u8; 32],
}

impl fmt::Debug for PresentedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PresentedToken({})", self.id)
    }
}

/// A token as just made; the text exists only here.
pub struct NewToken {
    /// What the principal is given, once.
    pub text: String,
    /// What is stored.
    pub secret_hash: [u8; 32],
}

/// Why a text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// Another form.
    #[error("the token is malformed; a Sync token looks like sync_<organization>_<id>_<secret>")]
    Form,
    /// A typing or pasting mistake.
    #[error("the token's checksum is wrong; it was probably cut or altered when it was pasted")]
    Checksum,
}

/// Whether the text has the prefix of Sync's own tokens.
pub fn is_own(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Reads a presented token, without asking anyone.
pub fn parse(text: &str) -> Result<PresentedToken, BadToken> {
    let body = text.strip_prefix(PREFIX).ok_or(BadToken::Form)?;
    let mut parts = body.split('_');
    let (Some(organization), Some(id), Some(rest), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(BadToken::Form);
    };
    if organization.len() != ID_DIGITS || id.len() != ID_DIGITS || !rest.bytes().all(|b| digit(b).is_some()) {
        return Err(BadToken::Form);
    }
    let (organization, id) = (decode_id(organization)?, decode_id(id)?);
    if rest.len() != SECRET_DIGITS + CHECKSUM_DIGITS {
        return Err(BadToken::Checksum);
    }
    let (signed, checksum) = text.split_at(text.len() - CHECKSUM_DIGITS);
    if checksum != encode_checksum(signed) {
        return Err(BadToken::Checksum);
    }
    Ok(PresentedToken {
        organization: OrganizationId::from_uuid(organization),
        id: TokenId::from_uuid(id),
        secret_hash: Sha256::digest(&rest.as_bytes()[..SECRET_DIGITS]).into(),
    })
}

/// Makes a token from 32 random bytes.
pub fn make(organization: OrganizationId, id: TokenId, random: [u8; SECRET_BYTES]) -> NewToken {
    let secret = encode(&random, SECRET_DIGITS);
    let signed = format!(
        "{PREFIX}{}_{}_{secret}",
        encode(organization.uuid().as_bytes(), ID_DIGITS),
        encode(id.uuid().as_bytes(), ID_DIGITS)
    );
    let checksum = encode_checksum(&signed);
    NewToken { text: signed + &checksum, secret_hash: Sha256::digest(secret.as_bytes()).into() }
}

fn encode_checksum(signed: &str) -> String {
    encode(&crc32(signed.as_bytes()).to_be_bytes(), CHECKSUM_DIGITS)
}

/// The bytes as one big-endian number in base 62, padded with zeros on the left.
fn encode(bytes: &[u8], digits: usize) -> String {
    let mut number = bytes.to_vec();
    let mut out = vec![b'0'; digits];
    for slot in out.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in &mut number {
            let value = (remainder << 8) | u16::from(*byte);
            *byte = (value / 62).to_le_bytes()[0];
            remainder = value % 62;
        }
        *slot = ALPHABET[usize::from(remainder)];
    }
    out.into_iter().map(char::from).collect()
}

fn decode_id(text: &str) -> Result<Uuid, BadToken> {
    let mut number = 0_u128;
    for byte in text.bytes() {
        let value = digit(byte).ok_or(BadToken::Form)?;
        number = number.checked_mul(62).and_then(|n| n.checked_add(value)).ok_or(BadToken::Form)?;
    }
    Ok(Uuid::from_u128(number))
}

fn digit(byte: u8) -> Option<u128> {
    ALPHABET.iter().position(|known| *known == byte).map(|at| at as u128)
}

/// CRC-32 (IEEE 802.3), the checksum that forges put into their tokens.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    fn sample() -> (OrganizationId, TokenId, NewToken) {
        let organization = OrganizationId::at(OffsetDateTime::UNIX_EPOCH);
        let id = TokenId::at(OffsetDateTime::UNIX_EPOCH);
        (organization, id, make(organization, id, [0xff; 32]))
    }

    #[test]
    fn a_made_token_reads_back_and_holds_no_readable_id() {
        let (organization, id, token) = sample();
        let presented = parse(&token.text).unwrap();
        assert_eq!((presented.organization, presented.id), (organization, id));
        assert_eq!(presented.secret_hash, token.secret_hash);
        assert_eq!(token.text.len(), 5 + 22 + 1 + 22 + 1 + 43 + 6);
        assert!(!format!("{presented:?}").contains(&token.text[51..]));
    }

    #[test]
    fn the_checksum_is_the_well_known_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn altered_cut_and_foreign_texts_are_told_apart() {
        let (_, _, token) = sample();
        let text = &token.text;
        let mut altered = text.clone().into_bytes();
        altered[60] = if altered[60] == b'a' { b'b' } else { b'a' };
        assert_eq!(parse(&String::from_utf8(altered).unwrap()), Err(BadToken::Checksum));
        assert_eq!(parse(&text[..text.len() - 1]), Err(BadToken::Checksum));
        for wrong in
            ["", "sync_", "sync_a_b_c", "ghp_abc", &text.replace('_', "-"), &format!("{text}_"), &format!("{text}é")]
        {
            assert_eq!(parse(wrong), Err(BadToken::Form), "{wrong}");
        }
        let too_big = format!("sync_{}_{}", "z".repeat(22), &text[28..]);
        assert_eq!(parse(&too_big), Err(BadToken::Form));
    }
}
