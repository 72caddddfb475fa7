//! What the texts of a vendor file and of lockfiles say.

use semver::Version;
use sync_core::operation::Operation;

use super::model::Edition;

/// The lowest version that a pinned version or range (`14.25.0`, `^14.1`, `>=8 <9`, `14`) allows.
pub(super) fn lowest_version(text: &str) -> Option<Version> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = &text[start..];
    let end = digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
    let mut numbers = digits[..end].split('.').map(|number| number.parse::<u64>().ok());
    let major = numbers.next().flatten()?;
    let mut next = || numbers.next().flatten().unwrap_or(0);
    Some(Version::new(major, next(), next()))
}

/// `METHOD /path`, or `METHOD host/path` where only that host answers it.
pub(super) fn operation(text: &str) -> Option<(Option<String>, Operation)> {
    let (method, rest) = text.split_once(' ')?;
    let slash = rest.find('/')?;
    let valid = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    let host = (slash > 0).then(|| rest[..slash].to_owned());
    valid.then(|| (host, Operation::from_text(format!("{method} {}", &rest[slash..]))))
}

/// A chain with the recorded versions that have it: `files.del @4`.
pub(super) fn ranged<'a>(text: &'a str, editions: &[Edition]) -> Option<(&'a str, Vec<u8>)> {
    let Some((chain, majors)) = text.split_once(" @") else { return Some((text, vec![])) };
    let mut out = vec![];
    for major in majors.split(',') {
        let major: u64 = major.parse().ok()?;
        let index = editions.iter().position(|edition| edition.version.major == major)?;
        out.push(u8::try_from(index).ok()?);
    }
    Some((chain, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_version_of_a_range() {
        let lowest = |text| lowest_version(text).map(|version| version.to_string());
        assert_eq!(lowest("14.25.0").as_deref(), Some("14.25.0"));
        assert_eq!(lowest("^17.7").as_deref(), Some("17.7.0"));
        assert_eq!(lowest(">=8 <9").as_deref(), Some("8.0.0"));
        assert_eq!(lowest("v4.0.0-beta.1").as_deref(), Some("4.0.0"));
        assert_eq!(lowest("latest"), None);
        assert_eq!(lowest("99999999999999999999.0.0"), None);
    }

    #[test]
    fn operations_with_and_without_a_host() {
        let (host, named) = operation("POST files.stripe.com/v1/files").unwrap();
        assert_eq!((host.as_deref(), named.as_str()), (Some("files.stripe.com"), "POST /v1/files"));
        assert_eq!(operation("GET /v1/charges").unwrap().0, None);
        for wrong in ["get /a", "GET", "GET a", "/a"] {
            assert!(operation(wrong).is_none(), "{wrong}");
        }
    }
}
