//! Record files: what a publisher gives. The format is documented in `fixtures/feed/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sync_core::change::{Axis, Confidence, Severity};
use time::Date;

use super::assemble::AssembleError;

time::serde::format_description!(iso_date, Date, "[year]-[month]-[day]");

/// Records of vendor changes and what is known of the vendors' versions.
#[derive(Debug, Clone, Default)]
pub struct RecordSet {
    /// The records, in the order of files and of lines.
    pub records: Vec<Record>,
    /// One a vendor that has a versions file.
    pub vendors: BTreeMap<String, VendorFile>,
}

/// One vendor change as it was recorded: words and labels of its source, to be normalised.
#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    /// Vendor id of the catalog.
    pub vendor: String,
    /// `METHOD /path`; absent for what concerns the SDK alone.
    #[serde(default)]
    pub operation: Option<String>,
    /// The source's word for what kind of change it is.
    pub change_kind: String,
    /// Filled by kind where absent.
    #[serde(default)]
    pub location: Option<String>,
    /// Dotted field; of SDK changes the member chain.
    #[serde(default)]
    pub field: String,
    /// JSON pointer into the vendor's schema.
    #[serde(default)]
    pub path_ptr: Option<String>,
    /// By kind where absent.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The enum value that came or went.
    #[serde(default, deserialize_with = "words")]
    pub value: Option<String>,
    /// Before, in the source's words.
    #[serde(default, deserialize_with = "words")]
    pub old: Option<String>,
    /// After, in the source's words.
    #[serde(default, deserialize_with = "words")]
    pub new: Option<String>,
    /// What to use instead.
    #[serde(default)]
    pub replacement: Option<String>,
    /// The last label without the change.
    #[serde(default)]
    pub from_version: Option<String>,
    /// The first label with the change, or free text that [`super::normalize`] understands.
    #[serde(default)]
    pub to_version: Option<String>,
    /// The version of the vendor's own SDK that carried the change.
    #[serde(default)]
    pub sdk_version: Option<String>,
    /// Package, of SDK changes.
    #[serde(default)]
    pub package: Option<String>,
    /// Member chain of the SDK.
    #[serde(default)]
    pub chain: Option<String>,
    /// Member chain before, of SDK changes.
    #[serde(default)]
    pub sdk_from: Option<String>,
    /// Member chain after, of SDK changes.
    #[serde(default)]
    pub sdk_to: Option<String>,
    /// When the vendor published it.
    #[serde(default, with = "iso_date::option")]
    pub published_at: Option<Date>,
    /// When the vendor switches the old behaviour off.
    #[serde(default, with = "iso_date::option")]
    pub sunset: Option<Date>,
    /// Where it was recorded from: `stripe-node CHANGELOG.md`.
    #[serde(default)]
    pub source: Option<String>,
    /// How a person checked it; such a record replaces a derived one of the same place and version.
    #[serde(default)]
    pub verified: Option<String>,
    /// Declared or derived; by `verified` and `source` where absent.
    #[serde(default)]
    pub confidence: Option<Confidence>,
    /// Where the vendor says so.
    #[serde(default)]
    pub changelog_url: Option<String>,
    /// The source's own id, for messages.
    #[serde(default)]
    pub id: Option<String>,
    /// File and position, for messages.
    #[serde(skip)]
    pub origin: String,
}

/// A source's value as text: of a string its content, of anything else its JSON.
fn words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

/// What is known of a vendor's versions.
#[derive(Debug, Clone, Deserialize)]
pub struct VendorFile {
    /// Vendor id of the catalog.
    pub vendor: String,
    /// Whether a client or an account pins an API version. Where not, a label's date is only the day of publication.
    #[serde(default = "yes")]
    pub pinned_api: bool,
    /// Names that sources use for packages: `stripe-node` is `stripe`.
    #[serde(default)]
    pub packages: BTreeMap<String, String>,
    /// Labels, oldest first within (axis, package).
    #[serde(default)]
    pub versions: Vec<VersionEntry>,
}

const fn yes() -> bool {
    true
}

/// One label of a versions file.
#[derive(Debug, Clone, Deserialize)]
pub struct VersionEntry {
    /// Which kind of version.
    pub axis: Axis,
    /// Package, on the SDK axis.
    #[serde(default)]
    pub package: Option<String>,
    /// As the vendor writes it.
    pub label: String,
    /// When the vendor published it; the label's own date where absent.
    #[serde(default, with = "iso_date::option")]
    pub published_at: Option<Date>,
    /// The API version that this SDK version sends when none is pinned.
    #[serde(default)]
    pub default_api: Option<String>,
}

