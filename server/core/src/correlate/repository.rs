//! Which repository a service is built from.

use super::Reason;

/// The address of a repository in the form in which addresses compare: `github.com/acme/billing`.
///
/// Protocol, user, password, the protocol's own port, `.git`, slashes at the end, query and letter case are gone. Case
/// too, since the forges do not tell addresses apart by it, and what people type into an environment is seldom what
/// they cloned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryUrl(String);

impl RepositoryUrl {
    /// Reads `https://…`, `ssh://…`, `git://…`, `git@host:path` and `host/path`. Nothing for what is no address of a
    /// host: a folder, a name.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > 2048 || text.contains(char::is_control) {
            return None;
        }
        let (authority, path, keeps_port) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let scheme = scheme.to_ascii_lowercase();
                let scheme = scheme.strip_prefix("git+").unwrap_or(&scheme);
                if !["http", "https", "ssh", "git"].contains(&scheme) {
                    return None;
                }
                let (authority, path) = rest.split_once('/')?;
                // A port of ssh says nothing of where the same repository is over https.
                (authority, path, scheme.starts_with("http"))
            }
            // As git reads it: a colon before the first slash ends a host.
            None => match (text.find(':'), text.find('/')) {
                (Some(colon), slash) if slash.is_none_or(|slash| colon < slash) => {
                    (&text[..colon], &text[colon + 1..], false)
                }
                (_, Some(slash)) => (&text[..slash], &text[slash + 1..], true),
                _ => return None,
            },
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) =
            host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).unwrap_or((host, ""));
        let name = name.trim_end_matches('.');
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let path = path.join("/");
        let path = path.strip_suffix(".git").unwrap_or(&path).trim_end_matches('/');
        if !is_host(name) || path.is_empty() {
            return None;
        }
        let port = if keeps_port && !matches!(port, "" | "80" | "443") { format!(":{port}") } else { String::new() };
        Some(Self(format!("{name}{port}/{path}").to_lowercase()))
    }

    /// Host, port where it is an own one, and path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether that is the name of a host: one with a dot, an address, or this machine's own name, which a first try uses.
fn is_host(name: &str) -> bool {
    let plain = |extra: &'static [u8]| move |b: u8| b.is_ascii_alphanumeric() || extra.contains(&b);
    if let Some(address) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return !address.is_empty() && address.bytes().all(plain(b":."));
    }
    let is_name = name.contains('.') || name.eq_ignore_ascii_case("localhost");
    is_name && name.bytes().all(plain(b".-_"))
}

/// A repository of the organization.
#[derive(Debug, Clone)]
pub struct Candidate<Id> {
    /// Whatever the caller knows it by.
    pub id: Id,
    /// Where it is cloned from, if it is.
    pub url: Option<RepositoryUrl>,
}

