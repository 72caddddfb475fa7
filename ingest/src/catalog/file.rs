//! The file format of one vendor, `ingest/catalog/README.md`; read here, resolved by [`super::load`].

use std::collections::BTreeMap;

use serde::Deserialize;

use super::model::SuffixKind;

/// The format that this build reads.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VendorFile {
    pub(super) format: u32,
    pub(super) vendor: String,
    #[serde(default)]
    pub(super) servers: Vec<ServerFile>,
    #[serde(default)]
    pub(super) api_version_header: Option<String>,
    #[serde(default)]
    pub(super) get_as_post: bool,
    #[serde(default)]
    pub(super) enum_keys: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) packages: Vec<PackageFile>,
    /// Operations that no package reaches, for plain HTTP.
    #[serde(default)]
    pub(super) routes: Vec<String>,
    /// The same, as the script found them where no chain reaches an operation of a package.
    #[serde(default)]
    pub(super) recorded_routes: Vec<String>,
    /// What the maintainer's script needs to know about recordings; nothing here reads it.
    #[serde(default)]
    #[expect(dead_code, reason = "read by the script that writes the recorded operations, and kept apart from facts")]
    pub(super) recording: serde::de::IgnoredAny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerFile {
    pub(super) host: String,
    #[serde(default)]
    pub(super) base: String,
    #[serde(default)]
    pub(super) also: Vec<String>,
    /// Whether only operations that name this host answer here.
    #[serde(default)]
    pub(super) named_only: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PackageFile {
    pub(super) name: String,
    pub(super) editions: Vec<EditionFile>,
    #[serde(default)]
    pub(super) arguments: ArgumentsFile,
    #[serde(default)]
    pub(super) options_keys: Vec<String>,
    #[serde(default)]
    pub(super) options_inside: Vec<String>,
    #[serde(default)]
    pub(super) by_key: Vec<ByKeyFile>,
    #[serde(default)]
    pub(super) client_options: ClientOptionsFile,
    #[serde(default)]
    pub(super) answers_each: Vec<String>,
    #[serde(default)]
    pub(super) outside_envelope: Vec<String>,
    #[serde(default)]
    pub(super) bare_lists: bool,
    #[serde(default)]
    pub(super) local: Vec<String>,
    #[serde(default)]
    pub(super) suffixes: Vec<(String, SuffixKind)>,
    #[serde(default)]
    pub(super) dispatch: Vec<DispatchFile>,
    #[serde(default)]
    pub(super) optional_prefixes: Vec<String>,
    pub(super) modules: Vec<ModuleFile>,
    pub(super) shapes: BTreeMap<String, ShapeFile>,
    /// Argument rules of chains that differ from the package's.
    #[serde(default)]
    pub(super) chain_arguments: BTreeMap<String, ArgumentsFile>,
    /// Chains that a maintainer adds; same form as `operations`.
    #[serde(default)]
    pub(super) added: BTreeMap<String, Vec<String>>,
    /// Operation → its chains, each with `@edition,edition` where not all recorded versions have it.
    #[serde(default)]
    pub(super) operations: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditionFile {
    pub(super) version: String,
    #[serde(default)]
    pub(super) envelope: Option<String>,
    /// The last major that it stands for, where that is said.
    #[serde(default)]
    pub(super) through: Option<u64>,
    #[serde(default)]
    pub(super) answers_first: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ByKeyFile {
    /// As in `operations`, with the recorded versions that do so.
    pub(super) chain: String,
    pub(super) keys: Vec<String>,
    pub(super) with: String,
    pub(super) without: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgumentsFile {
    At(usize),
    #[default]
    AfterPath,
    FirstObject,
    Nested,
    None,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientOptionsFile {
    #[serde(default)]
    pub(super) argument: usize,
    #[serde(default)]
    pub(super) base_url: Vec<String>,
    #[serde(default)]
    pub(super) any_host: bool,
    #[serde(default)]
    pub(super) spoken_elsewhere: bool,
    #[serde(default)]
    pub(super) fetch: Option<Vec<String>>,
    #[serde(default)]
    pub(super) requests: Vec<String>,
    #[serde(default)]
    pub(super) api_version: Option<String>,
    #[serde(default)]
    pub(super) api_version_default: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DispatchFile {
    pub(super) chain: String,
    pub(super) by: DispatchKind,
    #[serde(default)]
    pub(super) argument: usize,
    #[serde(default)]
    pub(super) keys: Option<SourceFile>,
    #[serde(default)]
    pub(super) method: Option<SourceFile>,
    #[serde(default)]
    pub(super) path: Option<SourceFile>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DispatchKind {
    Route,
    Reference,
    Chain,
    Command,
    Path,
}

/// A literal, an argument's index, or `[index, key]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum SourceFile {
    Argument(usize),
    Option(usize, String),
    Fixed(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleFile {
    pub(super) specifiers: Vec<String>,
    /// Registry name, where it is not the package's.
    #[serde(default)]
    pub(super) pinned_as: Option<String>,
    /// `[version of pinned_as, edition]`, ascending.
    #[serde(default)]
    pub(super) versions: Vec<(String, String)>,
    #[serde(default)]
    pub(super) itself: Option<String>,
    #[serde(default)]
    pub(super) exports: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) types: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) entries: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShapeFile {
    /// The prefix of its chains; empty for the package's own client.
    #[serde(default)]
    pub(super) client: Option<String>,
    #[serde(default)]
    pub(super) selector: Option<String>,
    #[serde(default)]
    pub(super) members: BTreeMap<String, String>,
    #[serde(default, rename = "new")]
    pub(super) construct: Option<String>,
    #[serde(default)]
    pub(super) call: Option<String>,
    #[serde(default)]
    pub(super) callback: Option<(usize, String)>,
    #[serde(default)]
    pub(super) own_url: bool,
    #[serde(default)]
    pub(super) keys: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) client_in: Option<String>,
    #[serde(default)]
    pub(super) keys_in: Option<String>,
}
