//! The keys that sign a feed, and the root that names them.
//!
//! A key set is a folder: `root.pk8` (signs roots; may be kept offline), `online.pk8` (signs everything else) and every
//! root made so far as `<version>.root.json`. Consumers pin one of the roots and follow the chain from there.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use time::{Duration, OffsetDateTime};
use tough::editor::signed::SignedRole;
use tough::key_source::KeySource;
use tough::schema::decoded::{Decoded, Hex};
use tough::schema::{KeyHolder, RoleKeys, RoleType, Root, Signed};
use tough::sign::Sign;

type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// How long a root is valid; a new version is made when half of it has passed.
const ROOT_LIFETIME: Duration = Duration::days(730);

const SPEC_VERSION: &str = "1.0.0";

/// What is wrong with a key set.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file of the set cannot be read or written.
    #[error("key file `{path}`: {reason}; next: check that the key folder exists and can be read and written")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A key file holds no Ed25519 key.
    #[error("`{0}` is not an Ed25519 key in PKCS #8; next: give the folder that `feed publish` made its keys in")]
    NotAKey(PathBuf),
    /// A root cannot be made, signed or read.
    #[error("root metadata: {0}; next: give the key folder with the root that consumers pinned")]
    Root(String),
    /// The root needs a new version, and its key is not here.
    #[error(
        "the root expires at {0} and `root.pk8` is not in the key folder; next: bring the root key and publish again"
    )]
    RootKeyAbsent(OffsetDateTime),
}

/// The keys of one feed and its chain of roots.
#[derive(Debug, Clone)]
pub struct KeySet {
    root_key: Option<Key>,
    online_key: Key,
    /// Signed roots, version 1 first; never empty.
    roots: Vec<Vec<u8>>,
}

impl KeySet {
    /// New keys and their first root, valid from `now`.
    pub async fn generate(now: OffsetDateTime) -> Result<Self, KeyError> {
        let (root_key, online_key) = (Key::generate()?, Key::generate()?);
        let root = signed_root(NonZeroU64::MIN, now, &root_key, &online_key, &[]).await?;
        Ok(Self { root_key: Some(root_key), online_key, roots: vec![root] })
    }

    /// Reads a key folder.
    pub fn read(dir: &Path) -> Result<Self, KeyError> {
        let root_path = dir.join("root.pk8");
        let root_key = if root_path.exists() { Some(Key::read(&root_path)?) } else { None };
        let online_key = Key::read(&dir.join("online.pk8"))?;
        let mut roots = Vec::new();
        loop {
            let path = dir.join(format!("{}.root.json", roots.len() + 1));
            match std::fs::read(&path) {
                Ok(bytes) => roots.push(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                Err(error) => return Err(KeyError::File { path, reason: error.to_string() }),
            }
        }
        if roots.is_empty() {
            return Err(KeyError::File { path: dir.join("1.root.json"), reason: "is missing".to_owned() });
        }
        Ok(Self { root_key, online_key, roots })
    }

    /// Whether `dir` holds a key set.
    pub fn exists(dir: &Path) -> bool {
        dir.join("online.pk8").exists()
    }

    /// Writes the key folder; keys are readable by their owner alone.
    pub fn write(&self, dir: &Path) -> Result<(), KeyError> {
        let fail =
            |path: &Path, error: std::io::Error| KeyError::File { path: path.to_owned(), reason: error.to_string() };
        std::fs::create_dir_all(dir).map_err(|error| fail(dir, error))?;
        // Roots first: a folder whose online key is there is complete.
        for (n, root) in self.roots.iter().enumerate() {
            let path = dir.join(format!("{}.root.json", n + 1));
            write_private(&path, root).map_err(|error| fail(&path, error))?;
        }
        if let Some(key) = &self.root_key {
            let path = dir.join("root.pk8");
            write_private(&path, &key.pkcs8).map_err(|error| fail(&path, error))?;
        }
        let path = dir.join("online.pk8");
        write_private(&path, &self.online_key.pkcs8).map_err(|error| fail(&path, error))
    }

    /// A new root version where half of the present one's life has passed; says whether one was made.
    pub async fn renew_root(&mut self, now: OffsetDateTime) -> Result<bool, KeyError> {
        let current = self.current_root()?;
        let expires = OffsetDateTime::from_unix_timestamp(current.expires.as_second())
            .map_err(|error| KeyError::Root(error.to_string()))?;
        if expires - now > ROOT_LIFETIME / 2 {
            return Ok(false);
        }
        let Some(root_key) = &self.root_key else {
            // Until it expires the root is good; the publisher learns of it while there is time.
            return if expires > now { Ok(false) } else { Err(KeyError::RootKeyAbsent(expires)) };
        };
        let next = next_version(current.version)?;
        self.roots.push(signed_root(next, now, root_key, &self.online_key, &[]).await?);
        Ok(true)
    }

    /// Replaces both keys: the new root is signed by the old root key and the new one, so that consumers follow.
    pub async fn rotate(&mut self, now: OffsetDateTime) -> Result<(), KeyError> {
        let current = self.current_root()?;
        let Some(old) = self.root_key.take() else {
            return Err(KeyError::Root(
                "`root.pk8` is not in the key folder, so nothing can vouch for new keys".to_owned(),
            ));
        };
        let (root_key, online_key) = (Key::generate()?, Key::generate()?);
        let next = next_version(current.version)?;
        self.roots.push(signed_root(next, now, &root_key, &online_key, &[old]).await?);
        self.root_key = Some(root_key);
        self.online_key = online_key;
        Ok(())
    }

    /// The first root: what consumers pin.
    pub fn pinned_root(&self) -> &[u8] {
        self.roots.first().map_or(&[], Vec::as_slice)
    }

    /// Every root, version 1 first.
    pub fn roots(&self) -> &[Vec<u8>] {
        &self.roots
    }

    pub(super) fn online_sources(&self) -> Vec<Box<dyn KeySource>> {
        vec![Box::new(self.online_key.clone())]
    }

    fn current_root(&self) -> Result<Root, KeyError> {
        let bytes = self.roots.last().ok_or_else(|| KeyError::Root("there is none".to_owned()))?;
        serde_json::from_slice::<Signed<Root>>(bytes)
            .map(|root| root.signed)
            .map_err(|error| KeyError::Root(error.to_string()))
    }
}

fn next_version(version: NonZeroU64) -> Result<NonZeroU64, KeyError> {
    version.checked_add(1).ok_or_else(|| KeyError::Root("its version cannot rise any further".to_owned()))
}

/// An Ed25519 key in PKCS #8, as TUF's signer wants it.
#[derive(Clone)]
struct Key {
    pkcs8: Vec<u8>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    fn generate() -> Result<Self, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| KeyError::Root("the system gave no randomness for a new key".to_owned()))?;
        Ok(Self { pkcs8: document.as_ref().to_vec() })
    }

    fn read(path: &Path) -> Result<Self, KeyError> {
        let pkcs8 =
            std::fs::read(path).map_err(|error| KeyError::File { path: path.to_owned(), reason: error.to_string() })?;
        Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|_| KeyError::NotAKey(path.to_owned()))?;
        Ok(Self { pkcs8 })
    }

    fn pair(&self) -> Result<Ed25519KeyPair, KeyError> {
        Ed25519KeyPair::from_pkcs8(&self.pkcs8).map_err(|error| KeyError::Root(error.to_string()))
    }
}

