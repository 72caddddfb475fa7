//! What the resource of a batch says for all its spans: the commit that is deployed, the repository, the environment.

use super::Reason;
use super::attributes::{Slot, Value};
use super::repository::RepositoryUrl;
use crate::text::is_commit;

/// The environment that counts where an organization has not said otherwise. One that is not named counts too.
pub const PRODUCTION: &str = "production";

/// Collects the attributes of one resource. As in spans, several spellings of one thing have to agree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resource<'a> {
    revision: Slot<&'a str>,
    version: Slot<&'a str>,
    url: Slot<&'a str>,
    environment: Slot<&'a str>,
}

impl<'a> Resource<'a> {
    /// Takes an attribute, and says whether it is one of these. `service.version` is, where it is a commit.
    pub fn note(&mut self, key: &str, value: Value<'a>) -> bool {
        let text = value.text().map(str::trim).filter(|text| !text.is_empty());
        match key {
            "vcs.ref.head.revision" | "vcs.repository.ref.revision" | "git.commit.sha" => {
                self.revision.put_by(text.filter(|text| is_hexadecimal_commit(text)), str::eq_ignore_ascii_case);
            }
            "service.version" => self.version.put(text.filter(|text| is_hexadecimal_commit(text))),
            "vcs.repository.url.full" | "git.repository_url" => self.url.put_by(text, |a, b| {
                a == b || RepositoryUrl::read(a).is_some_and(|a| RepositoryUrl::read(b) == Some(a))
            }),
            "deployment.environment.name" | "deployment.environment" => {
                self.environment.put_by(text, str::eq_ignore_ascii_case);
            }
            _ => return false,
        }
        true
    }

    /// The commit that is deployed: a complete id in small letters. A branch or a short id is none, since it does not
    /// say which code it was.
    ///
    /// # Errors
    /// [`Reason::AttrConflict`].
    pub fn revision(&self) -> Result<Option<String>, Reason> {
        let said = self.revision.get()?;
        // A version that is a commit is what some build systems give; what says so by its name goes before it.
        let commit = match said {
            Some(commit) => Some(commit),
            None => self.version.get()?,
        };
        Ok(commit.map(str::to_ascii_lowercase))
    }

    /// The address of the repository, as it was said.
    ///
    /// # Errors
    /// [`Reason::AttrConflict`].
    pub fn repository_url(&self) -> Result<Option<&'a str>, Reason> {
        self.url.get()
    }

    /// The environment, as it was said.
    ///
    /// # Errors
    /// [`Reason::AttrConflict`].
    pub fn environment(&self) -> Result<Option<&'a str>, Reason> {
        self.environment.get()
    }
}

/// Whether spans of an environment count: those that the organization lists, and where none is named. Letter case is
/// nothing that people agree on.
pub fn environment_counts<S: AsRef<str>>(environment: Option<&str>, listed: &[S]) -> bool {
    environment
        .is_none_or(|environment| listed.iter().any(|known| known.as_ref().trim().eq_ignore_ascii_case(environment)))
}

fn is_hexadecimal_commit(text: &str) -> bool {
    is_commit(text) || is_commit(&text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(attributes: &[(&str, &'static str)]) -> Resource<'static> {
        let mut resource = Resource::default();
        for (key, value) in attributes {
            assert!(resource.note(key, Value::Text(value)), "{key}");
        }
        resource
    }

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const A_LARGE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[test]
    fn only_a_complete_commit_is_a_revision() {
        let revision =
            |attributes: &[(&str, &'static str)]| resource(attributes).revision().map(Option::unwrap_or_default);
        assert_eq!(revision(&[("vcs.ref.head.revision", A_LARGE)]).as_deref(), Ok(A));
        assert_eq!(revision(&[("git.commit.sha", A)]).as_deref(), Ok(A));
        assert_eq!(
            revision(&[("vcs.ref.head.revision", "main"), ("vcs.repository.ref.revision", A)]).as_deref(),
            Ok(A)
        );
        assert_eq!(revision(&[("vcs.ref.head.revision", "main"), ("service.version", A)]).as_deref(), Ok(A));
        assert_eq!(revision(&[("service.version", B), ("vcs.ref.head.revision", A)]).as_deref(), Ok(A));
        assert_eq!(revision(&[("vcs.ref.head.revision", A), ("git.commit.sha", A_LARGE)]).as_deref(), Ok(A));
        assert_eq!(
            revision(&[("vcs.ref.head.revision", A), ("vcs.repository.ref.revision", B)]),
            Err(Reason::AttrConflict)
        );
        for none in ["", "HEAD", "1.4.2", "aaaaaaa", "gggggggggggggggggggggggggggggggggggggggg"] {
            assert_eq!(
                revision(&[("vcs.ref.head.revision", none), ("service.version", none)]).as_deref(),
                Ok(""),
                "{none}"
            );
        }
    }

    #[test]
    fn addresses_and_environments_in_two_spellings_have_to_agree() {
        let https = ("vcs.repository.url.full", "https://github.com/acme/a");
        let scp = ("git.repository_url", "git@github.com:acme/a.git");
        assert_eq!(resource(&[https, scp]).repository_url(), Ok(Some("https://github.com/acme/a")));
        assert_eq!(
            resource(&[https, ("git.repository_url", "git@github.com:acme/b.git")]).repository_url(),
            Err(Reason::AttrConflict)
        );
        assert_eq!(
            resource(&[("git.repository_url", "x"), ("vcs.repository.url.full", "y")]).repository_url(),
            Err(Reason::AttrConflict)
        );
        let named = ("deployment.environment.name", "production");
        assert_eq!(resource(&[named, ("deployment.environment", "Production")]).environment(), Ok(Some("production")));
        assert_eq!(resource(&[named, ("deployment.environment", "staging")]).environment(), Err(Reason::AttrConflict));
        assert!(!Resource::default().note("host.name", Value::Text("x")));
    }

    #[test]
    fn production_and_what_has_no_name_count() {
        assert!(environment_counts(None, &[PRODUCTION]));
        assert!(environment_counts(Some("Production"), &[PRODUCTION]));
        for other in ["test", "staging", "development", "production-eu", "prod"] {
            assert!(!environment_counts(Some(other), &[PRODUCTION]), "{other}");
        }
        assert!(environment_counts(Some("prod"), &[PRODUCTION, "prod "]));
    }
}