impl RecordSet {
    /// Reads every `*.json` of a folder, in the order of names.
    pub fn read(dir: &Path) -> Result<Self, AssembleError> {
        let fail = |path: &Path, error: &std::io::Error| AssembleError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|error| fail(dir, &error))? {
            let path = entry.map_err(|error| fail(dir, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut set = Self::default();
        for path in paths {
            let bytes = std::fs::read(&path).map_err(|error| fail(&path, &error))?;
            set.add_file(&path, &bytes)?;
        }
        if set.records.is_empty() {
            return Err(AssembleError::NoRecords(dir.to_owned()));
        }
        Ok(set)
    }

    /// Adds one file: a list of records, an object with `records` and `defaults`, or a versions file.
    fn add_file(&mut self, path: &Path, bytes: &[u8]) -> Result<(), AssembleError> {
        let fail = |reason: String| AssembleError::File { path: path.to_owned(), reason };
        let value: Value = serde_json::from_slice(bytes).map_err(|error| fail(error.to_string()))?;
        let (records, defaults) = match value {
            Value::Array(records) => (records, serde_json::Map::new()),
            Value::Object(mut object) if object.contains_key("records") => {
                let defaults = match object.remove("defaults") {
                    Some(Value::Object(defaults)) => defaults,
                    None => serde_json::Map::new(),
                    Some(_) => return Err(fail("`defaults` is not an object".to_owned())),
                };
                match object.remove("records") {
                    Some(Value::Array(records)) => (records, defaults),
                    _ => return Err(fail("`records` is not a list".to_owned())),
                }
            }
            Value::Object(object) if object.contains_key("versions") => {
                let vendor: VendorFile =
                    serde_json::from_value(Value::Object(object)).map_err(|error| fail(error.to_string()))?;
                let name = vendor.vendor.clone();
                if self.vendors.insert(name.clone(), vendor).is_some() {
                    return Err(fail(format!("a second versions file of `{name}`")));
                }
                return Ok(());
            }
            _ => return Err(fail("is neither a list of records nor a versions file".to_owned())),
        };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        for (n, value) in records.into_iter().enumerate() {
            let Value::Object(mut record) = value else { return Err(fail(format!("record {n} is not an object"))) };
            for (key, value) in &defaults {
                record.entry(key.clone()).or_insert_with(|| value.clone());
            }
            let mut record: Record = serde_json::from_value(Value::Object(record))
                .map_err(|error| fail(format!("record {n} cannot be read: {error}")))?;
            record.origin = match &record.id {
                Some(id) => format!("{name}: {id}"),
                None => format!("{name}: record {n}"),
            };
            self.records.push(record);
        }
        Ok(())
    }
}

/// The record files in the executable: name and text.
const EMBEDDED: &[(&str, &str)] = &[
    ("curated.json", include_str!("../../../fixtures/feed/curated.json")),
    ("github-2026-03-10.json", include_str!("../../../fixtures/feed/github-2026-03-10.json")),
    ("stripe-changelog.json", include_str!("../../../fixtures/feed/stripe-changelog.json")),
    ("versions-github.json", include_str!("../../../fixtures/feed/versions-github.json")),
    ("versions-notion.json", include_str!("../../../fixtures/feed/versions-notion.json")),
    ("versions-openai.json", include_str!("../../../fixtures/feed/versions-openai.json")),
    ("versions-plaid.json", include_str!("../../../fixtures/feed/versions-plaid.json")),
    ("versions-resend.json", include_str!("../../../fixtures/feed/versions-resend.json")),
    ("versions-slack.json", include_str!("../../../fixtures/feed/versions-slack.json")),
    ("versions-stripe.json", include_str!("../../../fixtures/feed/versions-stripe.json")),
];

/// The records of `fixtures/feed`, which `syncd dev` publishes.
pub fn embedded_records() -> Result<RecordSet, AssembleError> {
    let mut set = RecordSet::default();
    for (name, text) in EMBEDDED {
        set.add_file(Path::new(name), text.as_bytes())?;
    }
    Ok(set)
}

/// SHA-256 of the embedded record files, in hexadecimal: tells whether another executable has others.
pub fn embedded_digest() -> String {
    let mut hasher = Sha256::new();
    for (name, text) in EMBEDDED {
        for part in [name, text] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hex::encode(hasher.finalize())
}