#[async_trait]
impl KeySource for Key {
    async fn as_sign(&self) -> Result<Box<dyn Sign>, BoxError> {
        Ok(Box::new(self.pair()?))
    }

    async fn write(&self, _value: &str, _key_id_hex: &str) -> Result<(), BoxError> {
        Err("keys are written by the key set, not by the signer".into())
    }
}

async fn signed_root(
    version: NonZeroU64,
    now: OffsetDateTime,
    root_key: &Key,
    online_key: &Key,
    former: &[Key],
) -> Result<Vec<u8>, KeyError> {
    let fail = |error: &dyn std::fmt::Display| KeyError::Root(error.to_string());
    let mut keys = HashMap::new();
    let mut id = |key: &Key| -> Result<Decoded<Hex>, KeyError> {
        let key = key.pair()?.tuf_key();
        let id = key.key_id().map_err(|error| fail(&error))?;
        keys.insert(id.clone(), key);
        Ok(id)
    };
    let (root_id, online_id) = (id(root_key)?, id(online_key)?);
    let role =
        |id: &Decoded<Hex>| RoleKeys { keyids: vec![id.clone()], threshold: NonZeroU64::MIN, _extra: HashMap::new() };
    let root = Root {
        spec_version: SPEC_VERSION.to_owned(),
        consistent_snapshot: true,
        version,
        expires: timestamp(now + ROOT_LIFETIME).map_err(KeyError::Root)?,
        keys,
        roles: HashMap::from([
            (RoleType::Root, role(&root_id)),
            (RoleType::Targets, role(&online_id)),
            (RoleType::Snapshot, role(&online_id)),
            (RoleType::Timestamp, role(&online_id)),
        ]),
        _extra: HashMap::new(),
    };
    // The signer signs with the keys that its holder lists for the role: after a rotation these are the former root
    // keys too, though the root that is signed lists only the new one.
    let mut holder = root.clone();
    let mut sources: Vec<Box<dyn KeySource>> = vec![Box::new(root_key.clone())];
    for key in former {
        let tuf_key = key.pair()?.tuf_key();
        let id = tuf_key.key_id().map_err(|error| fail(&error))?;
        holder.keys.insert(id.clone(), tuf_key);
        if let Some(role) = holder.roles.get_mut(&RoleType::Root) {
            role.keyids.push(id);
        }
        sources.push(Box::new(key.clone()));
    }
    let signed = SignedRole::new(root, &KeyHolder::Root(holder), &sources, &SystemRandom::new())
        .await
        .map_err(|error| fail(&error))?;
    Ok(signed.buffer().clone())
}

/// The instant in the signer's own type, whole seconds as TUF writes them.
pub(super) fn timestamp(at: OffsetDateTime) -> Result<jiff::Timestamp, String> {
    jiff::Timestamp::from_second(at.unix_timestamp()).map_err(|error| error.to_string())
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let staged = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&staged, path)
}
