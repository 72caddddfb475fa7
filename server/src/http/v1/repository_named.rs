//! A repository as callers name it: by its id, or by its name, which people know.

use serde::{Deserialize, Deserializer, Serialize, de};
use sync_core::ids::RepositoryId;
use sync_store::{Repository, StoreError, Tx};

/// The longest name, in bytes.
const LONGEST: usize = 100;

/// A repository's id or name. In a path, the slash of a name is written `%2F`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum RepositoryNamed {
    /// `src_…`.
    Id(RepositoryId),
    /// `acme/billing`.
    Name(String),
}

impl RepositoryNamed {
    /// The repository, where there is one that the principal may read.
    pub(super) async fn find(&self, tx: &mut Tx) -> Result<Option<Repository>, StoreError> {
        match self {
            Self::Id(id) => tx.repository(*id).await,
            Self::Name(name) => tx.repository_by_name(name).await,
        }
    }
}

impl<'de> Deserialize<'de> for RepositoryNamed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        if is_name(&text) {
            Ok(Self::Name(text))
        } else {
            Err(de::Error::custom("neither a repository's id nor its name"))
        }
    }
}

fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    };
    text.len() <= LONGEST && text.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_and_names_are_told_apart_and_nothing_else_is_one() {
        let read = |text: &str| serde_json::from_value::<RepositoryNamed>(json!(text));
        let id: RepositoryId = "src_0199f3d2c5b07a31b6c4d5e6f7a8b9c0".parse().unwrap();
        assert_eq!(read(&id.to_string()).unwrap(), RepositoryNamed::Id(id));
        for name in ["billing", "acme/billing", "a.b/c_d/e-f"] {
            assert_eq!(read(name).unwrap(), RepositoryNamed::Name(name.to_owned()));
        }
        for wrong in ["", "/", "acme/", "/billing", "a//b", "Acme", "a b", "é", &"a".repeat(101)] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