/// The repository that a service is built from: what its spans say in `vcs.repository.url.full`, else what a person
/// mapped the service to, else the only one that there is.
///
/// `candidates` are the organization's indexed repositories, of a token that is pinned to some of them those alone:
/// so that nothing a client says reaches further than its token. What is said and not among them keeps "the only one"
/// from being taken for it.
///
/// # Errors
/// [`Reason::RepoConflict`] where the spans and the mapping name two, [`Reason::UnmappedService`] where nothing names
/// one.
pub fn repository<Id: Copy + PartialEq>(
    said: Option<&str>,
    mapped: Option<Id>,
    candidates: &[Candidate<Id>],
) -> Result<Id, Reason> {
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    let url = said.and_then(RepositoryUrl::read);
    let mut named = candidates.iter().filter(|candidate| url.is_some() && candidate.url == url).map(|found| found.id);
    let is_candidate = |id: &Id| candidates.iter().any(|candidate| candidate.id == *id);
    let all_named: Vec<Id> = named.by_ref().collect();
    match (all_named.as_slice(), mapped) {
        ([], Some(mapped)) if is_candidate(&mapped) => Ok(mapped),
        ([], None) if said.is_none() => match candidates {
            [only] => Ok(only.id),
            _ => Err(Reason::UnmappedService),
        },
        ([], _) => Err(Reason::UnmappedService),
        (named, Some(mapped)) if named.contains(&mapped) => Ok(mapped),
        (_, Some(_)) => Err(Reason::RepoConflict),
        ([only], None) => Ok(*only),
        // One address registered twice: only a person knows which is meant.
        (_, None) => Err(Reason::UnmappedService),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_many_addresses() {
        for text in [
            "https://github.com/acme/billing",
            "https://github.com/acme/billing.git",
            "https://github.com/Acme/Billing.git/",
            "http://GitHub.com:80//acme/billing//",
            "https://user:p%40ss@github.com:443/acme/billing",
            "https://x-access-token:ghs_abc@github.com/acme/billing.git?ref=main#readme",
            "git@github.com:acme/billing.git",
            "github.com:acme/billing",
            "ssh://git@github.com/acme/billing.git",
            "ssh://git@github.com:22/acme/billing.git",
            "git+ssh://git@github.com/acme/billing.git",
            "git+https://github.com/acme/billing.git",
            "git://github.com:9418/acme/billing",
            "github.com/acme/billing",
            "github.com./acme/billing",
            "  https://github.com/acme/billing\n",
        ] {
            assert_eq!(
                RepositoryUrl::read(text).as_ref().map(RepositoryUrl::as_str),
                Some("github.com/acme/billing"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_tells_repositories_apart_stays() {
        let read = |text: &str| RepositoryUrl::read(text).map(|url| url.0);
        assert_eq!(read("https://git.acme.io:8443/g/sub/b.git").as_deref(), Some("git.acme.io:8443/g/sub/b"));
        assert_eq!(read("ssh://git@git.acme.io:2222/g/b.git").as_deref(), Some("git.acme.io/g/b"));
        assert_eq!(read("http://localhost:3000/acme/b.git").as_deref(), Some("localhost:3000/acme/b"));
        assert_eq!(read("https://[::1]:3000/acme/b").as_deref(), Some("[::1]:3000/acme/b"));
        assert_eq!(read("https://github.com@evil.example/acme/b").as_deref(), Some("evil.example/acme/b"));
        for text in [
            "",
            "billing",
            "acme/billing",
            "/srv/git/billing",
            "file:///srv/git/b.git",
            "https://github.com",
            "https://github.com/",
            r"C:\work\billing",
            "https:///acme/b",
            "https://github.com/.git",
            "a\0.b/c",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    fn candidates(urls: &[(u8, Option<&str>)]) -> Vec<Candidate<u8>> {
        urls.iter().map(|(id, url)| Candidate { id: *id, url: url.and_then(RepositoryUrl::read) }).collect()
    }

    #[test]
    fn the_address_then_the_mapping_then_the_only_one() {
        let two = candidates(&[(1, Some("https://github.com/acme/a")), (2, None)]);
        let ours = Some("git@github.com:acme/a.git");
        assert_eq!(repository(ours, None, &two), Ok(1));
        assert_eq!(repository(ours, Some(1), &two), Ok(1));
        assert_eq!(repository(ours, Some(2), &two), Err(Reason::RepoConflict));
        assert_eq!(repository(None, Some(2), &two), Ok(2));
        assert_eq!(repository(None, None, &two), Err(Reason::UnmappedService));
        assert_eq!(repository(None, None, &two[..1]), Ok(1));
        assert_eq!(repository(Some(" "), None, &two[..1]), Ok(1));
        assert_eq!(repository::<u8>(None, None, &[]), Err(Reason::UnmappedService));
    }

    #[test]
    fn an_address_of_others_is_nobodys_and_never_the_only_one() {
        let one = candidates(&[(1, Some("https://github.com/acme/a"))]);
        assert_eq!(repository(Some("https://github.com/rival/a"), None, &one), Err(Reason::UnmappedService));
        assert_eq!(repository(Some("main"), None, &one), Err(Reason::UnmappedService));
        assert_eq!(repository(Some("https://mirror.acme.io/a"), Some(1), &one), Ok(1), "a person said so");
        let folder = candidates(&[(1, None)]);
        assert_eq!(repository(Some("https://github.com/acme/a"), None, &folder), Err(Reason::UnmappedService));
    }

    #[test]
    fn a_pinned_token_reaches_what_it_is_pinned_to() {
        let pinned = candidates(&[(1, Some("https://github.com/acme/a"))]);
        assert_eq!(repository(None, None, &pinned), Ok(1));
        assert_eq!(repository(None, Some(2), &pinned), Err(Reason::UnmappedService));
        assert_eq!(repository(Some("https://github.com/acme/b"), None, &pinned), Err(Reason::UnmappedService));
        assert_eq!(repository(Some("https://github.com/acme/a"), Some(2), &pinned), Err(Reason::RepoConflict));
    }

    #[test]
    fn of_two_with_one_address_a_person_chooses() {
        let twice = candidates(&[(1, Some("https://github.com/acme/a")), (2, Some("git@github.com:acme/a.git"))]);
        let said = Some("https://github.com/acme/a");
        assert_eq!(repository(said, None, &twice), Err(Reason::UnmappedService));
        assert_eq!(repository(said, Some(2), &twice), Ok(2));
    }
}
